import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { split } from '../../../node/files/splitter.ts';
import { ChunkMap, inParts } from '../files/chunk-map.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';
import { socOf } from './soc-kit.ts';

const PAID = { 'svc-postage-batch-id': BATCH };
const ACKNOWLEDGED = { code: 200, message: 'OK' };
const STRANGE = 'ee'.repeat(32);

const chunk = (text: string): Chunk => makeCac(BigInt(text.length), Buffer.from(text));

async function answerOf({ api }: Kit, method: 'GET' | 'POST' | 'DELETE', url: string): Promise<unknown[]> {
  const answer = await api.main.inject({ method, url });
  return [answer.statusCode, answer.json()];
}

async function withFile(length = 5 * 4096): Promise<{ kit: Kit; reference: string; store: ChunkMap }> {
  const kit = await startKit();
  const store = new ChunkMap();
  const bytes = Buffer.alloc(length).map((_, i) => i >> 12);
  const { reference } = await split(inParts(bytes, 4096), store);
  for (const [address, each] of store.chunks) kit.knobs.network.set(address, each);
  return { kit, reference: toHex(reference), store };
}

describe('POST /pins/{reference}', () => {
  test('fetches and keeps every chunk: 201, and 200 the second time', async () => {
    const { kit, reference, store } = await withFile();
    expect(await answerOf(kit, 'POST', `/pins/${reference}`)).toEqual([
      201,
      { code: 201, message: 'Created' },
    ]);
    kit.knobs.network.clear();
    expect(await answerOf(kit, 'POST', `/pins/${reference}`)).toEqual([200, ACKNOWLEDGED]);
    for (const each of store.chunks.values()) expect(kit.services.store.chunks.has(each.address)).toBe(true);
    expect(kit.services.store.pins.totals()).toEqual({ collections: 1, chunks: 6 });
  });

  test('of content that no node has in full is 404, and keeps nothing', async () => {
    const { kit, reference, store } = await withFile();
    kit.knobs.network.delete([...store.chunks.keys()][2]!);
    expect(await answerOf(kit, 'POST', `/pins/${reference}`)).toEqual([
      404,
      { code: 404, message: 'pin collection failed' },
    ]);
    expect(await answerOf(kit, 'GET', '/pins')).toEqual([200, { references: [] }]);
    const inCache = kit.services.store.cache.size();
    expect((await kit.services.store.chunkTotals()).references).toBe(inCache);
  });

  test.each([
    ['abcd', 500, 'pin collection failed'],
    [STRANGE, 404, 'pin collection failed'],
  ])('of %s is %i', async (reference, code, message) => {
    expect(await answerOf(await startKit({ dialect: 'swarm' }), 'POST', `/pins/${reference}`)).toEqual([
      code,
      { code, message },
    ]);
  });

  test('of a reference of another length is refused', async () => {
    expect(await answerOf(await startKit(), 'POST', '/pins/00')).toEqual([
      400,
      { code: 400, message: 'invalid path params', reasons: ['reference: want len:32 or 64'] },
    ]);
  });

  test('of an invalid reference is refused', async () => {
    expect(await answerOf(await startKit(), 'POST', '/pins/xyz')).toEqual([
      400,
      { code: 400, message: 'invalid path params', reasons: ["reference: invalid hex byte: U+0078 'x'"] },
    ]);
  });

  test.each([
    ['pin has', 'pin root hash: checking of tracking pin failed'],
    ['pin', 'pin collection failed'],
  ])('with a broken store (%s)', async (failing, message) => {
    const { kit, reference } = await withFile(10);
    kit.knobs.failing.add(failing);
    expect(await answerOf(kit, 'POST', `/pins/${reference}`)).toEqual([500, { code: 500, message }]);
  });
});

describe('a pinned root', () => {
  test('can be read, listed and unpinned, once', async () => {
    const { kit, reference } = await withFile();
    await answerOf(kit, 'POST', `/pins/${reference}`);
    expect(await answerOf(kit, 'GET', `/pins/${reference}`)).toEqual([200, { reference }]);
    expect(await answerOf(kit, 'GET', '/pins')).toEqual([200, { references: [reference] }]);
    expect(await answerOf(kit, 'DELETE', `/pins/${reference}`)).toEqual([200, ACKNOWLEDGED]);
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await answerOf(kit, method, `/pins/${reference}`)).toEqual([
        404,
        { code: 404, message: 'Not Found' },
      ]);
    }
  });

  test.each([
    ['GET', `/pins/${STRANGE}`, 'pin has', 'pinned root hash: check reference failed'],
    ['GET', '/pins', 'pin list', 'list pinned root references failed'],
    ['DELETE', `/pins/${STRANGE}`, 'pin has', 'pin root hash: checking of tracking pin'],
  ] as const)('%s %s with a broken store', async (method, url, failing, message) => {
    const kit = await startKit();
    kit.knobs.failing.add(failing);
    expect(await answerOf(kit, method, url)).toEqual([500, { code: 500, message }]);
  });

  test('that cannot be removed', async () => {
    const { kit, reference } = await withFile(10);
    await answerOf(kit, 'POST', `/pins/${reference}`);
    kit.knobs.failing.add('pin remove');
    const body = { code: 500, message: 'unpin root hash: deletion of pin failed' };
    expect(await answerOf(kit, 'DELETE', `/pins/${reference}`)).toEqual([500, body]);
  });

  test('counts in the store', async () => {
    const { kit, reference } = await withFile();
    await answerOf(kit, 'POST', `/pins/${reference}`);
    const { Pinning } = (await kit.api.debug.get('/debugstore')).json();
    expect(Pinning).toEqual({ TotalCollections: 1, TotalChunks: 6 });
  });
});

describe('GET /pins/check', () => {
  /** More than one page of roots, the first with a chunk whose bytes are wrong. */
  async function pinned(dialect: 'svc' | 'swarm', count: number): Promise<Kit> {
    const kit = await startKit({ dialect });
    for (let i = 0; i < count; i++) {
      const session = kit.services.store.pins.openSession();
      const address = new Uint8Array(32).fill(1);
      if (i === 0) await session.put({ ...chunk('wrong'), address, identity: address });
      await session.put(chunk(`${i}`));
      const root = Buffer.alloc(32, 1);
      root.writeUInt32BE(i);
      await session.done(root);
    }
    return kit;
  }

  test('svc: one array, with a record for every root', async () => {
    const { api } = await pinned('svc', 300);
    const answer = await api.main.get('/pins/check');
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const records = answer.json<Record<string, unknown>[]>();
    expect(records).toHaveLength(300);
    expect(records.slice(0, 2)).toEqual([
      { reference: `00000000${'01'.repeat(28)}`, total: 2, missing: 0, invalid: 1 },
      { reference: `00000001${'01'.repeat(28)}`, total: 1, missing: 0, invalid: 0 },
    ]);
  });

  test('swarm: one record per line', async () => {
    const { api } = await pinned('swarm', 3);
    const lines = (await api.main.get('/pins/check')).body.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { total: number }).total)).toEqual([2, 1, 1]);
  });

  test.each([
    ['svc', '[]'],
    ['swarm', ''],
  ] as const)('%s: without pins %j', async (dialect, body) => {
    const { api } = await startKit({ dialect });
    const answer = await api.main.get('/pins/check');
    expect([answer.statusCode, answer.body.trim()]).toEqual([200, body]);
  });

  test('of one root is its record, of an unpinned one a record of zeros', async () => {
    const { api } = await pinned('svc', 3);
    const reference = `00000002${'01'.repeat(28)}`;
    const one = await api.main.get(`/pins/check?ref=${reference}`);
    expect(one.json()).toEqual([{ reference, total: 1, missing: 0, invalid: 0 }]);
    const none = await api.main.get(`/pins/check?ref=${STRANGE}`);
    expect(none.json()).toEqual([{ reference: STRANGE, total: 0, missing: 0, invalid: 0 }]);
    const bad = await api.main.get('/pins/check?ref=x');
    expect([bad.statusCode, bad.json().reasons]).toEqual([400, ["ref: invalid hex byte: U+0078 'x'"]]);
  });
});

describe('uploads that are pinned', () => {
  const SOC = socOf('a single owner');
  const UPLOADS = [
    ['/bytes', {}, Buffer.alloc(3 * 4096, 7)],
    ['/bytes', { 'svc-encrypt': 'true' }, Buffer.alloc(3 * 4096, 7)],
    ['/bytes', { 'svc-redundancy-level': '2' }, Buffer.alloc(3 * 4096, 7)],
    ['/svc?name=x', { 'content-type': 'text/plain' }, Buffer.from('x')],
    [SOC.url, {}, SOC.wrapped],
    [`/feeds/${'ab'.repeat(20)}/${'cd'.repeat(32)}`, {}, Buffer.alloc(0)],
  ] as const;

  test.each(UPLOADS)('%s %j stays on the node when it is pushed', async (url, headers, payload) => {
    for (const deferred of ['true', 'false']) {
      const kit = await startKit();
      const answer = await kit.api.main.post(url, Buffer.from(payload), {
        ...PAID,
        ...headers,
        'svc-pin': 'true',
        'svc-deferred-upload': deferred,
      });
      const { reference } = answer.json<{ reference: string }>();
      expect(answer.statusCode).toBe(201);
      expect(await answerOf(kit, 'GET', `/pins/${reference}`)).toEqual([200, { reference }]);
      const { uploads, pins } = kit.services.store;
      const waiting = uploads.pending(0, 1000);
      expect(pins.totals()).toEqual({ collections: 1, chunks: waiting.length });
      expect(kit.knobs.pushed).toEqual([]);
      for (const push of waiting) await uploads.report(push, 'synced');
      for (const { chunk: each } of waiting) expect(kit.services.store.chunks.has(each.address)).toBe(true);
      const check = await kit.api.main.get(`/pins/check?ref=${reference}`);
      expect(check.json()).toEqual([{ reference, total: waiting.length, missing: 0, invalid: 0 }]);
    }
  });

  test('outside a deferred session also have a tag', async () => {
    const kit = await startKit();
    const headers = { ...PAID, 'svc-pin': 'true', 'svc-deferred-upload': 'false' };
    const answer = await kit.api.main.post('/bytes', 'x', headers);
    expect(answer.headers['svc-tag']).toBe('1');
    const strange = { ...headers, 'svc-tag': '7' };
    const refused = await kit.api.main.post('/bytes', 'x', strange);
    expect(refused.json()).toEqual({ code: 404, message: 'tag not found' });
  });

  test('that fail pin nothing', async () => {
    const kit = await startKit();
    kit.knobs.doneError = new Error('disk full');
    const headers = { ...PAID, 'svc-pin': 'true' };
    const answer = await kit.api.main.post('/bytes', 'x', headers);
    expect(answer.json()).toEqual({ code: 500, message: 'done split failed' });
    expect(await answerOf(kit, 'GET', '/pins')).toEqual([200, { references: [] }]);
    expect(await kit.services.store.chunkTotals()).toEqual({ chunks: 0, shared: 0, references: 0 });
  });

  test('a second time leave the first pin unchanged', async () => {
    const kit = await startKit();
    const headers = { ...PAID, 'svc-pin': 'true' };
    for (let i = 0; i < 2; i++) {
      const answer = await kit.api.main.post('/bytes', 'x', headers);
      expect(answer.statusCode).toBe(201);
    }
    expect(kit.services.store.pins.totals()).toEqual({ collections: 1, chunks: 1 });
  });
});
