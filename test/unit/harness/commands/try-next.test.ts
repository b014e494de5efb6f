import { afterEach, expect, test, vi } from 'vitest';
import type { Cluster } from '../../../../harness/cluster/cluster.ts';
import { tryNext } from '../../../../harness/commands/up.ts';
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
