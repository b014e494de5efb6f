import { afterEach, expect, test, vi } from 'vitest';
import { DIALECTS } from '../../../../harness/client/dialect.ts';
import type { Cluster } from '../../../../harness/cluster/cluster.ts';
import { headline, tryNext } from '../../../../harness/commands/up.ts';
import { contextOf } from './kit.ts';

afterEach(() => void vi.unstubAllEnvs());

test('the commands to try next need no file, and reach the nodes where the environment names a proxy', () => {
  const dialect = { headerPrefix: 'svc-' };
  const node = {
    running: true,
    flavour: 'svc',
    mode: 'full',
    batch: 'ab',
    api: 'http://127.0.0.1:1',
    client: { dialect },
  };
  const cluster = { name: 'one', nodes: [node], node: () => node } as unknown as Cluster;
  const lines = () =>
    tryNext(cluster, contextOf('/nowhere'))
      .slice(1)
      .map((line) => line.trim());
  for (const name of ['http_proxy', 'all_proxy', 'ALL_PROXY']) vi.stubEnv(name, undefined);
  expect(lines()).toEqual([
    `reference=$(curl -s --data-binary hello -H 'svc-postage-batch-id: ab' http://127.0.0.1:1/bytes | grep -oE '[0-9a-f]{64}')`,
    'curl -s http://127.0.0.1:1/bytes/$reference',
    'svcnet down --name one',
  ]);
  vi.stubEnv('http_proxy', 'http://proxy.example:3128');
  expect(lines()[1]).toBe(`curl -s --noproxy '*' http://127.0.0.1:1/bytes/$reference`);
});

test('the head of a start names the dialect of our nodes where it is not their own, and the token contract', () => {
  const headOf = (name: string) => {
    const cluster = {
      name: 'one',
      nodes: [
        { flavour: 'bee', client: { dialect: DIALECTS.swarm } },
        { flavour: 'svc', client: { dialect: { name } } },
      ],
      driver: 'process',
      seed: 1n,
      chain: { shownRpc: 'http://chain', chainId: 31337, contracts: { token: '0xab' }, steady: false },
      timings: { totalMs: 1 },
    } as unknown as Cluster;
    return headline(cluster, contextOf('/nowhere')).slice(1);
  };
  const chain = '  chain http://chain · id 31337 · token contract 0xab';
  expect(headOf('svc')).toEqual([chain]);
  expect(headOf('swarm')).toEqual([chain, '  our nodes speak the swarm dialect']);
});
