import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tarOf } from '../../../harness/base/tree.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes, expectTar } from '../../../harness/inspect/ledger/content.ts';
import { Ledger } from '../../../harness/inspect/ledger/ledger.ts';
import vectors from '../../vectors/file-tree.json' with { type: 'json' };
import { bytesOf, holders, http, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
let net: Cluster;
let uploader: ClusterNode;
let readers: readonly ClusterNode[];

beforeAll(async () => {
  net = await Cluster.start({ driver: 'embedded', nodes: 4, seed: 7, stateDir });
  uploader = net.node(0);
  readers = net.nodes.slice(1);
});
afterAll(async () => {
  await net.stop();
});

const SIZES = [0, 1, 4096, 4097, 128 * 4096, 128 * 4096 + 1, 3 * 2 ** 20];

function uploadHeaders(headers: Record<string, string> = {}): Record<string, string> {
  return {
    'svc-postage-batch-id': uploader.batch ?? '',
    'content-type': 'application/octet-stream',
    ...headers,
  };
}

describe.each([
  { mode: 'deferred', deferred: true },
  { mode: 'direct', deferred: false },
])('$mode', ({ mode, deferred }) => {
  test.each(SIZES)('%i bytes are read from every node, and every chunk is on the network', async (size) => {
    const data = bytesOf(`${mode} ${size}`, size);
    const expected = await expectBytes(data);
    const { reference, tag } = await uploader.bytes.upload(data, { deferred });
    expect(reference).toBe(expected.reference);
    expect(tag === undefined).toBe(!deferred);
    if (deferred) await net.synced(reference);
    for (const reader of readers) {
      expect(sameBytes(await reader.bytes.download(reference, { cache: false }), data), reader.name).toBe(
        true,
      );
    }
    const ledger = new Ledger();
    await ledger.add({
      kind: 'bytes',
      node: uploader.name,
      batch: uploader.batch ?? '',
      reference,
      size,
      chunks: expected.chunks,
      mode: deferred ? 'deferred' : 'direct',
      level: deferred ? 'synced' : 'api',
      requestedAtMs: 0,
      acknowledgedAtMs: 0,
    });
    const signal = AbortSignal.timeout(120_000);
    expect(await ledger.verify(holders(net.nodes), { signal })).toMatchObject({ missing: 0, losses: [] });
  });
});

describe('the tree', () => {
  const generators: Record<string, (i: number) => number> = {
    'i mod 255': (i) => i % 255,
    'i mod 251': (i) => i % 251,
  };
  const lengths = [1, 4096, 4097, 524_288, 524_289, 1_052_673];
  const cases = vectors.cases.flatMap(({ name, input, expected }) => {
    const generator = 'generator' in input ? generators[input.generator ?? ''] : undefined;
    const { length } = input as { length?: number };
    const { reference } = expected as { reference?: string };
    return generator !== undefined &&
      length !== undefined &&
      lengths.includes(length) &&
      reference !== undefined
      ? [{ name, generator, length, reference }]
      : [];
  });

  test('has the references of the vectors', async () => {
    expect(cases.length).toBeGreaterThan(4);
    for (const { name, generator, length, reference } of cases) {
      const data = Uint8Array.from({ length }, (_, i) => generator(i));
      expect((await uploader.bytes.upload(data)).reference, name).toBe(reference);
      const reader = readers[length % readers.length] as ClusterNode;
      expect(sameBytes(await reader.bytes.download(reference), data), name).toBe(true);
    }
  });
});

describe('bytes', () => {
  const data = bytesOf('ranges', 3 * 4096 + 17);
  let reference: string;
  beforeAll(async () => {
    reference = (await uploader.bytes.upload(data)).reference;
    await net.synced(reference);
  });

  test('HEAD returns size and type on every node, without a body', async () => {
    for (const node of net.nodes) {
      const { status, headers, body } = await http(node, `/bytes/${reference}`, { method: 'HEAD' });
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-length': String(data.length),
        'content-type': 'application/octet-stream',
      });
      expect(body).toHaveLength(0);
    }
  });

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=4095-4096', 4095, 4097],
    ['bytes=4096-', 4096, data.length],
    ['bytes=-17', data.length - 17, data.length],
    ['bytes=12000-99999999', 12_000, data.length],
  ])('%s is answered with that part', async (range, from, to) => {
    for (const node of net.nodes) {
      const { status, headers, body } = await http(node, `/bytes/${reference}`, { headers: { range } });
      expect(status).toBe(206);
      expect(headers['content-range']).toBe(`bytes ${from}-${to - 1}/${data.length}`);
      expect(headers['content-length']).toBe(String(to - from));
      expect(sameBytes(body, data.subarray(from, to))).toBe(true);
    }
  });

  test('a range beyond the end is refused with the size', async () => {
    const headers = { range: `bytes=${data.length}-` };
    const seen = await http(readers[0] as ClusterNode, `/bytes/${reference}`, { headers });
    expect(seen.status).toBe(416);
    expect(seen.headers['content-range']).toBe(`bytes */${data.length}`);
  });

  test('every chunk of it can be read by its address: span, then payload', async () => {
    const { chunks } = await expectBytes(data);
    expect(chunks).toHaveLength(5);
    for (const address of chunks) {
      const seen = await Promise.all(net.nodes.map((node) => node.chunks.download(address)));
      for (const chunk of seen) expect(sameBytes(chunk, seen[0] as Uint8Array)).toBe(true);
    }
    const leaf = await uploader.chunks.download(chunks[0] as string);
    expect(Buffer.from(leaf).readBigUInt64LE()).toBe(4096n);
    expect(sameBytes(leaf.subarray(8), data.subarray(0, 4096))).toBe(true);
  });
});

test('a single chunk uploaded by itself is on the network once it is acknowledged', async () => {
  const payload = bytesOf('chunk', 1000);
  const span = Buffer.alloc(8);
  span.writeBigUInt64LE(1000n);
  const data = Buffer.concat([span, payload]);
  const { reference, tag } = await uploader.chunks.upload(data);
  expect(tag).toBeUndefined();
  for (const reader of readers) {
    expect(sameBytes(await reader.chunks.download(reference, { cache: false }), data)).toBe(true);
  }
  const signal = AbortSignal.timeout(120_000);
  const held = await Promise.all(net.nodes.map((node) => node.chunks.has(reference, signal)));
  expect(held).toContain(true);
});

test('content that was never uploaded is on no node', async () => {
  const absent = 'ab'.repeat(32);
  for (const node of net.nodes) {
    expect((await http(node, `/bytes/${absent}`, { method: 'HEAD' })).status).toBe(404);
    expect((await http(node, `/chunks/${absent}`, { method: 'HEAD' })).status).toBe(404);
    expect((await http(node, `/bytes/${absent}`)).status).toBe(404);
    expect((await http(node, `/svc/${absent}/`)).status).toBe(404);
  }
});

test('a file keeps its name and its content type on every node', async () => {
  const data = Buffer.from('{"a":1}');
  const { reference } = await uploader.files.upload(data, {
    name: 'größe.json',
    contentType: 'application/json',
  });
  await net.synced(reference);
  for (const node of net.nodes) {
    for (const path of ['', encodeURIComponent('größe.json')]) {
      const { status, headers, body } = await http(node, `/svc/${reference}/${path}`);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('application/json');
      expect(Buffer.from(headers['content-disposition'] ?? '', 'latin1').toString('utf8')).toBe(
        'inline; filename="größe.json"',
      );
      expect(sameBytes(body, data)).toBe(true);
    }
    const head = await http(node, `/svc/${reference}/`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers['content-length']).toBe(String(data.length));
    const part = await http(node, `/svc/${reference}/`, { headers: { range: 'bytes=1-3' } });
    expect([part.status, Buffer.from(part.body).toString()]).toEqual([206, '"a"']);
  }
});

const TREE = [
  { path: 'index.html', data: Buffer.from('<h1>index</h1>'), type: 'text/html; charset=utf-8' },
  { path: 'error.html', data: Buffer.from('<h1>nothing here</h1>'), type: 'text/html; charset=utf-8' },
  { path: 'img/a.png', data: Buffer.from(bytesOf('png', 5000)), type: 'image/png' },
  {
    path: 'img/deep/b.bin',
    data: Buffer.from(bytesOf('bin', 128 * 4096 + 5)),
    type: 'application/octet-stream',
  },
  { path: 'empty.txt', data: Buffer.alloc(0), type: 'text/plain; charset=utf-8' },
];

async function readsTree(reference: string): Promise<void> {
  await net.synced(reference);
  for (const node of net.nodes) {
    for (const { path, data } of TREE) {
      const { status, body } = await http(node, `/svc/${reference}/${path}`);
      expect([node.name, path, status]).toEqual([node.name, path, 200]);
      expect(sameBytes(body, data), `${node.name} ${path}`).toBe(true);
    }
    const index = await http(node, `/svc/${reference}/`);
    expect([index.status, Buffer.from(index.body).toString()]).toEqual([200, '<h1>index</h1>']);
    expect(index.headers['content-type']).toBe('text/html; charset=utf-8');
    const missing = await http(node, `/svc/${reference}/no/such/page`);
    expect([missing.status, Buffer.from(missing.body).toString()]).toEqual([200, '<h1>nothing here</h1>']);
    const folder = await http(node, `/svc/${reference}/img`);
    expect([folder.status, folder.headers['location']]).toEqual([308, `/svc/${reference}/img/`]);
    const byHost = { headers: { host: `${reference}.svc.localhost:${new URL(node.api).port}` } };
    const page = await http(node, '/', byHost);
    expect([page.status, Buffer.from(page.body).toString()]).toEqual([200, '<h1>index</h1>']);
    const picture = await http(node, '/img/a.png', byHost);
    expect([picture.status, picture.body.length]).toEqual([200, 5000]);
    const site = await http(node, '/img', byHost);
    expect([site.status, site.headers['location']]).toEqual([308, '/img/']);
    expect((await http(node, '/health', byHost)).json['status']).toBe('ok');
  }
}

test('a directory uploaded as a tar archive is read path by path, with index and error document', async () => {
  const archive = await tarOf(TREE);
  const { reference } = await uploader.files.uploadTar(archive, {
    indexDocument: 'index.html',
    errorDocument: 'error.html',
  });
  await readsTree(reference);
  const png = await http(readers[0] as ClusterNode, `/svc/${reference}/img/a.png`);
  expect(png.headers['content-type']).toBe('image/png');
});

test('a directory without documents has the reference given by its bytes, and no page of its own', async () => {
  const archive = await tarOf(TREE);
  const { reference } = await uploader.files.uploadTar(archive, { deferred: false });
  expect(reference).toBe((await expectTar(archive)).reference);
  for (const reader of readers) {
    const root = await http(reader, `/svc/${reference}/`);
    expect([root.status, root.json['message']]).toEqual([404, 'address not found or incorrect']);
    const missing = await http(reader, `/svc/${reference}/nowhere`);
    expect([missing.status, missing.json['message']]).toEqual([404, 'path address not found']);
  }
});

test('a directory uploaded as a multipart body is read path by path, with index and error document', async () => {
  const boundary = 'a-boundary-of-ours';
  const parts = TREE.flatMap(({ path, data, type }) => [
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="${path}"\r\ncontent-type: ${type}\r\ncontent-length: ${data.length}\r\n\r\n`,
    ),
    data,
    Buffer.from('\r\n'),
  ]);
  const body = Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
  const headers = uploadHeaders({
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'svc-index-document': 'index.html',
    'svc-error-document': 'error.html',
  });
  const { status, json } = await http(uploader, '/svc', { method: 'POST', headers, body });
  expect(status).toBe(201);
  const reference = json['reference'] as string;
  await readsTree(reference);
  for (const { path, type } of TREE) {
    const head = await http(readers[1] as ClusterNode, `/svc/${reference}/${path}`, { method: 'HEAD' });
    expect([path, head.headers['content-type']]).toEqual([path, type]);
  }
});

describe('tags', () => {
  test('add up: every chunk was either seen before or synced', async () => {
    const size = 20 * 4096;
    const data = bytesOf('tag', size);
    const { tag } = await uploader.bytes.upload(data);
    const done = await net.synced({ node: 0, tag: tag ?? 0 });
    expect(done).toMatchObject({ split: 21, seen: 0, synced: 21 });
    expect(done?.address).toBe((await expectBytes(data)).reference);
    expect(done?.stored).toBeLessThanOrEqual(21);
    expect((done?.sent ?? 0) + (done?.stored ?? 0)).toBeGreaterThanOrEqual(21);
  });

  test('chunks that come twice in one upload are seen, not pushed twice', async () => {
    const leaf = bytesOf('leaf', 4096);
    const { tag } = await uploader.bytes.upload(Buffer.concat([leaf, leaf, leaf, leaf]));
    const done = await net.synced({ node: 0, tag: tag ?? 0 });
    expect(done).toMatchObject({ split: 5, seen: 3, synced: 2 });
  });

  test('the same content counts as new when uploaded again', async () => {
    const data = bytesOf('again', 5 * 4096);
    const first = await uploader.bytes.upload(data);
    await net.synced({ node: 0, tag: first.tag ?? 0 });
    const second = await uploader.bytes.upload(data);
    expect(second.reference).toBe(first.reference);
    expect(second.tag).not.toBe(first.tag);
    expect(await net.synced({ node: 0, tag: second.tag ?? 0 })).toMatchObject({
      split: 6,
      seen: 0,
      synced: 6,
    });
  });

  test('one tag counts all uploads that use it', async () => {
    const { uid } = await uploader.tags.create();
    for (const name of ['one', 'two']) await uploader.bytes.upload(bytesOf(name, 2 * 4096), { tag: uid });
    expect(await net.synced({ node: 0, tag: uid })).toMatchObject({ split: 6, seen: 0, synced: 6 });
  });

  test('a direct upload has no tag', async () => {
    const before = (await uploader.tags.list()).length;
    const headers = uploadHeaders({ 'svc-deferred-upload': 'false' });
    const seen = await http(uploader, '/bytes', { method: 'POST', headers, body: 'direct' });
    expect(seen.status).toBe(201);
    expect(seen.headers).not.toHaveProperty('svc-tag');
    expect((await uploader.tags.list()).length).toBe(before);
  });
});
