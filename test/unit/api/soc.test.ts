import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { ChunkPutter } from '../../../formats/chunk/chunk.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { split } from '../../../node/files/splitter.ts';
import vectors from '../../vectors/soc.json' with { type: 'json' };
import { payloadOf } from '../formats/crypto/payload.ts';
import { BATCH, NO_BATCH, stampOf, YOUNG_BATCH_ID } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';
import { OWNER, socOf } from './soc-kit.ts';

const PAID = { 'svc-postage-batch-id': BATCH };
const soc = socOf('hello');
const owner = toHex(OWNER.address);
const readUrl = `/soc/${owner}/${soc.id}`;
const reference = toHex(soc.chunk.address);

function post(kit: Kit, request: { url?: string; headers?: Record<string, string>; payload?: Buffer } = {}) {
  const { url = soc.url, headers = PAID, payload = soc.wrapped } = request;
  return kit.api.main.post(url, payload, headers);
}

function url(parts: { owner?: string; id?: string; sig?: string }): string {
  return `/soc/${parts.owner ?? owner}/${parts.id ?? soc.id}?sig=${parts.sig ?? soc.signature}`;
}

describe('POST /soc/{owner}/{id}', () => {
  const made = vectors.cases.filter(({ input }) => input !== undefined && 'privateKey' in input);
  test.each(made)('$name', async ({ input, expected }) => {
    const { id = '', wrapped = {} } = input as { id?: string; wrapped?: object };
    const payload = payloadOf(wrapped);
    const known = expected as { owner: string; signature: string; address: string };
    const kit = await startKit();
    const answer = await post(kit, {
      url: url({ owner: known.owner, id, sig: known.signature }),
      payload: Buffer.from(makeCac(BigInt(payload.length), payload).data),
    });
    expect([answer.statusCode, answer.json()]).toEqual([201, { reference: known.address }]);
    expect(toHex(kit.knobs.pushed[0]?.chunk.address ?? new Uint8Array(0))).toBe(known.address);
  });

  test('without a tag the chunk is pushed at once and no tag is returned', async () => {
    const kit = await startKit();
    const answer = await post(kit);
    expect(answer.json()).toEqual({ reference });
    expect(answer.headers['svc-tag']).toBeUndefined();
    expect(kit.knobs.pushed.map(({ chunk }) => chunk.kind)).toEqual(['soc']);
    expect(kit.knobs.sessions).toEqual([]);
  });

  test('with a tag the chunk is stored under it and pushed later', async () => {
    const kit = await startKit();
    const { uid } = await kit.services.store.tags.create();
    const answer = await post(kit, { headers: { ...PAID, 'svc-tag': String(uid) } });
    expect([answer.statusCode, answer.headers['svc-tag']]).toEqual([201, String(uid)]);
    expect(kit.services.store.chunks.has(soc.chunk.address)).toBe(true);
    expect(kit.knobs.pushed).toEqual([]);
  });

  test('the header decides how it is uploaded, with or without a tag', async () => {
    const kit = await startKit();
    const deferred = await post(kit, { headers: { ...PAID, 'svc-deferred-upload': 'true' } });
    expect([deferred.statusCode, deferred.headers['svc-tag']]).toEqual([201, '1']);
    expect(kit.knobs.pushed).toEqual([]);
    const direct = await post(kit, { headers: { ...PAID, 'svc-tag': '1', 'svc-deferred-upload': 'false' } });
    expect([direct.statusCode, direct.headers['svc-tag']]).toEqual([201, undefined]);
    expect(kit.knobs.pushed).toHaveLength(1);
  });

  test('a stamp made by the client replaces the batch, and takes precedence over it', async () => {
    const kit = await startKit();
    const headers = { 'svc-postage-stamp': stampOf(1), 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) };
    expect((await post(kit, { headers })).statusCode).toBe(201);
    expect(kit.knobs.pushed.map(({ batchId }) => batchId)).toEqual([BATCH]);
  });

  test.each([
    [{}, 400, "Either 'Svc-Postage-Stamp' or 'Svc-Postage-Batch-Id' header must be set in the request"],
    [{ 'svc-postage-stamp': 'abcd' }, 400, 'Stamp deserialization failure'],
    [{ 'svc-postage-stamp': stampOf(1, new Uint8Array(32)) }, 400, 'invalid batch id'],
    [{ 'svc-postage-stamp': stampOf(2) }, 400, 'chunk write error'],
    [{ 'svc-postage-batch-id': NO_BATCH }, 404, 'batch with id not found'],
    [{ 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) }, 422, 'batch not usable yet or does not exist'],
    [{ ...PAID, 'svc-tag': '7' }, 404, 'tag not found'],
  ] as [Record<string, string>, number, string][])('%j: %i %s', async (headers, code, message) => {
    expect((await post(await startKit(), { headers })).json()).toEqual({ code, message });
  });

  test('the same in the words of the other dialect', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    expect((await post(kit, { headers: {} })).json().message).toBe(
      "Either 'Swarm-Postage-Stamp' or 'Swarm-Postage-Batch-Id' header must be set in the request",
    );
    const { uid } = await kit.services.store.tags.create();
    const headers = { 'swarm-postage-batch-id': BATCH, 'swarm-tag': String(uid) };
    const answer = await post(kit, { headers });
    expect([answer.statusCode, answer.headers['swarm-tag']]).toEqual([201, String(uid)]);
    const unsigned = await post(kit, { url: readUrl });
    expect(unsigned.json().reasons).toEqual([{ field: 'sig', error: 'want required:' }]);
  });

  test.each([
    ['another owner', url({ owner: '11'.repeat(20) }), 401, 'invalid chunk'],
    ['an owner of 19 bytes', url({ owner: '11'.repeat(19) }), 401, 'invalid address'],
    ['an owner of 21 bytes', url({ owner: '11'.repeat(21) }), 401, 'invalid address'],
    ['another id', url({ id: '22'.repeat(32) }), 401, 'invalid chunk'],
    ['an id of 31 bytes', url({ id: '01'.repeat(31) }), 401, 'invalid chunk'],
    ['a signature of another', url({ sig: `${'11'.repeat(64)}1b` }), 401, 'invalid chunk'],
    ['a signature of 64 bytes', url({ sig: '11'.repeat(64) }), 401, 'invalid chunk'],
    ['no signature', readUrl, 400, 'invalid query params'],
    ['a signature that is no hex', url({ sig: 'zz' }), 400, 'invalid query params'],
    ['an owner that is no hex', url({ owner: 'zz' }), 400, 'invalid path params'],
    ['an id that is no hex', url({ id: 'abc' }), 400, 'invalid path params'],
  ])('%s: %s', async (_what, wrong, code, message) => {
    const kit = await startKit();
    expect((await post(kit, { url: wrong })).json()).toMatchObject({ code, message });
    expect(kit.knobs.pushed).toEqual([]);
  });

  test('a replica whose id is not bound to what it wraps is refused', async () => {
    const vector = vectors.cases.find(({ name }) => name.startsWith('invalid dispersed replica'));
    const { chunkData = '' } = (vector?.input ?? {}) as { chunkData?: string };
    const data = fromHex(chunkData);
    const replica = url({
      owner: 'dc5b20847f43d67928f49cd4f85d696b5a7617b5',
      id: toHex(data.subarray(0, 32)),
      sig: toHex(data.subarray(32, 97)),
    });
    const answer = await post(await startKit(), { url: replica, payload: Buffer.from(data.subarray(97)) });
    expect(answer.json()).toEqual({ code: 401, message: 'invalid chunk' });
  });

  test.each([
    [0, 400, 'short chunk data'],
    [7, 400, 'short chunk data'],
    [8, 401, 'invalid chunk'],
    [4104, 401, 'invalid chunk'],
    [4105, 413, 'Request Entity Too Large'],
  ])('a body of %i bytes: %i %s', async (size, code, message) => {
    const answer = await post(await startKit(), { payload: Buffer.alloc(size) });
    expect(answer.json()).toEqual({ code, message });
  });

  test('a body of unknown length is cut off at its limit', async () => {
    const kit = await startKit();
    const payload = Readable.from([Buffer.alloc(4000), Buffer.alloc(4000)]);
    const answer = await kit.api.main.post(soc.url, payload, PAID);
    expect(answer.statusCode).toBe(413);
  });

  test('a full bucket answers 402; a failing store 400, a failing push 500, and nothing is left', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 0;
    expect((await post(kit)).json()).toEqual({ code: 402, message: 'batch is overissued' });
    kit.knobs.stampsLeft = 10;
    kit.knobs.putError = new Error('disk full');
    const deferred = { headers: { ...PAID, 'svc-deferred-upload': 'true' } };
    expect((await post(kit, deferred)).json()).toEqual({ code: 400, message: 'chunk write error' });
    expect(kit.knobs.sessions.map(({ state }) => state)).toEqual(['cleaned']);
    kit.knobs.pushError = new Error('refused');
    expect((await post(kit)).json()).toEqual({ code: 500, message: 'done split failed' });
  });
});

test('an update that the cache hides is read without the cache', async () => {
  const kit = await startKit();
  const [older, newer] = [socOf('older'), socOf('newer')];
  const address = toHex(older.chunk.address);
  const read = async (cache: string) => {
    const url = older.url.replace(/\?.*/, '');
    return (await kit.api.main.get(url, { 'svc-cache': cache })).body;
  };
  kit.knobs.network.set(address, older.chunk);
  expect(await read('true')).toBe('older');
  kit.knobs.network.set(address, newer.chunk);
  expect([await read('true'), await read('false')]).toEqual(['older', 'newer']);
  kit.knobs.network.delete(address);
  expect(await read('false')).toBe('older');
});

describe('GET /soc/{owner}/{id}', () => {
  async function holding(dialect: 'svc' | 'swarm' = 'svc'): Promise<Kit> {
    const kit = await startKit({ dialect });
    kit.knobs.network.set(reference, soc.chunk);
    return kit;
  }

  test.each(['svc', 'swarm'] as const)(
    'returns the content, its signature, its ETag (%s)',
    async (dialect) => {
      const { api } = await holding(dialect);
      const answer = await api.main.get(readUrl);
      expect([answer.statusCode, answer.body]).toEqual([200, 'hello']);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': '5',
        'accept-ranges': 'bytes',
        etag: `"${toHex(makeCac(5n, Buffer.from('hello')).address)}"`,
        [`${dialect}-soc-signature`]: soc.signature,
        'access-control-expose-headers': [`${dialect}-soc-signature`, 'content-disposition'],
      });
    },
  );

  test('with only-root-chunk returns span and payload of the wrapped chunk, whatever the range', async () => {
    const { api } = await holding();
    const headers = { 'svc-only-root-chunk': 'true', range: 'bytes=0-0' };
    const answer = await api.main.get(readUrl, headers);
    expect([answer.statusCode, answer.rawPayload]).toEqual([200, soc.wrapped]);
    expect(answer.headers['content-length']).toBe('13');
    expect(answer.headers['svc-soc-signature']).toBe(soc.signature);
    expect([answer.headers.etag, answer.headers['accept-ranges']]).toEqual([undefined, undefined]);
  });

  test('a wrapped chunk that is the root of a longer file is joined', async () => {
    const kit = await startKit();
    const data = Buffer.alloc(10_000, 'a line of text ');
    const chunks: Parameters<ChunkPutter['put']>[0][] = [];
    const put = async (chunk: (typeof chunks)[number]) => void chunks.push(chunk);
    await split(Readable.from([data]), { put });
    const root = chunks.pop();
    if (root === undefined) throw new Error('there is no root');
    for (const chunk of chunks) kit.knobs.network.set(toHex(chunk.address), chunk);
    const long = socOf(root);
    kit.knobs.network.set(toHex(long.chunk.address), long.chunk);
    const answer = await kit.api.main.get(readUrl, { range: 'bytes=4090-4105' });
    expect([answer.statusCode, answer.body]).toEqual([206, data.toString().slice(4090, 4106)]);
  });

  test.each([
    [{ range: 'bytes=1-2' }, 206, 'el'],
    [{ 'if-none-match': `"${toHex(makeCac(5n, Buffer.from('hello')).address)}"` }, 304, ''],
    [{ 'if-match': '"other"' }, 412, ''],
    [{ range: 'bytes=5-' }, 416, 'invalid range: failed to overlap\n'],
  ])('%j: %i', async (headers: Record<string, string>, status, body) => {
    const answer = await (await holding()).api.main.get(readUrl, headers);
    expect([answer.statusCode, answer.body]).toEqual([status, body]);
  });

  test('no node has it, or no node could be asked: 404', async () => {
    const kit = await startKit();
    const missing = { code: 404, message: 'requested chunk cannot be retrieved' };
    expect((await kit.api.main.get(readUrl)).json()).toEqual(missing);
    kit.knobs.networkError = () => new Error('no peer');
    expect((await kit.api.main.get(readUrl)).json()).toEqual(missing);
  });

  test('a chunk without an owner at the address is 500', async () => {
    const kit = await startKit();
    kit.knobs.network.set(reference, { ...makeCac(1n, Buffer.from('x')), address: soc.chunk.address });
    expect((await kit.api.main.get(readUrl)).json()).toEqual({
      code: 500,
      message: 'chunk is not a single owner chunk',
    });
  });

  test('a bad time limit is refused, and so is an empty id', async () => {
    const { api } = await holding();
    const headers = { 'svc-chunk-retrieval-timeout': 'soon' };
    expect((await api.main.get(readUrl, headers)).json()).toEqual({
      code: 400,
      message: 'could not parse headers',
    });
    expect((await api.main.get(`/soc/${owner}/`)).statusCode).toBe(404);
  });
});
