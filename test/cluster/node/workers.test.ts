import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import { bytesOf, eventually, metric, sameBytes, stateFolder } from './kit.ts';

const SIZE = 32 * 2 ** 20;

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

async function* body(data: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += 2 ** 20) yield data.subarray(at, at + 2 ** 20);
}

test('what is uploaded is what it is without threads', async () => {
  const data = bytesOf('deferred', SIZE);
  const { reference } = await expectBytes(data);
  const before = await metric(node, 'workers_operations_count');
  const uploaded = await node.bytes.upload(body(data));
  const [threads, operations] = [
    await metric(node, 'workers_threads'),
    await metric(node, 'workers_operations_count'),
  ];
  expect(uploaded.reference).toBe(reference);
  expect(threads).toBe(1);
  expect(operations).toBeGreaterThan(before + 500);
  expect(sameBytes(await node.bytes.download(reference), data)).toBe(true);
  await net.synced({ node: node.name, tag: uploaded.tag as number });
});

test('threads end when there is nothing to do', async () => {
  await eventually('threads are running', async () =>
    (await metric(node, 'workers_threads')) === 0 ? undefined : 'there is a thread',
  );
});

test('a node that is stopped in the middle of an upload stops normally, and takes the next one', async () => {
  const data = bytesOf('stopped', SIZE);
  const before = await metric(node, 'workers_operations_count');
  const endless = async function* () {
    for (let round = 0; ; round++)
      for await (const piece of body(data)) yield piece.map((byte, i) => (i < 8 ? round : byte));
  };
  const upload = node.bytes.upload(endless()).then(
    () => 'acknowledged',
    () => 'failed',
  );
  await eventually('nothing is handed over', async () =>
    (await metric(node, 'workers_operations_count')) > before + 500 ? undefined : 'few operations',
  );
  expect(await node.stop()).toEqual({ forced: false });
  expect(await upload).toBe('failed');
  await node.start();
  await net.meshed();
  const small = data.subarray(0, 2 ** 20);
  const { reference } = await node.bytes.upload(small, { deferred: false });
  expect(sameBytes(await net.node(1).bytes.download(reference), small)).toBe(true);
});
