import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { logEntry } from '../../../harness/base/logs/log-entry.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { eventually, http, stateFolder } from './kit.ts';

const folder = stateFolder();
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({ driver: 'embedded', nodes: 1, seed: 11, stateDir: join(folder, 'state') });
});
afterAll(() => net.stop());

function answered(): unknown[] {
  const entries = readFileSync(net.node(0).log, 'utf8').split('\n').map(logEntry);
  return entries
    .filter((entry) => entry?.message === 'request answered')
    .map((entry) => entry?.fields['route']);
}

/** A node may write it after the answer was read. */
function tells(route: string): Promise<true> {
  return eventually(`the log does not tell of ${route}`, async () =>
    answered().includes(route) ? undefined : answered().join(' '),
  );
}

test('every module of a node has a logger, and each respects its own verbosity', async () => {
  const node = net.node(0);
  const { json } = await http(node, '/loggers');
  const loggers = json['loggers'] as { logger: string; verbosity: string; id: string }[];
  expect(loggers.map(({ logger }) => logger)).toEqual(
    expect.arrayContaining(['node', 'node/api', 'node/store', 'node/p2p', 'node/pushsync', 'node/kademlia']),
  );
  expect(new Set(loggers.map(({ verbosity }) => verbosity))).toEqual(new Set(['info']));
  expect(answered()).toEqual([]);

  const id = loggers.find(({ logger }) => logger === 'node/api')?.id;
  expect((await http(node, `/loggers/${id}/debug`, { method: 'PUT' })).status).toBe(200);
  await http(node, '/addresses');
  await tells('/addresses');
  expect((await http(node, `/loggers/${id}/none`, { method: 'PUT' })).status).toBe(200);
  await http(node, '/balances');
  expect((await http(node, `/loggers/${id}/debug`, { method: 'PUT' })).status).toBe(200);
  await http(node, '/settlements');
  await tells('/settlements');
  expect(answered()).not.toContain('/balances');
});
