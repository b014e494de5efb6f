import { describe, expect, test, vi } from 'vitest';
import { cacFromData, makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { signSoc, socAddress } from '../../../formats/chunk/soc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { encryptChunk, randomEncryption } from '../../../node/files/encryption.ts';
import { split } from '../../../node/files/splitter.ts';
import { encodeNode } from '../../../node/manifest/codec.ts';
import { ChunkMap, inParts } from '../files/chunk-map.ts';
import { multipartOf, TAR_END, tarBody, tarHeader } from '../files/collection/archives.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, PUBLIC_KEY, startKit } from './kit.ts';
import { OWNER } from './soc-kit.ts';

const UPLOAD = { 'svc-postage-batch-id': BATCH };

async function holding(...chunks: readonly Chunk[]): Promise<Kit> {
  const kit = await startKit();
  for (const chunk of chunks) kit.knobs.network.set(toHex(chunk.address), chunk);
  return kit;
}

interface Asked {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Record<string, string>;
  readonly payload?: Buffer | string;
}

async function asked(kit: Kit, url: string, more: Asked = {}): Promise<[status: number, message: string]> {
  const { statusCode, headers, payload } = await kit.api.main.inject({ url, ...more });
  const isJson = String(headers['content-type']).startsWith('application/json') && payload !== '';
  return [statusCode, isJson ? String(JSON.parse(payload).message ?? payload.trim()) : payload];
}

function open({ sessions }: Kit['knobs']) {
  return sessions.filter(({ state }) => state === 'open');
}

function expectNothingLeft({ knobs, services: { store } }: Kit): void {
  expect(open(knobs)).toEqual([]);
  expect(store.uploads.totals().pending).toBe(0);
  expect(store.pins.totals()).toEqual({ collections: 0, chunks: 0 });
}

describe('a span that lies', () => {
  const payload = new Uint8Array(64).fill(7);
  const level = (mark: bigint) => mark << 56n;

  describe.each([
    ['one more than there is', 65n],
    ['more than a chunk holds', 4097n],
    ['two leaves that nobody has', 8192n],
    ['four gigabytes', 2n ** 32n],
    ['more than a double counts', 2n ** 53n + 1n],
    ['the largest signed number', 2n ** 63n - 1n],
    ['the smallest negative one', 2n ** 63n],
    ['a negative one', 2n ** 63n + 2n ** 55n],
    ['minus one', 2n ** 64n - 1n],
    ['a redundancy level without its parities', level(0x81n) | 8192n],
    ['a redundancy level that there is none of', level(0x85n) | 8192n],
    ['the highest level over everything', level(0x84n) | (2n ** 56n - 1n)],
  ] as const)('%s', (_what, span) => {
    const chunk = makeCac(span, payload);
    const root = toHex(chunk.address);
    const unreadable =
      span === 4097n || span === 8192n
        ? [500, 'joiner failed']
        : [404, expect.stringMatching(/^malformed tree: /)];

    test.each([{}, { range: 'bytes=-1' }, { range: 'bytes=0-0' }])(
      'is an error for a reader %j',
      async (headers) => {
        expect(await asked(await holding(chunk), `/bytes/${root}`, { headers })).toEqual(unreadable);
      },
    );

    test('is an error for every other way to read', async () => {
      const kit = await holding(chunk);
      // A HEAD reads no child.
      const head = await kit.api.main.head(`/bytes/${root}`);
      expect(head.statusCode).toBe(unreadable[0] === 404 ? 404 : 200);
      expect(await asked(kit, `/svc/${root}/`)).toEqual([404, 'address not found or incorrect']);
      expect((await asked(kit, `/pins/${root}`, { method: 'POST' }))[1]).toBe('pin collection failed');
      expect(await asked(kit, `/stewardship/${root}`)).toEqual([200, '{"isRetrievable":false}']);
      const owned = signSoc(new Uint8Array(32), chunk.data, OWNER);
      kit.knobs.network.set(toHex(owned.address), owned);
      const soc = `/soc/${toHex(OWNER.address)}/${'00'.repeat(32)}`;
      expect(await asked(kit, soc)).toEqual(unreadable);
      expectNothingLeft(kit);
    });
  });

  test.each([
    ['more than there is, over references to nothing', 4097n, 500, /^joiner failed$/],
    ['more than any tree holds', 2n ** 62n, 404, /^malformed tree: /],
    ['minus one', 2n ** 64n - 1n, 404, /^malformed tree: /],
    ['a redundancy level over parities of nothing', level(0x81n) | 8192n, 500, /^joiner failed$/],
  ] as const)('under encryption, %s, is an error', async (_what, span, status, message) => {
    const plain = makeCac(span, new Uint8Array(4096).fill(7));
    const { data, key } = encryptChunk(plain.data, randomEncryption(systemRandom()));
    const chunk = cacFromData(data);
    const reference = toHex(chunk.address) + toHex(key);
    const kit = await holding(chunk);
    expect(await asked(kit, `/bytes/${reference}`)).toEqual([status, expect.stringMatching(message)]);
    expect((await asked(kit, `/pins/${reference}`, { method: 'POST' }))[0]).toBe(404);
    expectNothingLeft(kit);
  });

  test('that is shorter than the content hides the rest', async () => {
    const chunk = makeCac(3n, Buffer.from('abcdef'));
    const reference = `/bytes/${toHex(chunk.address)}`;
    expect(await asked(await holding(chunk), reference)).toEqual([200, 'abc']);
  });
});

describe.each([1, 31, 33, 63, 65, 1000])('a reference of %i bytes', (size) => {
  const reference = 'ab'.repeat(size);
  const act = { 'svc-act-publisher': PUBLIC_KEY, 'svc-act-history-address': reference };

  test.each([
    ['GET', `/bytes/${reference}`, 500, 'joiner failed'],
    ['HEAD', `/bytes/${reference}`, 404, ''],
    ['GET', `/chunks/${reference}`, 404, 'chunk not found'],
    ['HEAD', `/chunks/${reference}`, 404, ''],
    ['GET', `/svc/${reference}/`, 404, 'address not found or incorrect'],
    ['POST', `/pins/${reference}`, 500, 'pin collection failed'],
    ['DELETE', `/pins/${reference}`, 404, 'Not Found'],
    ['GET', `/stewardship/${reference}`, 500, 'is retrievable check failed'],
    ['PUT', `/stewardship/${reference}`, 500, 're-upload failed'],
    ['POST', `/envelope/${reference}`, 400, 'invalid path params'],
    ['GET', `/grantee/${reference}`, 404, 'granteelist not found'],
  ] as const)('%s %s is refused', async (method, url, status, message) => {
    const kit = await startKit({ dialect: 'swarm' });
    const paid = { ...UPLOAD, 'swarm-postage-batch-id': UPLOAD['svc-postage-batch-id'] };
    expect(await asked(kit, url, { method, headers: paid })).toEqual([status, message]);
    expectNothingLeft(kit);
    const strict = await startKit();
    const refused = [400, method === 'HEAD' ? '' : 'invalid path params'];
    expect(await asked(strict, url, { method, headers: UPLOAD })).toEqual(refused);
    expectNothingLeft(strict);
  });

  test('is not a history', async () => {
    const kit = await startKit();
    const refused = [400, 'failed to create history'];
    expect(await asked(kit, `/bytes/${'ab'.repeat(32)}`, { headers: act })).toEqual(refused);
    const headers = { ...UPLOAD, ...act, 'svc-act': 'true' };
    expect(await asked(kit, '/bytes', { method: 'POST', headers, payload: 'x' })).toEqual(refused);
    const url = `/grantee/${'ab'.repeat(64)}`;
    expect(await asked(kit, url, { method: 'PATCH', headers, payload: '{}' })).toEqual(refused);
    expectNothingLeft(kit);
  });
});

/** Its address does not depend on its content, so it can name itself. */
function loop(
  forks: (self: Uint8Array) => Parameters<typeof encodeNode>[0]['forks'],
  entry = new Uint8Array(32),
): Chunk {
  const id = new Uint8Array(32).fill(5);
  const self = socAddress(id, OWNER.address);
  const zeros = new Uint8Array(32);
  const node = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry, forks: forks(self) });
  return signSoc(id, makeCac(BigInt(node.length), node).data, OWNER);
}

async function heavyLoop() {
  const metadata = { k: 'v'.repeat(60_000) };
  const id = new Uint8Array(32).fill(5);
  const self = socAddress(id, OWNER.address);
  const zeros = new Uint8Array(32);
  const forks = Array.from({ length: 26 }, (_, at) => fork(String.fromCharCode(97 + at), self, metadata));
  const node = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks });
  const store = new ChunkMap();
  const { reference } = await split(inParts(node, 65_536), store);
  const root = store.chunks.get(toHex(reference)) as Chunk;
  return { self: toHex(self), kit: await holding(...store.chunks.values(), signSoc(id, root.data, OWNER)) };
}

function fork(prefix: string, reference: Uint8Array, metadata?: Record<string, string>) {
  return { prefix, flags: metadata === undefined ? 6 : 22, reference, metadata };
}

describe('a manifest', () => {
  const nowhere = new Uint8Array(32).fill(0xdd);

  test('that leads back into itself is read only to the length of the path', async () => {
    const manifest = loop((self) => [fork('a', self), fork('b', self)]);
    const kit = await holding(manifest);
    const root = toHex(manifest.address);
    for (const path of ['c', 'ab', 'ab'.repeat(200), 'ab'.repeat(3000), `${'ab'.repeat(100)}c`, 'a/b/c']) {
      const [status, message] = await asked(kit, `/svc/${root}/${path}`);
      expect(status, path.slice(0, 20)).toBeGreaterThanOrEqual(404);
      expect(message).not.toBe('');
    }
    const pinned = await asked(kit, `/pins/${root}`, { method: 'POST' });
    expect(pinned[0]).toBe(201);
    expect(kit.services.store.pins.totals().chunks).toBe(1);
  });

  test('with a path longer than a node reads is reported as such', async () => {
    const { kit, self } = await heavyLoop();
    const answer = await kit.api.main.get(`/svc/${self}/${'a'.repeat(100)}`);
    expect(answer.json()).toEqual({
      code: 404,
      message: 'Not Found',
      reasons: ['manifest: manifest too large: paths that lead through more than 8388608 bytes of nodes'],
    });
  });

  describe('that is listed', () => {
    /** What is wrong with it; the network has no more than so many of its chunks. */
    async function fault(kit: Kit, root: string, query: string, chunks: number): Promise<unknown> {
      const stored = new Map(kit.knobs.network);
      let reads = 0;
      kit.knobs.network.get = (key) => (++reads > chunks ? undefined : stored.get(key));
      const url = `/manifest/${root}/${query}`;
      const answer = await kit.api.main.inject({ url, headers: { 'svc-cache': 'false' } });
      const { reasons, ...rest } = answer.json();
      expect(rest).toEqual({ code: 404, message: 'Not Found' });
      return reasons;
    }

    test('and leads back into itself keeps 8 MiB of it', async () => {
      const { kit, self } = await heavyLoop();
      // The sixth node is one too many; each has some 400 chunks.
      expect(await fault(kit, self, '', 7 * 400)).toEqual([
        'manifest: manifest too large: more than 8388608 bytes of nodes lead to one path',
      ]);
    });

    test('and has a path without an end is read only to the length of a path', async () => {
      const manifest = loop((self) => [fork('a'.repeat(30), self)]);
      expect(await fault(await holding(manifest), toHex(manifest.address), '', 1000)).toEqual([
        'manifest: the trie has a path of more than 16384 bytes',
      ]);
    });

    test('and has only names that no request could name ends at twice the limit', async () => {
      const manifest = loop((self) => [fork('\xfe', self), fork('\xff', self)], nowhere);
      expect(await fault(await holding(manifest), toHex(manifest.address), '?limit=10', 1000)).toEqual([
        'manifest: manifest too large: more than twice the limit of 10 or 8388608 bytes, without a name in UTF-8 to end a page at',
      ]);
    });
  });

  test('whose documents are itself is served once', async () => {
    const manifest = loop((self) => [
      fork('/', self, { 'website-index-document': 'x/', 'website-error-document': 'x' }),
      fork('x', self),
    ]);
    const kit = await holding(manifest);
    for (const path of ['', 'x/', 'x/x/x/', 'nothing'])
      expect((await asked(kit, `/svc/${toHex(manifest.address)}/${path}`))[0], path).toBeLessThan(501);
  });

  test('that points nowhere has no content there, and its other paths are served', async () => {
    const file = makeCac(5n, Buffer.from('hello'));
    const zeros = new Uint8Array(32);
    const leaf = (entry: Uint8Array) =>
      encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry, forks: [] });
    const [here, gone] = [leaf(file.address), leaf(nowhere)].map((node) =>
      makeCac(BigInt(node.length), node),
    );
    const forks = [fork('gone', nowhere), fork('here', here!.address), fork('lost', gone!.address)];
    const node = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks });
    const manifest = makeCac(BigInt(node.length), node);
    const kit = await holding(manifest, file, here!, gone!);
    const root = toHex(manifest.address);
    expect(await asked(kit, `/svc/${root}/gone`)).toEqual([404, 'Not Found']);
    expect(await asked(kit, `/svc/${root}/gone/deeper`)).toEqual([404, 'Not Found']);
    expect(await asked(kit, `/svc/${root}/lost`)).toEqual([404, 'Not Found']);
    expect(await asked(kit, `/svc/${root}/here`)).toEqual([200, 'hello']);
    expect(await asked(kit, `/pins/${root}`, { method: 'POST' })).toEqual([404, 'pin collection failed']);
    expectNothingLeft(kit);
  });

  test('with an oversized node is not read', async () => {
    const huge = makeCac(2n ** 40n, new Uint8Array(64).fill(1));
    const kit = await holding(huge);
    expect(await asked(kit, `/svc/${toHex(huge.address)}/a`)).toEqual([404, 'Not Found']);
  });

  test('that names a feed which points back to the manifest is followed once', async () => {
    const topic = '22'.repeat(32);
    const feed = {
      'swarm-feed-owner': toHex(OWNER.address),
      'swarm-feed-topic': topic,
      'swarm-feed-type': 'Sequence',
    };
    const manifest = loop((self) => [fork('/', self, feed)]);
    expect(await asked(await holding(manifest), `/svc/${toHex(manifest.address)}/`)).toEqual([
      404,
      'no update found',
    ]);
  });
});

describe('a history', () => {
  const publisher = toHex(createSigner(new Uint8Array(32).fill(0x77)).publicKey);

  test.each([
    ['without an entry', (self: Uint8Array) => [fork('1', self), fork('2', self)]],
    ['through its times', (self: Uint8Array) => [fork('9223372035', self), fork('9', self)]],
    ['by names that are no times', (self: Uint8Array) => [fork('a', self)]],
  ])(
    'that leads back into itself %s is not a history, and is read only a few times',
    async (_what, forks) => {
      const history = loop(forks);
      const kit = await holding(history);
      let reads = 0;
      const stored = new Map(kit.knobs.network);
      kit.knobs.network.get = (key) => {
        reads += 1;
        return stored.get(key);
      };
      const address = toHex(history.address);
      const headers = {
        'svc-act-publisher': publisher,
        'svc-act-history-address': address,
        'svc-cache': 'false',
      };
      const [status] = await asked(kit, `/bytes/${'ab'.repeat(32)}`, { headers });
      expect([400, 404, 500]).toContain(status);
      expect(reads).toBeLessThan(64);
      const change = { ...UPLOAD, 'svc-act': 'true', 'svc-act-history-address': address };
      const [refused] = await asked(kit, '/bytes', { method: 'POST', headers: change, payload: 'x' });
      expect([400, 404, 500]).toContain(refused);
      expectNothingLeft(kit);
    },
  );
});

describe('a list of grantees', () => {
  const keys = (count: number, from = 0) =>
    Array.from({ length: count }, (_, i) => {
      const key = new Uint8Array(32);
      new DataView(key.buffer).setUint32(28, from + i + 1);
      return toHex(createSigner(key).publicKey);
    });

  test('with an oversized list is refused as a whole', async () => {
    const kit = await startKit();
    const [key] = keys(1);
    const payload = JSON.stringify({ grantees: Array.from({ length: 8193 }, () => key) });
    const refused = await asked(kit, '/grantee', { method: 'POST', headers: UPLOAD, payload });
    expect(refused).toEqual([400, 'invalid grantee list']);
    expectNothingLeft(kit);
  });

  test('that grows beyond its bound is refused, and stays unchanged', async () => {
    const kit = await startKit();
    const all = keys(8193);
    const payload = JSON.stringify({ grantees: all.slice(0, 8192) });
    const made = await kit.api.main.post('/grantee', payload, UPLOAD);
    expect(made.statusCode).toBe(201);
    const { ref, historyref } = made.json();
    const headers = { ...UPLOAD, 'svc-act-history-address': historyref };
    const patch = (body: unknown) =>
      asked(kit, `/grantee/${ref}`, { method: 'PATCH', headers, payload: JSON.stringify(body) });
    kit.knobs.nowMs += 1000;
    expect(await patch({ add: all.slice(8192) })).toEqual([500, 'failed to create or update grantee list']);
    const listed = await kit.api.main.get(`/grantee/${ref}`);
    expect(listed.json()).toEqual(all.slice(0, 8192));
    expect(open(kit.knobs)).toEqual([]);
  });

  test('in an oversized body is refused unread', async () => {
    const kit = await startKit();
    const payload = `{"grantees":["${'a'.repeat(2 * 1024 * 1024)}"]}`;
    expect((await asked(kit, '/grantee', { method: 'POST', headers: UPLOAD, payload }))[0]).toBe(413);
  });
});

describe('an archive', () => {
  const TAR = { ...UPLOAD, 'content-type': 'application/x-tar', 'svc-collection': 'true' };
  const file = (name: string, more: { type?: string; prefix?: string } = {}) =>
    Buffer.concat([tarHeader({ name, size: '00000000005\0', ...more }), tarBody('hello')]);
  const good = file('good.txt');

  test.each([
    ['leads out', file('../x')],
    ['leads out behind a way in', file('a/../../x')],
    ['is absolute', file('/etc/passwd')],
    ['is nothing but the way out', file('..')],
    ['leads out by its prefix', file('x', { prefix: '../..' })],
    ['is empty', file('')],
  ])('with a path that %s is refused, including the files before it', async (_what, bad) => {
    const kit = await startKit();
    const payload = Buffer.concat([good, bad, TAR_END]);
    const refused = await asked(kit, '/svc', { method: 'POST', headers: TAR, payload });
    expect(refused).toEqual([400, 'invalid filename in tar archive']);
    expectNothingLeft(kit);
    expect(kit.services.store.tags.get(1)).toMatchObject({ split: 0, sent: 0, synced: 0 });
  });

  test('with an oversized path is refused', async () => {
    const kit = await startKit();
    const name = `${'d/'.repeat(2100)}x`;
    const long = Buffer.concat([
      tarHeader({ name: '././@LongLink', size: `${name.length.toString(8).padStart(11, '0')}\0`, type: 'L' }),
      tarBody(name),
    ]);
    const payload = Buffer.concat([good, long, good, TAR_END]);
    const [status] = await asked(kit, '/svc', { method: 'POST', headers: TAR, payload });
    expect(status).toBe(400);
    expectNothingLeft(kit);
  });

  test.each([
    ['symbolic link', '2'],
    ['character device', '3'],
    ['block device', '4'],
    ['directory', '5'],
    ['pipe', '6'],
  ])('with a %s has its files stored, without that entry', async (_what, type) => {
    const kit = await startKit();
    const special = tarHeader({ name: 'special', size: '00000000000\0', type });
    const payload = Buffer.concat([special, good, TAR_END]);
    const answer = await kit.api.main.post('/svc', payload, TAR);
    expect(answer.statusCode).toBe(201);
    const root = `/svc/${answer.json().reference}`;
    expect(await asked(kit, `${root}/good.txt`)).toEqual([200, 'hello']);
    expect((await asked(kit, `${root}/special`))[0]).toBe(404);
  });

  test.each([
    ['8 GiB', '77777777777\0', {}],
    ['8 EiB', Buffer.from('800000007fffffffffffffff', 'hex'), {}],
    ['more than it has, in pieces of unknown number', '77777777777\0', { 'transfer-encoding': 'chunked' }],
  ])('with a header that claims a file of %s is refused as wrong', async (_what, size, more) => {
    const kit = await startKit();
    const payload = Buffer.concat([good, tarHeader({ name: 'huge', size }), tarBody('hello'), TAR_END]);
    const refused = await asked(kit, '/svc', { method: 'POST', headers: { ...TAR, ...more }, payload });
    expect(refused).toEqual([400, 'invalid filename in tar archive']);
    expectNothingLeft(kit);
  });

  test('of many small files yields turns to other work', async () => {
    const kit = await startKit();
    const turn = vi.spyOn(kit.services.clock, 'turn');
    const files = Array.from({ length: 200 }, (_, i) => file(`f${i}`));
    const payload = Buffer.concat([...files, TAR_END]);
    const answer = await kit.api.main.post('/svc', payload, TAR);
    expect(answer.statusCode).toBe(201);
    // 200 files and at least as many nodes, eight in a turn.
    expect(turn.mock.calls.length).toBeGreaterThanOrEqual(400 / 8 - 2);
    turn.mockRestore();
  });

  test('that ends in the middle of a file is refused, and nothing of it stays', async () => {
    const kit = await startKit();
    const payload = Buffer.concat([good, file('cut').subarray(0, 512 + 3)]);
    const refused = await asked(kit, '/svc', { method: 'POST', headers: TAR, payload });
    expect(refused).toEqual([400, 'invalid tar archive']);
    expectNothingLeft(kit);
  });

  test('of parts needs no lengths, neither for the body nor for the parts', async () => {
    const kit = await startKit();
    const part = { headers: ['Content-Disposition: form-data; name="d/a.txt"'], content: 'hello' };
    const answer = await kit.api.main.post('/svc', Buffer.from(multipartOf('cut', [part])), {
      ...UPLOAD,
      'content-type': 'multipart/form-data; boundary=cut',
      'transfer-encoding': 'chunked',
    });
    expect(answer.statusCode).toBe(201);
    expect(await asked(kit, `/svc/${answer.json().reference}/d/a.txt`)).toEqual([200, 'hello']);
  });

  test.each([
    ['leads out', 'name="../x"'],
    ['is absolute', 'name="/x"'],
    ['holds a zero byte', 'name="a\0b"'],
    ['is longer than any', `name="${'d/'.repeat(2100)}x"`],
    ['is missing', 'size=3'],
  ])('of parts with a name that %s is refused and leaves nothing', async (_what, disposition) => {
    const kit = await startKit();
    const parts = [{ headers: [`Content-Disposition: form-data; ${disposition}`], content: 'hello' }];
    const [status] = await asked(kit, '/svc', {
      method: 'POST',
      headers: { ...UPLOAD, 'content-type': 'multipart/form-data; boundary=cut' },
      payload: Buffer.from(multipartOf('cut', parts)),
    });
    expect([400, 500]).toContain(status);
    expectNothingLeft(kit);
  });
});
