/** A node whose uploads are hashed and signed in worker threads. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { expectBytes } from '../../../harness/ledger/content.ts';
import type { ClusterNode } from '../../../harness/nodes/cluster-node.ts';
import { bytesOf, eventually, sameBytes, stateFolder } from './kit.ts';

/** Long enough for a thread to start, and to do most of the rest. */
const SIZE = 48 * 2 ** 20;
/** Hashes and signatures of an upload. */
const OPERATIONS = (2 * SIZE) / 4096;

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

async function* body(data: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += 2 ** 20) yield data.subarray(at, at + 2 ** 20);
}

test.each([
  ['deferred', {}],
  ['direct', { deferred: false }],
] as const)('what is uploaded is what it is without threads: %s', async (name, options) => {
  const data = bytesOf(name, name === 'direct' ? SIZE / 4 : SIZE);
  const before = await metric('workers_operations_count');
  const uploaded = await node.bytes.upload(body(data), options);
  expect(uploaded.reference).toBe((await expectBytes(data)).reference);
  if (name === 'deferred') {
    expect((await metric('workers_operations_count')) - before).toBeGreaterThan(OPERATIONS / 8);
    expect(await metric('workers_threads')).toBe(1);
  }
  const reader = name === 'direct' ? net.node(1) : node;
  expect(sameBytes(await reader.bytes.download(uploaded.reference), data)).toBe(true);
});

test('threads end when there is nothing to do', async () => {
  await eventually('threads are running', async () =>
    (await metric('workers_threads')) === 0 ? undefined : 'there is a thread',
  );
});

test('a node that is stopped in the middle of an upload stops normally, and takes the next one', async () => {
  const data = bytesOf('stopped', SIZE);
  const before = await metric('workers_operations_count');
  const endless = async function* () {
    for (let round = 0; ; round++)
      for await (const piece of body(data)) yield piece.map((byte, i) => (i < 8 ? round : byte));
  };
  const upload = node.bytes.upload(endless()).then(
    () => 'acknowledged',
    () => 'failed',
  );
  await eventually('nothing is handed over', async () =>
    (await metric('workers_operations_count')) > before + 500 ? undefined : 'few operations',
  );
  await node.stop();
  expect(await upload).toBe('failed');
  await node.start();
  await net.meshed();
  expect(await arrives(await node.bytes.upload(data.subarray(0, 2 ** 20)), data.subarray(0, 2 ** 20))).toBe(
    true,
  );
});
