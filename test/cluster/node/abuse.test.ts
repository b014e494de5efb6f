import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tarOf } from '../../../harness/base/tree.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import { bytesOf, eventually, http, openFiles, pidOf, residentBytes, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
const MIB = 2 ** 20;
let net: Cluster;
let node: ClusterNode;
let pid: number;
let calmFiles: number;

beforeAll(async () => {
  net = await Cluster.start({ nodes: 2, seed: 17, stateDir });
  node = net.node(0);
  pid = pidOf(node);
  await works();
  calmFiles = openFiles(pid);
});
afterAll(async () => {
  await net.stop();
});

let uploads = 0;
async function works(): Promise<void> {
  const data = bytesOf(`works ${++uploads}`, 40_000);
  const { reference } = await node.bytes.upload(data);
  await net.synced(reference);
  expect(sameBytes(await net.node(1).bytes.download(reference, { cache: false }), data)).toBe(true);
}

async function recovered(): Promise<void> {
  expect(node.pid).toBe(pid);
  await works();
  await eventually('files stay open', async () => {
    const files = openFiles(pid);
    return files <= calmFiles + 10 ? undefined : `${files} files are open, ${calmFiles} before`;
  });
}

function addressOf(door: 'api' | 'p2p'): { host: string; port: number } {
  if (door === 'api') return { host: '127.0.0.1', port: Number(new URL(node.api).port) };
  return { host: '127.0.0.1', port: Number(/\/tcp\/(\d+)\//.exec(node.p2p)?.[1]) };
}

async function open(door: 'api' | 'p2p'): Promise<Socket> {
  const socket = connect(addressOf(door));
  // The tests expect resets by the node.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

function ending(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

async function answerTo(door: 'api' | 'p2p', request: string | Uint8Array): Promise<string> {
  const socket = await open(door);
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  const closed = ending(socket);
  socket.write(request);
  await closed;
  return Buffer.concat(pieces).toString('latin1');
}

function uploadHead(length: number | 'chunked', more: Record<string, string> = {}, path = '/bytes'): string {
  const headers = {
    host: '127.0.0.1',
    'svc-postage-batch-id': node.batch ?? '',
    'content-type': 'application/octet-stream',
    ...(length === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }),
    ...more,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

describe('a request', () => {
  test.each([
    ['GET', '/bytes/xyz', 400],
    ['GET', '/bytes/abc', 400],
    ['GET', '/bytes/abcd', 400],
    ['GET', `/bytes/${'ab'.repeat(31)}`, 400],
    ['GET', `/bytes/${'ab'.repeat(1000)}`, 400],
    ['HEAD', '/chunks/abcd', 400],
    ['GET', '/chunks/xyz', 400],
    ['GET', `/chunks/${'00'.repeat(32)}`, 404],
    ['GET', '/svc/nothing/at/all', 400],
    ['GET', '/bytes/', 404],
    ['GET', '/no/such/path', 404],
    ['DELETE', '/bytes', 405],
    ['GET', '/tags/0', 400],
    ['GET', '/tags/-1', 400],
    ['GET', '/tags/99999999999999999999', 400],
    ['GET', '/stamps/abcd', 400],
    ['GET', `/balances/${'11'.repeat(32)}`, 404],
    ['POST', '/connect/ip4/127.0.0.1', 400],
    ['POST', '/connect/ip4/127.0.0.1/tcp/1', 400],
    ['POST', '/connect/hello', 400],
    ['POST', `/pingpong/${'22'.repeat(32)}`, 404],
  ] as const)('%s %s is answered with %i', async (method, path, status) => {
    const seen = await http(node, path, { method });
    expect(seen.status).toBe(status);
    if (method !== 'HEAD') expect(seen.json).toMatchObject({ code: status });
  });

  test.each([
    ['no HTTP at all', () => 'hello\r\n\r\n', 400],
    ['a TLS handshake', () => Buffer.from('16030102000100', 'hex'), 400],
    ['an endless header', () => `GET /health HTTP/1.1\r\nhost: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
    ['two lengths', () => uploadHead(3, { 'transfer-encoding': 'chunked' }), 400],
    [
      'a length that is none',
      () => 'POST /bytes HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: much\r\n\r\n',
      400,
    ],
  ])('of %s is refused, and its connection closed', async (_what, bytes, status) => {
    expect(await answerTo('api', bytes())).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test('with a path that leaves the tree is redirected to the normalised path', async () => {
    const answer = await answerTo(
      'api',
      'GET /svc/../../etc/passwd HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 301 /);
    expect(answer).toMatch(/\r\nlocation: \/etc\/passwd\r\n/i);
  });

  test.each([
    ['too short for a chunk', 7, 400, 'insufficient data length'],
    ['too long for a chunk, and no single-owner chunk', 4105, 400, 'create chunk error'],
    ['too long for any chunk', 4202, 413, 'Request Entity Too Large'],
  ])('with a body %s', async (_what, size, status, message) => {
    const headers = { 'svc-postage-batch-id': node.batch ?? '', 'content-type': 'application/octet-stream' };
    const seen = await http(node, '/chunks', { method: 'POST', headers, body: new Uint8Array(size) });
    expect([seen.status, seen.json['message']]).toEqual([status, message]);
  });

  test.each([
    ['a tag that is none', { 'svc-tag': 'x' }, 400],
    ['an unknown tag', { 'svc-tag': '4000000000' }, 404],
    ['a flag that is none', { 'svc-deferred-upload': 'maybe' }, 400],
    ['a redundancy level out of range', { 'svc-redundancy-level': '9' }, 400],
    ['a batch id of half a byte', { 'svc-postage-batch-id': 'abc' }, 400],
  ])('of an upload with %s is refused', async (_what, more, status) => {
    const headers = { 'svc-postage-batch-id': node.batch ?? '', 'content-type': 'text/plain', ...more };
    expect((await http(node, '/bytes', { method: 'POST', headers, body: 'x' })).status).toBe(status);
  });
});

describe('an archive', () => {
  const tarHeaders = () => ({
    'svc-postage-batch-id': node.batch ?? '',
    'content-type': 'application/x-tar',
    'svc-collection': 'true',
  });

  test.each([
    ['that is cut in a file', (tar: Uint8Array) => tar.subarray(0, 512 + 3000), 400],
    ['that is cut in a header', (tar: Uint8Array) => tar.subarray(0, 512 + 5120 + 100), 400],
    ['of noise', () => bytesOf('noise', 10_240), 400],
    ['of nothing', () => new Uint8Array(1024), 400],
  ])('%s is refused, and nothing of it is kept', async (_what, cut, status) => {
    const file = bytesOf('of an archive', 5000);
    const tar = await tarOf([
      { path: 'a', data: file },
      { path: 'b', data: file },
    ]);
    const tags = (await node.tags.list()).length;
    const seen = await http(node, '/svc', { method: 'POST', headers: tarHeaders(), body: cut(tar) });
    expect(seen.status).toBe(status);
    const { chunks } = await expectBytes(file);
    for (const chunk of chunks) expect(await node.chunks.has(chunk)).toBe(false);
    for (const tag of (await node.tags.list()).slice(tags))
      expect(tag).toMatchObject({ split: 0, synced: 0 });
  });

  test('with paths that leave it puts no file anywhere, and is read only by its own paths', async () => {
    const files = ['../../../tmp/out', '/abs', './in/./here'].map((path) => ({
      path,
      data: Buffer.from(path),
    }));
    const seen = await http(node, '/svc', {
      method: 'POST',
      headers: tarHeaders(),
      body: await tarOf(files),
    });
    if (seen.status === 201) {
      const reference = seen.json['reference'] as string;
      await net.synced(reference);
      const inside = await http(net.node(1), `/svc/${reference}/in/here`);
      expect([inside.status, Buffer.from(inside.body).toString()]).toEqual([200, './in/./here']);
    } else expect(seen.status).toBe(400);
  });

  test.each([
    ['without its end', '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nhalf'],
    ['without a boundary in it', 'no parts at all'],
    ['of nothing', ''],
  ])('as multipart %s is refused', async (_what, body) => {
    const headers = { ...tarHeaders(), 'content-type': 'multipart/form-data; boundary=b' };
    const seen = await http(node, '/svc', { method: 'POST', headers, body });
    expect([400, 500]).toContain(seen.status);
  });
});

describe('a client that disappears in the middle of an upload', () => {
  const data = bytesOf('vanishes', MIB);

  async function vanish(head: string, body: Uint8Array, how: 'end' | 'reset'): Promise<void> {
    const socket = await open('api');
    const closed = ending(socket);
    socket.resume();
    socket.write(head);
    await new Promise<void>((resolve) => socket.write(body, () => resolve()));
    if (how === 'end') socket.end();
    else socket.resetAndDestroy();
    await closed;
  }

  test.each([
    ['with a length, politely', 2 * MIB, 'end', {}],
    ['with a length, by a reset', 2 * MIB, 'reset', {}],
    ['in chunked encoding', 'chunked', 'reset', {}],
    ['of an archive', 2 * MIB, 'reset', { 'content-type': 'application/x-tar', 'svc-collection': 'true' }],
  ] as const)('%s leaves no chunk and no count', async (_what, length, how, more) => {
    const tags = (await node.tags.list()).length;
    const file = await tarOf([{ path: 'file', data }]);
    const body = 'content-type' in more ? file.subarray(0, MIB) : data;
    const framed =
      length === 'chunked' ? Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), body]) : body;
    await vanish(uploadHead(length, { ...more }, 'content-type' in more ? '/svc' : '/bytes'), framed, how);
    const { chunks } = await expectBytes(data);
    await eventually('the upload is not rolled back', async () => {
      const opened = (await node.tags.list()).slice(tags);
      if (opened.length !== 1) return `${opened.length} tags were opened`;
      // Each connection of this client would count as an open file of the node.
      for (const chunk of chunks.slice(0, 50))
        if (await node.chunks.has(chunk)) return 'chunks are still there';
      return undefined;
    });
    const [tag] = (await node.tags.list()).slice(tags);
    expect(tag).toMatchObject({ split: 0, seen: 0, sent: 0, synced: 0, address: '' });
  });

  test('of a direct upload leaves no tag behind either', async () => {
    const tags = (await node.tags.list()).length;
    await vanish(uploadHead(2 * MIB, { 'svc-deferred-upload': 'false' }), data, 'reset');
    expect((await node.tags.list()).length).toBe(tags);
    await recovered();
  });

  test('repeatedly costs no memory', async () => {
    const large = bytesOf('vanishes again', 4 * MIB);
    const vanishTimes = async (times: number) => {
      for (let round = 0; round < times; round++) {
        await vanish(uploadHead(16 * MIB), large, round % 2 === 0 ? 'reset' : 'end');
      }
      await recovered();
    };
    await vanishTimes(20);
    const before = residentBytes(pid);
    await vanishTimes(40);
    expect((residentBytes(pid) - before) / MIB).toBeLessThan(80);
    // A quarter of a gigabyte is sent.
  });
});

describe('a client that stops reading', () => {
  test('does not make the node read ahead of it', async () => {
    const data = bytesOf('never read', 24 * MIB);
    const { reference } = await node.bytes.upload(data);
    await net.synced(reference);
    const before = residentBytes(pid);
    const sockets = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const socket = await open('api');
        socket.pause();
        socket.write(`GET /bytes/${reference} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
        return socket;
      }),
    );
    await works();
    expect((residentBytes(pid) - before) / MIB).toBeLessThan(60);
    for (const socket of sockets) socket.resetAndDestroy();
    await recovered();
  });
});

describe('strangers', () => {
  test.each(['p2p', 'api'] as const)('that send noise to the %s port are dropped', async (door) => {
    const noises = Array.from({ length: 40 }, (_, i) => bytesOf(`noise ${i}`, 1 + i * 97));
    const sent = noises.map(async (noise) => {
      const socket = await open(door);
      const closed = ending(socket);
      socket.resume();
      socket.end(noise);
      await closed;
    });
    await Promise.all(sent);
    await recovered();
  });

  test('that connect and say nothing, or stop half-way, do not keep others out', async () => {
    const hello = Buffer.concat([Buffer.from([0x13]), Buffer.from('/multistream/1.0.0\n')]);
    const silent = await Promise.all(Array.from({ length: 60 }, () => open('p2p')));
    const halfway = await Promise.all(Array.from({ length: 60 }, () => open('p2p')));
    for (const socket of halfway) socket.write(hello);
    const idle = await Promise.all(Array.from({ length: 60 }, () => open('api')));
    await net.node(1).stop();
    await net.node(1).start();
    await net.meshed();
    await works();
    for (const socket of [...silent, ...halfway, ...idle]) socket.destroy();
    await recovered();
  });

  test('that send their headers one byte at a time are cut off', async () => {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => open('api')));
    const answers = sockets.map(async (socket) => {
      const pieces: Buffer[] = [];
      socket.on('data', (piece) => pieces.push(piece));
      await ending(socket);
      return Buffer.concat(pieces).toString('latin1');
    });
    for (const socket of sockets) socket.write('GET /health HTTP/1.1\r\n');
    const dripping = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('x');
    }, 200);
    expect((await http(node, '/health')).status).toBe(200);
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^(HTTP\/1\.1 408 |$)/);
    clearInterval(dripping);
    await recovered();
  });
});

test('after all this the node has logged no error', async () => {
  await recovered();
  const loud = (await node.logs({ lines: 100_000 })).filter(
    (line) => !line.startsWith('{') || /"level":"(error|fatal)"/.test(line),
  );
  expect(loud).toEqual([]);
});
