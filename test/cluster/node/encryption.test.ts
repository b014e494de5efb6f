import { afterAll, beforeAll, expect, test } from 'vitest';
import { tarOf } from '../../../harness/base/tree.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, http, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
let net: Cluster;
let uploader: ClusterNode;
let readers: readonly ClusterNode[];

beforeAll(async () => {
  net = await Cluster.start({ driver: 'simulated', nodes: 3, seed: 11, stateDir });
  uploader = net.node(0);
  readers = net.nodes.slice(1);
});
afterAll(async () => {
  await net.stop();
});

function wrongKey(reference: string): string {
  return `${reference.slice(0, 127)}${reference.endsWith('0') ? '1' : '0'}`;
}

test.each([
  { size: 0, deferred: true },
  { size: 1, deferred: false },
  { size: 4097, deferred: true },
  { size: 64 * 4096 + 1, deferred: false },
  { size: 2 ** 20, deferred: true },
])('$size bytes (deferred: $deferred) can be read from every node', async ({ size, deferred }) => {
  const data = bytesOf(`encrypted ${size}`, size);
  const { reference } = await uploader.bytes.upload(data, { encrypt: true, deferred });
  expect(reference).toMatch(/^[0-9a-f]{128}$/);
  if (deferred) await net.synced(reference);
  for (const reader of readers) {
    expect(sameBytes(await reader.bytes.download(reference, { cache: false }), data), reader.name).toBe(true);
    const head = await http(reader, `/bytes/${reference}`, { method: 'HEAD' });
    expect([head.status, head.headers['content-length']]).toEqual([200, String(size)]);
  }
});

test('part of the content can be read without the rest', async () => {
  const data = bytesOf('a part', 100_000);
  const { reference } = await uploader.bytes.upload(data, { encrypt: true, deferred: false });
  const range = { from: 50_000, to: 60_000 };
  const part = await (readers[0] as ClusterNode).bytes.download(reference, { range });
  expect(sameBytes(part, data.subarray(50_000, 60_001))).toBe(true);
});

test('without the right key nothing can be read, and the answer is immediate', async () => {
  const data = bytesOf('secret', 10_000);
  const { reference } = await uploader.bytes.upload(data, { encrypt: true, deferred: false });
  for (const node of net.nodes) {
    const seen = await http(node, `/bytes/${wrongKey(reference)}`);
    // By chance, a wrong key may open what looks like references.
    const isOpened = seen.json['message'] === 'joiner failed';
    if (!isOpened) expect(seen.json['message']).toMatch(/^malformed tree: /);
    expect(seen.status).toBe(isOpened ? 500 : 404);
  }
});

test('a directory can be read path by path on every node, but not without its key', async () => {
  const files = [
    { path: 'index.html', data: Buffer.from('<h1>index</h1>') },
    { path: 'deep/er/b.bin', data: Buffer.from(bytesOf('bin', 70_000)) },
  ];
  const { reference } = await uploader.files.uploadTar(await tarOf(files), {
    encrypt: true,
    indexDocument: 'index.html',
  });
  expect(reference).toHaveLength(128);
  await net.synced(reference);
  for (const node of net.nodes) {
    for (const { path, data } of files)
      expect(sameBytes(await node.files.download(reference, path), data), `${node.name} ${path}`).toBe(true);
    expect(sameBytes(await node.files.download(reference), Buffer.from('<h1>index</h1>'))).toBe(true);
    expect((await http(node, `/svc/${wrongKey(reference)}/`)).status).toBe(404);
  }
});
