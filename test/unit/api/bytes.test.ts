import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { NoRoomError } from '../../../node/protocols/pushsync/rules.ts';
import { BATCH, EXPIRED_BATCH_ID, NO_BATCH, YOUNG_BATCH_ID } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const ZEROS = '0'.repeat(64);
const INVALID_HEADERS = 'invalid header params';

function post(kit: Kit, headers: Record<string, string>, payload: Buffer | string = 'hello') {
  return kit.api.main.post('/bytes', payload, headers);
}

async function stored(payload: Buffer | string): Promise<Kit & { reference: string }> {
  const kit = await startKit();
  const answer = await post(kit, { 'svc-postage-batch-id': BATCH }, payload);
  return { ...kit, reference: answer.json().reference };
}

describe('POST /bytes', () => {
  test.each([0, 1, 4096, 4097, 600_000])('%i bytes are read back as they were', async (size) => {
    const payload = Buffer.alloc(size, 'abcdefg');
    const { api, reference } = await stored(payload);
    const answer = await api.main.get(`/bytes/${reference}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-length']).toBe(String(size));
    expect(answer.rawPayload.equals(payload)).toBe(true);
  });

  test('a deferred upload creates a tag, returns it, and closes its session with the reference', async () => {
    const kit = await startKit();
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH }, Buffer.alloc(10_000, 1));
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['svc-tag']).toBe('1');
    expect(answer.headers['access-control-expose-headers']).toBe('svc-tag');
    const tag = kit.services.store.tags.get(1);
    expect(toHex(tag?.address ?? new Uint8Array())).toBe(answer.json().reference);
    expect(tag?.split).toBe(4);
    expect(kit.knobs.sessions).toEqual([{ tagUid: 1, state: 'done' }]);
    expect(kit.knobs.pushed).toEqual([]);
  });

  test('a tag in the request is used and returned', async () => {
    const kit = await startKit();
    const { uid } = await kit.services.store.tags.create();
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH, 'svc-tag': String(uid) });
    expect(answer.headers['svc-tag']).toBe(String(uid));
    expect(kit.services.store.tags.list(0, 10)).toHaveLength(1);
  });

  test('a direct upload pushes its chunks and has no tag', async () => {
    const kit = await startKit();
    const headers = { 'svc-postage-batch-id': BATCH, 'svc-deferred-upload': 'false', 'svc-tag': '99' };
    const answer = await post(kit, headers, Buffer.alloc(10_000, 1));
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['svc-tag']).toBeUndefined();
    expect(answer.headers['access-control-expose-headers']).toBeUndefined();
    expect(kit.knobs.pushed).toHaveLength(4);
    expect(kit.services.store.tags.list(0, 10)).toEqual([]);
  });

  test('any content type is accepted, even a malformed one', async () => {
    const kit = await startKit();
    for (const type of ['application/json', 'x', 'multipart/form-data', 'text/plain; charset=nonsense']) {
      const answer = await post(kit, { 'svc-postage-batch-id': BATCH, 'content-type': type });
      expect(answer.statusCode, type).toBe(201);
    }
  });

  test.each([
    [{}, ['svc-postage-batch-id: want required:']],
    [{ 'svc-postage-batch-id': '' }, ['svc-postage-batch-id: want required:']],
    [{ 'svc-tag': 'x' }, ['Svc-Tag: invalid syntax']],
    [{ 'svc-tag': '-1' }, ['Svc-Tag: invalid syntax']],
    [{ 'svc-postage-batch-id': 'abc' }, ['Svc-Postage-Batch-Id: odd length hex string']],
    [{ 'svc-postage-batch-id': '0G' }, ["Svc-Postage-Batch-Id: invalid hex byte: U+0047 'G'"]],
    [{ 'svc-pin': 'yes', 'svc-encrypt': '' }, ['Svc-Pin: invalid syntax', 'Svc-Encrypt: invalid syntax']],
    [
      { 'svc-postage-batch-id': BATCH, 'svc-redundancy-level': '5' },
      ['svc-redundancy-level: want redundancy level to be between 0 and 4'],
    ],
    [{ 'svc-redundancy-level': 'x' }, ['Svc-Redundancy-Level: invalid syntax']],
    [{ 'svc-redundancy-level': '256' }, ['Svc-Redundancy-Level: value out of range']],
    [{ 'svc-deferred-upload': 'maybe' }, ['Svc-Deferred-Upload: invalid syntax']],
    [{ 'svc-act-history-address': 'x' }, ["Svc-Act-History-Address: invalid hex byte: U+0078 'x'"]],
  ] as [Record<string, string>, string[]][])('headers %j are refused: %j', async (headers, reasons) => {
    const answer = await post(await startKit(), headers);
    expect(answer.json()).toEqual({ code: 400, message: INVALID_HEADERS, reasons });
  });

  test.each([
    ['svc-encrypt', 'false'],
    ['svc-redundancy-level', '0'],
    ['svc-pin', '0'],
    ['svc-act', 'False'],
  ])('%s %s asks for nothing', async (name, value) => {
    expect((await post(await startKit(), { 'svc-postage-batch-id': BATCH, [name]: value })).statusCode).toBe(
      201,
    );
  });

  test('an expired batch is unknown in the dialect that knows no expired ones', async () => {
    const { api } = await startKit({ dialect: 'swarm' });
    const headers = { 'swarm-postage-batch-id': toHex(EXPIRED_BATCH_ID) };
    const answer = await api.main.post('/bytes', 'x', headers);
    expect(answer.json()).toEqual({ code: 404, message: 'batch with id not found' });
  });

  test.each([
    [{ 'svc-postage-batch-id': BATCH, 'svc-tag': '7' }, 404, 'tag not found'],
    [{ 'svc-postage-batch-id': NO_BATCH, 'svc-tag': '7' }, 404, 'tag not found'],
    [{ 'svc-postage-batch-id': BATCH, 'svc-tag': '18446744073709551615' }, 404, 'tag not found'],
    [{ 'svc-postage-batch-id': NO_BATCH }, 404, 'batch with id not found'],
    [{ 'svc-postage-batch-id': ZEROS }, 404, 'batch with id not found'],
    [{ 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) }, 422, 'batch not usable yet or does not exist'],
    [{ 'svc-postage-batch-id': toHex(EXPIRED_BATCH_ID) }, 422, 'batch not usable yet or does not exist'],
  ] as [Record<string, string>, number, string][])(
    '%j: %i %s, and nothing is left',
    async (headers, code, message) => {
      const kit = await startKit();
      for (const deferred of [{}, { 'svc-deferred-upload': 'false' }] as Record<string, string>[]) {
        // A direct upload has no session, and looks for no tag.
        if ('svc-tag' in headers && 'svc-deferred-upload' in deferred) continue;
        expect((await post(kit, { ...headers, ...deferred })).json()).toEqual({ code, message });
      }
      expect(kit.knobs.sessions).toEqual([]);
      expect(kit.services.store.tags.list(0, 10)).toEqual([]);
    },
  );

  test('an unknown batch is reported before the body is read', async () => {
    const kit = await startKit();
    const never = new ReadableStream({ pull: () => new Promise(() => undefined) });
    const { Readable } = await import('node:stream');
    const answer = await kit.api.main.post('/bytes', Readable.fromWeb(never as never), {
      'svc-postage-batch-id': ZEROS,
      'transfer-encoding': 'chunked',
    });
    expect(answer.statusCode).toBe(404);
  });

  test('a full bucket answers 402 and rolls everything back', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 2;
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH }, Buffer.alloc(100_000, 1));
    expect(answer.json()).toEqual({ code: 402, message: 'batch is overissued' });
    expect(kit.knobs.sessions).toEqual([{ tagUid: 1, state: 'cleaned' }]);
    expect(kit.services.store.tags.get(1)).toMatchObject({ split: 0, seen: 0 });
    expect(kit.services.store.tags.get(1)?.address).toHaveLength(0);
    expect(kit.services.store.uploads.totals().pending).toBe(0);
  });

  test('a failing store answers 500 and rolls everything back', async () => {
    const kit = await startKit();
    kit.knobs.putError = new Error('disk full');
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH });
    expect(answer.json()).toEqual({ code: 500, message: 'split write all failed' });
    expect(kit.knobs.sessions).toEqual([{ tagUid: 1, state: 'cleaned' }]);
  });

  test('a direct upload for a full neighbourhood names the neighbourhood', async () => {
    const kit = await startKit();
    kit.knobs.pushError = new NoRoomError('01');
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH, 'svc-deferred-upload': 'false' });
    expect(answer.json()).toEqual({
      code: 500,
      message: 'done split failed',
      reasons: ["neighborhood: no room in neighbourhood '01', try again later"],
    });
  });

  test('a failing close answers 500 and rolls everything back', async () => {
    const kit = await startKit();
    kit.knobs.doneError = new Error('disk full');
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH });
    expect(answer.json()).toEqual({ code: 500, message: 'done split failed' });
    expect(kit.knobs.sessions).toEqual([{ tagUid: 1, state: 'cleaned' }]);
  });

  test('a failing direct push is reported at the end', async () => {
    const kit = await startKit();
    kit.knobs.pushError = new Error('refused');
    const answer = await post(kit, { 'svc-postage-batch-id': BATCH, 'svc-deferred-upload': '0' });
    expect(answer.json()).toEqual({ code: 500, message: 'done split failed' });
  });

  test('the speed of a finished upload is measured', async () => {
    const kit = await startKit();
    await post(kit, { 'svc-postage-batch-id': BATCH }, Buffer.alloc(1000));
    await post(kit, { 'svc-postage-batch-id': BATCH, 'svc-deferred-upload': '0' }, Buffer.alloc(1000));
    const { body } = await kit.api.main.get('/metrics');
    expect(body).toContain('svc_api_upload_speed_count{endpoint="bytes",mode="deferred"} 1');
    expect(body).toContain('svc_api_upload_speed_count{endpoint="bytes",mode="direct"} 1');
  });
});

describe('GET /bytes/{reference}', () => {
  test('content that no node has is 404, a reference of the wrong length 400, which a Bee answers with 500', async () => {
    const { api } = await startKit();
    expect((await api.main.get(`/bytes/${ZEROS}`)).json()).toEqual({
      code: 404,
      message: 'Not Found',
    });
    expect((await api.main.get('/bytes/abcd')).json()).toEqual({
      code: 400,
      message: 'invalid path params',
      reasons: ['address: want len:32 or 64'],
    });
    const swarm = (await startKit({ dialect: 'swarm' })).api;
    expect((await swarm.main.get('/bytes/abcd')).json()).toEqual({
      code: 500,
      message: 'joiner failed',
    });
  });

  test('a network that fails at the root is 500', async () => {
    const { api, knobs } = await startKit();
    knobs.networkError = () => new Error('broken');
    expect((await api.main.get(`/bytes/${ZEROS}`)).json()).toEqual({
      code: 500,
      message: 'joiner failed',
    });
  });

  test('a name with a dot needs the ENS service, which is not available', async () => {
    const answer = await (await startKit()).api.main.get('/bytes/some.eth');
    expect(answer.json()).toEqual({
      code: 503,
      message: 'service unavailable',
      reasons: ['address: ENS service is not available'],
    });
  });

  test('an invalid reference is refused by name', async () => {
    const answer = await (await startKit()).api.main.get('/bytes/name');
    expect(answer.json()).toMatchObject({ code: 400, message: 'invalid path params' });
    expect(answer.json().reasons[0]).toMatch(
      /^address: invalid name or svc address: failed parsing CID name err /,
    );
  });

  test.each([
    [{ 'svc-redundancy-strategy': '4' }, 'svc-redundancy-strategy: want max:3'],
    [{ 'svc-redundancy-strategy': '-1' }, 'Svc-Redundancy-Strategy: invalid syntax'],
    [{ 'svc-redundancy-fallback-mode': 'x' }, 'Svc-Redundancy-Fallback-Mode: invalid syntax'],
    [{ 'svc-redundancy-level': '9' }, 'svc-redundancy-level: want redundancy level to be between 0 and 4'],
    [{ 'svc-cache': '2' }, 'Svc-Cache: invalid syntax'],
    [{ 'svc-lookahead-buffer-size': '1.5' }, 'Svc-Lookahead-Buffer-Size: invalid syntax'],
    [{ 'svc-act-publisher': 'ab' }, 'Svc-Act-Publisher: malformed public key: invalid length: 1'],
    [{ 'svc-act-timestamp': 'x' }, 'Svc-Act-Timestamp: invalid syntax'],
  ] as [Record<string, string>, string][])('headers %j are refused: %s', async (headers, reason) => {
    const answer = await (await startKit()).api.main.get(`/bytes/${ZEROS}`, headers);
    expect(answer.json()).toEqual({ code: 400, message: INVALID_HEADERS, reasons: [reason] });
  });

  test.each(['1 s', 'abc', '1x', ''])('a retrieval timeout of %j is refused', async (timeout) => {
    const { api, reference } = await stored('hello');
    const headers = { 'svc-chunk-retrieval-timeout': timeout };
    const answer = await api.main.get(`/bytes/${reference}`, headers);
    expect(answer.json()).toEqual({ code: 400, message: 'could not parse headers' });
  });

  test.each(['2000', '1m30s', '500ms', '1.5h'])('a retrieval timeout of %s is accepted', async (timeout) => {
    const { api, reference } = await stored('hello');
    const headers = { 'svc-chunk-retrieval-timeout': timeout };
    expect((await api.main.get(`/bytes/${reference}`, headers)).body).toBe('hello');
  });

  test('redundancy headers and look-ahead change nothing about plain content', async () => {
    const { api, reference } = await stored(Buffer.alloc(50_000, 'x'));
    const headers = {
      'svc-redundancy-strategy': '3',
      'svc-redundancy-fallback-mode': 'false',
      'svc-redundancy-level': '0',
      'svc-lookahead-buffer-size': '-1',
    };
    expect((await api.main.get(`/bytes/${reference}`, headers)).rawPayload).toHaveLength(50_000);
  });

  test('chunks of the network are cached unless the request forbids it', async () => {
    const { services, reference } = await stored('hello');
    const chunk = services.store.chunks.get(Buffer.from(reference, 'hex'));
    for (const [wish, kept] of [
      ['false', false],
      ['true', true],
    ] as const) {
      const other = await startKit();
      if (chunk !== undefined) other.knobs.network.set(reference, chunk);
      await other.api.main.get(`/bytes/${reference}`, { 'svc-cache': wish });
      expect(other.services.store.chunks.has(Buffer.from(reference, 'hex'))).toBe(kept);
    }
  });
});

describe('HEAD /bytes/{reference}', () => {
  test('returns size and type from the root chunk alone', async () => {
    const { services, reference } = await stored(Buffer.alloc(100_000, 7));
    const root = services.store.chunks.get(Buffer.from(reference, 'hex'));
    const other = await startKit();
    if (root !== undefined) other.knobs.network.set(reference, root);
    const answer = await other.api.main.head(`/bytes/${reference}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-length']).toBe('100000');
    expect(answer.headers['content-type']).toBe('application/octet-stream');
    expect(answer.headers['accept-ranges']).toBe('bytes');
  });

  test.each([
    [ZEROS, 404],
    ['abcd', 400],
    ['xyz', 400],
  ])('%s answers %i', async (reference, status) => {
    const { api } = await startKit();
    expect((await api.main.head(`/bytes/${reference}`)).statusCode).toBe(status);
  });
});
