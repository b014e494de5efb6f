/** A node whose uploads are hashed and signed in worker threads. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { expectBytes } from '../../../harness/ledger/content.ts';
import type { ClusterNode } from '../../../harness/nodes/cluster-node.ts';
import { bytesOf, eventually, sameBytes, stateFolder } from './kit.ts';

/** Leaves and stamps of an upload that come before its thread is ready. */
const NOT_HANDED_OVER = 600;

let net: Cluster;
let node: ClusterNode;
beforeAll(async () => {
  const nodes = [{ count: 2, options: { workers: 1 } }];
  net = await Cluster.start({ nodes, seed: 12, stateDir: stateFolder() });
  node = net.node(0);
});
afterAll(async () => {
  await net.stop();
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${node.api}/metrics`)).text();
  return Number(new RegExp(`^svc_${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Synced, and read from the other node. */
async function arrives(
  { reference, tag }: { reference: string; tag?: number | undefined },
  data: Uint8Array,
) {
  if (tag !== undefined) await net.synced({ node: node.name, tag });
  return sameBytes(await net.node(1).bytes.download(reference), data);
}

test.each([
  ['deferred', {}],
  ['direct', { deferred: false }],
  ['redundant', { redundancyLevel: 1 }],
] as const)('what is uploaded is what it is without them, and arrives: %s', async (name, options) => {
  const data = bytesOf(name, 6 * 2 ** 20);
  const before = await metric('workers_operations_count');
  const uploaded = await node.bytes.upload(data, options);
  if (name !== 'redundant') expect(uploaded.reference).toBe((await expectBytes(data)).reference);
  expect((await metric('workers_operations_count')) - before).toBeGreaterThan(2 * 1536 - NOT_HANDED_OVER);
  expect(await arrives(uploaded, data)).toBe(true);
});

test('threads end when there is nothing to do', async () => {
  await eventually('threads are running', async () =>
    (await metric('workers_threads')) === 0 ? undefined : 'there is a thread',
  );
});

test('a node that is stopped in the middle of an upload stops as ever, and takes the next one', async () => {
  const data = bytesOf('stopped', 16 * 2 ** 20);
  const before = await metric('workers_operations_count');
  const upload = node.bytes.upload(data).then(
    () => 'acknowledged',
    () => 'failed',
  );
  await eventually('nothing is handed over', async () =>
    (await metric('workers_operations_count')) > before + 500 ? undefined : 'few operations',
  );
  await node.stop();
  await upload;
  await node.start();
  await net.meshed();
  expect(await arrives(await node.bytes.upload(data), data)).toBe(true);
});
