import { describe, expect, test } from 'vitest';
import { cacAddress, makeCac } from '../../../formats/chunk/cac.ts';
import { socAddress } from '../../../formats/chunk/soc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { BATCH, NO_BATCH, stampOf, YOUNG_BATCH_ID } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const chunk = makeCac(5n, Buffer.from('hello'));

function post(kit: Kit, headers: Record<string, string>, payload: Uint8Array = chunk.data) {
  return kit.api.main.post('/chunks', Buffer.from(payload), headers);
}

function soc(payloadSize: number) {
  const signer = createSigner(new Uint8Array(32).fill(9));
  const wrapped = makeCac(BigInt(payloadSize), new Uint8Array(payloadSize).fill(3)).data;
  const id = new Uint8Array(32).fill(1);
  const signature = signer.sign(keccak256(id, cacAddress(wrapped)));
  return { address: toHex(socAddress(id, signer.address)), data: Buffer.concat([id, signature, wrapped]) };
}

describe('POST /chunks', () => {
  test('without a tag the chunk is pushed at once and no tag is returned', async () => {
    const kit = await startKit();
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH });
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual({ reference: toHex(chunk.address) });
    expect(answer.headers['svc-tag']).toBeUndefined();
    expect(kit.knobs.pushed.map((push) => toHex(push.chunk.address))).toEqual([toHex(chunk.address)]);
  });

  test('with a tag the chunk is stored under it and the tag is returned', async () => {
    const kit = await startKit();
    const { uid } = await kit.services.store.tags.create();
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH, 'svc-tag': String(uid) });
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['svc-tag']).toBe(String(uid));
    expect(answer.headers['access-control-expose-headers']).toBe('svc-tag');
    expect(kit.services.store.chunks.has(chunk.address)).toBe(true);
    expect(kit.services.store.tags.get(uid)).toMatchObject({ split: 1, address: new Uint8Array() });
    expect(kit.knobs.pushed).toEqual([]);
  });

  test('a ready stamp replaces the batch, and takes precedence over it', async () => {
    const kit = await startKit();
    const headers = { 'svc-postage-stamp': stampOf(1), 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) };
    expect((await post(kit, headers)).statusCode).toBe(201);
    expect(kit.knobs.pushed.map(({ batchId }) => batchId)).toEqual([BATCH]);
  });

  test.each([4000, 4096])(
    'a body of 4105 bytes and more is a single-owner chunk (payload %i)',
    async (size) => {
      const kit = await startKit();
      const { address, data } = soc(size);
      const answer = await post(kit, { 'svc-postage-batch-id': BATCH }, data);
      expect(answer.json()).toEqual({ reference: address });
      expect(kit.knobs.pushed[0]?.chunk.kind).toBe('soc');
    },
  );

  test('a shorter single-owner chunk is treated as a content-addressed one', async () => {
    const { address, data } = soc(100);
    const answer = await post(await startKit(), { 'svc-postage-batch-id': BATCH }, data);
    expect(answer.statusCode).toBe(201);
    expect(answer.json().reference).not.toBe(address);
  });

  test.each([
    [{ 'svc-tag': '7' }, 404, 'tag not found'],
    [{}, 400, "Either 'Svc-Postage-Stamp' or 'Svc-Postage-Batch-Id' header must be set in the request"],
    [{ 'svc-postage-stamp': 'abcd' }, 400, 'Stamp deserialization failure'],
    [{ 'svc-postage-stamp': stampOf(1, new Uint8Array(32)) }, 400, 'invalid batch id'],
    [{ 'svc-postage-stamp': stampOf(2) }, 400, 'stamp signature is invalid'],
    [{ 'svc-postage-batch-id': NO_BATCH }, 404, 'batch with id not found'],
    [{ 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) }, 422, 'batch not usable yet or does not exist'],
  ] as [Record<string, string>, number, string][])('%j: %i %s', async (headers, code, message) => {
    expect((await post(await startKit(), headers)).json()).toEqual({ code, message });
  });

  test.each([
    [0, 400, 'insufficient data length'],
    [7, 400, 'insufficient data length'],
    [4105, 400, 'create chunk error', 'body: invalid recovery byte 0'],
    [4201, 400, 'create chunk error', 'body: invalid recovery byte 0'],
    [4202, 413, 'Request Entity Too Large'],
  ])('a body of %i bytes: %i %s', async (size, code, message, ...reasons) => {
    const answer = await post(await startKit(), { 'svc-postage-batch-id': BATCH }, new Uint8Array(size));
    expect(answer.json()).toEqual({ code, message, ...(reasons.length === 0 ? {} : { reasons }) });
  });

  test('a body of unknown length is cut off at its limit', async () => {
    const { Readable } = await import('node:stream');
    const kit = await startKit();
    const answer = await kit.api.main.post(
      '/chunks',
      Readable.from([Buffer.alloc(4000), Buffer.alloc(4000)]),
      { 'svc-postage-batch-id': BATCH },
    );
    expect(answer.statusCode).toBe(413);
  });

  test.each([8, 9, 4104])('a body of %i bytes is a chunk', async (size) => {
    const answer = await post(await startKit(), { 'svc-postage-batch-id': BATCH }, new Uint8Array(size));
    expect(answer.statusCode).toBe(201);
  });

  test('a full bucket answers 402', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 0;
    expect((await post(kit, { 'svc-postage-batch-id': BATCH })).json()).toEqual({
      code: 402,
      message: 'batch is overissued',
    });
  });

  test('a failing store answers 500, and so does a failing push', async () => {
    const kit = await startKit();
    await kit.services.store.tags.create();
    kit.knobs.putError = new Error('disk full');
    const headers = { 'svc-postage-batch-id': BATCH, 'svc-tag': '1' };
    expect((await post(kit, headers)).json()).toEqual({ code: 500, message: 'chunk write error' });
    kit.knobs.putError = undefined;
    kit.knobs.doneError = new Error('disk full');
    expect((await post(kit, headers)).json()).toEqual({ code: 500, message: 'done split failed' });
    expect(kit.knobs.sessions.map(({ state }) => state)).toEqual(['cleaned', 'cleaned']);
    kit.knobs.pushError = new Error('refused');
    expect((await post(kit, { 'svc-postage-batch-id': BATCH })).json()).toEqual({
      code: 500,
      message: 'done split failed',
    });
  });
});

describe('GET /chunks/{address}', () => {
  test('returns span and payload, without ETag and ranges', async () => {
    const kit = await startKit();
    kit.knobs.network.set(toHex(chunk.address), chunk);
    const answer = await kit.api.main.get(`/chunks/${toHex(chunk.address)}`, { range: 'bytes=0-1' });
    expect(answer.statusCode).toBe(200);
    expect(answer.rawPayload).toEqual(Buffer.from(chunk.data));
    expect(answer.headers['content-type']).toBe('application/octet-stream');
    expect(answer.headers['content-length']).toBe('13');
    expect(answer.headers.etag).toBeUndefined();
    expect(answer.headers['accept-ranges']).toBeUndefined();
  });

  test('headers are checked before the path', async () => {
    const answer = await (await startKit()).api.main.get('/chunks/zz', { 'svc-cache': 'x' });
    expect(answer.json()).toMatchObject({ message: 'invalid header params' });
  });

  test('no node has it: 404; no node could be asked: 500', async () => {
    const { api, knobs } = await startKit();
    const url = `/chunks/${'0'.repeat(64)}`;
    expect((await api.main.get(url)).json()).toEqual({ code: 404, message: 'chunk not found' });
    knobs.networkError = () => new Error('no peer');
    expect((await api.main.get(url)).json()).toEqual({ code: 500, message: 'read chunk failed' });
  });
});

describe('presence of a chunk', () => {
  test('HEAD on the main port and GET on the debug port check only the local store', async () => {
    const kit = await startKit();
    const url = `/chunks/${toHex(chunk.address)}`;
    kit.knobs.network.set(toHex(chunk.address), chunk);
    expect((await kit.api.main.head(url)).statusCode).toBe(404);
    expect((await kit.api.debug.get(url)).json()).toEqual({ code: 404, message: 'Not Found' });
    kit.services.store.cache.put(chunk);
    const head = await kit.api.main.head(url);
    expect([head.statusCode, head.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect((await kit.api.debug.get(url)).json()).toEqual({ code: 200, message: 'OK' });
  });

  test.each([
    ['svc', 400],
    ['swarm', 404],
  ] as const)('%s: an address of another length is %i, one that is no hex is 400', async (dialect, short) => {
    const { api } = await startKit({ dialect });
    for (const address of ['abbbbb', 'ab'.repeat(64)]) {
      const url = `/chunks/${address}`;
      expect((await api.main.get(url)).statusCode).toBe(short);
      expect((await api.main.head(url)).statusCode).toBe(short);
      expect((await api.debug.get(url)).statusCode).toBe(short);
    }
    expect((await api.main.head('/chunks/xx')).statusCode).toBe(400);
    expect((await api.debug.get('/chunks/xx')).statusCode).toBe(400);
  });
});
