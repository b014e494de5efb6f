/** Access control of uploads, downloads and grantee lists: `http-api-completion.md` 4.3, 4.4, 5, 5.7. */
import secp256k1 from 'secp256k1';
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { createAccessControl } from '../../../../node/act/access-control.ts';
import { BATCH, YOUNG_BATCH_ID } from '../fake-postage.ts';
import { type Kit, PUBLIC_KEY, startKit } from '../kit.ts';
import { socOf } from '../soc-kit.ts';

const PAID = { 'svc-postage-batch-id': BATCH };
const ACT = { ...PAID, 'svc-act': 'true' };
const NOBODY = 'ab'.repeat(32);
const FRIEND = new Uint8Array(32).fill(0x33);
const FRIEND_KEY = toHex(createSigner(FRIEND).publicKey);
const OTHER_KEY = toHex(createSigner(new Uint8Array(32).fill(0x44)).publicKey);

type Headers = Record<string, string>;

interface Sent {
  readonly reference: string;
  readonly history: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

async function upload(kit: Kit, url: string, payload: string | Buffer, headers: Headers = {}): Promise<Sent> {
  const answer = await kit.api.main.post(url, payload, { ...ACT, ...headers });
  expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
  const history = String(answer.headers[`${kit.dialect.prefix}act-history-address`]);
  return { reference: answer.json<{ reference: string }>().reference, history, headers: answer.headers };
}

function asking(history: string, publisher = PUBLIC_KEY): Headers {
  return { 'svc-act-publisher': publisher, 'svc-act-history-address': history };
}

async function get(kit: Kit, url: string, headers: Headers = {}, method: 'GET' | 'HEAD' = 'GET') {
  const answer = await kit.api.main.inject({ method, url, headers });
  return { status: answer.statusCode, body: answer.body, headers: answer.headers, answer };
}

function as(secret: Uint8Array, kit: Kit): Kit {
  const { clock, random } = kit.services;
  Object.assign(kit.services.accessControl, createAccessControl(secret, { clock, random }));
  return kit;
}

describe.each(['svc', 'swarm'] as const)('access control in the %s dialect', (dialect) => {
  const span = Buffer.from(makeCac(5n, Buffer.from('hello')).data);
  const soc = socOf('hello');
  const routes = [
    {
      name: 'bytes',
      up: '/bytes',
      body: 'hello',
      type: 'application/octet-stream',
      down: '/bytes/',
      seen: 'hello',
    },
    {
      name: 'a file',
      up: '/svc?name=a.txt',
      body: 'hello',
      type: 'text/plain',
      down: '/svc/',
      tail: '/a.txt',
      seen: 'hello',
    },
    {
      name: 'a chunk',
      up: '/chunks',
      body: span,
      type: 'application/octet-stream',
      down: '/chunks/',
      seen: span.toString(),
    },
    {
      name: 'a single-owner chunk',
      up: soc.url,
      body: soc.wrapped,
      type: 'application/octet-stream',
      down: '/chunks/',
      seen: undefined,
    },
  ];

  test.each(routes)(
    '$name can be read with publisher and history alone',
    async ({ up, body, type, down, tail = '', seen }) => {
      const kit = await startKit({ dialect });
      const tag = (await kit.api.main.post('/tags')).json<{ uid: number }>();
      const headers = { 'content-type': type, 'svc-tag': String(tag.uid) };
      const { reference, history, headers: answered } = await upload(kit, up, body, headers);
      expect([reference.length, history]).toEqual([64, expect.stringMatching(/^[0-9a-f]{64}$/)]);
      const exposed = [`${dialect}-tag`, `${dialect}-act-history-address`];
      expect(answered['access-control-expose-headers']).toEqual(exposed);
      const url = `${down}${reference}${tail}`;
      const read = await get(kit, url, asking(history));
      expect(read.status, read.body).toBe(200);
      if (seen !== undefined) expect(read.body).toBe(seen);
      expect((await get(kit, url, asking(history), 'HEAD')).status).toBe(200);
      const shown = toHex(kit.services.store.tags.get(tag.uid)?.address ?? new Uint8Array());
      expect(shown).not.toBe(reference);
      if (up === '/chunks') expect(shown).toBe('');
      else expect((await get(kit, `${down}${shown}${tail}`)).status).toBe(200);
      for (const half of ['svc-act-publisher', 'svc-act-history-address']) {
        const { [half as 'svc-act-publisher']: _, ...rest } = asking(history);
        expect((await get(kit, url, rest)).status).toBe(404);
      }
      expect((await get(kit, url)).status).toBe(404);
    },
  );

  test('a feed manifest is protected too, and returns only its history', async () => {
    const kit = await startKit({ dialect });
    const url = `/feeds/${'12'.repeat(20)}/aabb`;
    const plain = (await kit.api.main.inject({ method: 'POST', url, headers: PAID })).json<Sent>();
    const { reference, history, headers } = await upload(kit, url, '');
    expect(headers['access-control-expose-headers']).toBe(`${dialect}-act-history-address`);
    expect(headers[`${dialect}-tag`]).toBeUndefined();
    const revealed = await get(kit, `/bytes/${reference}`, asking(history));
    expect([revealed.status, revealed.headers['etag']]).toEqual([200, `"${plain.reference}"`]);
  });
});

describe('an upload with access control', () => {
  test('of encrypted content has a reference of the same length', async () => {
    const kit = await startKit();
    const { reference, history } = await upload(kit, '/bytes', 'hello', { 'svc-encrypt': 'true' });
    expect([reference.length, history.length]).toEqual([128, 64]);
    expect((await get(kit, `/bytes/${reference}`, asking(history))).body).toBe('hello');
  });

  test('of a file has the protected reference as its ETag', async () => {
    const kit = await startKit();
    const { reference, headers } = await upload(kit, '/svc', 'x', { 'content-type': 'text/plain' });
    expect(headers['etag']).toBe(`"${reference}"`);
  });

  test('with a history keeps that history', async () => {
    const kit = await startKit();
    const first = await upload(kit, '/bytes', 'first');
    const second = await upload(kit, '/bytes', 'second', { 'svc-act-history-address': first.history });
    expect(second.history).toBe(first.history);
    expect((await get(kit, `/bytes/${second.reference}`, asking(first.history))).body).toBe('second');
  });

  test('that is pushed at once pushes the history with it', async () => {
    const kit = await startKit();
    const { history } = await upload(kit, '/bytes', 'hello', { 'svc-deferred-upload': 'false' });
    expect(kit.knobs.pushed.map(({ chunk }) => toHex(chunk.address))).toContain(history);
  });

  test.each([
    ['a history that nobody has', NOBODY, 404, 'act or history entry not found'],
    ['what is no history', undefined, 400, 'failed to create history'],
  ])('and %s is refused, and nothing is left', async (_, given, code, message) => {
    const kit = await startKit();
    const other = await kit.api.main.post('/bytes', 'x'.repeat(100), PAID);
    const history = given ?? other.json<Sent>().reference;
    const headers = { ...ACT, 'svc-act-history-address': history };
    const answer = await kit.api.main.post('/bytes', 'hello', headers);
    expect(answer.json()).toEqual({ code, message });
    expect(kit.knobs.sessions.at(-1)?.state).toBe('cleaned');
  });

  test("and another publisher's history is refused", async () => {
    const kit = await startKit();
    const { history } = await upload(kit, '/bytes', 'hello');
    as(FRIEND, kit);
    const headers = { ...ACT, 'svc-act-history-address': history };
    const answer = await kit.api.main.post('/bytes', 'hello', headers);
    expect(answer.json()).toEqual({ code: 404, message: 'act or history entry not found' });
  });

  test('fails as a whole when the batch is full before its history is stored', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 1;
    const answer = await kit.api.main.post('/bytes', 'hello', ACT);
    expect(answer.json()).toEqual({ code: 402, message: 'batch is overissued' });
    expect(kit.knobs.sessions.map(({ state }) => state)).toEqual(['cleaned']);
  });

  test('that pins keeps the content under its own root', async () => {
    const kit = await startKit();
    const { reference } = await upload(kit, '/bytes', 'hello', { 'svc-pin': 'true' });
    const { references } = (await get(kit, '/pins')).answer.json<{ references: string[] }>();
    expect(references).toHaveLength(1);
    expect(references).not.toContain(reference);
    expect((await get(kit, `/bytes/${references[0]}`)).body).toBe('hello');
  });

  test('is not protected when the header says no', async () => {
    const kit = await startKit();
    const headers = { ...PAID, 'svc-act': 'False', 'svc-act-history-address': NOBODY };
    const answer = await kit.api.main.post('/bytes', 'hello', headers);
    expect([answer.statusCode, answer.headers['svc-act-history-address']]).toEqual([201, undefined]);
  });
});

describe('a download with access control', () => {
  test.each([
    ['an unknown history', { 'svc-act-history-address': NOBODY }, 404, 'act or history entry not found'],
    ['the wrong publisher', { 'svc-act-publisher': FRIEND_KEY }, 404, 'act or history entry not found'],
    ['time zero', { 'svc-act-timestamp': '0' }, 400, 'invalid timestamp'],
    ['a time before', { 'svc-act-timestamp': '-1' }, 400, 'invalid timestamp'],
  ] as [string, Headers, number, string][])('and %s is refused', async (_, headers, code, message) => {
    const kit = await startKit();
    const { reference, history } = await upload(kit, '/bytes', 'hello');
    for (const url of [`/bytes/${reference}`, `/svc/${reference}/x`, `/chunks/${reference}`]) {
      const { answer } = await get(kit, url, { ...asking(history), ...headers });
      expect(answer.json()).toEqual({ code, message });
    }
  });

  test('and an invalid history is refused', async () => {
    const kit = await startKit();
    const { reference } = await upload(kit, '/bytes', 'hello');
    const other = await kit.api.main.post('/bytes', 'x'.repeat(100), PAID);
    const { answer } = await get(kit, `/bytes/${reference}`, asking(other.json<Sent>().reference));
    expect(answer.json()).toEqual({ code: 400, message: 'failed to create history' });
  });

  test('and an unexpected failure is an error of its own', async () => {
    const kit = await startKit();
    const broken = kit.services.accessControl as { reveal: unknown };
    broken.reveal = () => Promise.reject(new Error('disk'));
    const { answer } = await get(kit, `/bytes/${NOBODY}`, asking(NOBODY));
    expect(answer.json()).toEqual({ code: 500, message: 'act download failed' });
  });

  test.each([
    [`02${'ff'.repeat(32)}`, 'not a point'],
    ['ab', 'invalid length: 1'],
    ['xy', 'invalid hex byte'],
  ])('and the public key %s is refused', async (publisher, reason) => {
    const { answer } = await get(await startKit(), `/bytes/${NOBODY}`, asking(NOBODY, publisher));
    const body = answer.json<{ code: number; message: string; reasons: string[] }>();
    expect([body.code, body.message]).toEqual([400, 'invalid header params']);
    expect(body.reasons[0]).toContain(reason);
  });

  test('takes the publisher in either form', async () => {
    const kit = await startKit();
    const { reference, history } = await upload(kit, '/bytes', 'hello');
    const uncompressed = toHex(secp256k1.publicKeyConvert(Buffer.from(PUBLIC_KEY, 'hex'), false));
    expect((await get(kit, `/bytes/${reference}`, asking(history, uncompressed))).body).toBe('hello');
  });

  test('does not cache the history when the request forbids it', async () => {
    const kit = await startKit();
    await upload(kit, '/bytes', 'hello', { 'svc-deferred-upload': 'false' });
    for (const { chunk } of kit.knobs.pushed) kit.knobs.network.set(toHex(chunk.address), chunk);
    const { reference, history } = await upload(kit, '/bytes', 'hello', { 'svc-deferred-upload': 'false' });
    for (const { chunk } of kit.knobs.pushed) kit.knobs.network.set(toHex(chunk.address), chunk);
    const kept = () => kit.services.store.chunks.has(Buffer.from(history, 'hex'));
    await get(kit, `/bytes/${reference}`, { ...asking(history), 'svc-cache': 'false' });
    expect(kept()).toBe(false);
    expect((await get(kit, `/bytes/${reference}`, asking(history))).body).toBe('hello');
    expect(kept()).toBe(true);
  });
});

interface List {
  readonly ref: string;
  readonly historyref: string;
}

function change(kit: Kit, url: string, body: unknown, headers: Headers = PAID) {
  const method = url === '/grantee' ? 'POST' : 'PATCH';
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  return kit.api.main.inject({ method, url, headers, ...(payload === '' ? {} : { payload }) });
}

async function created(kit: Kit, grantees: string[], headers: Headers = {}): Promise<List> {
  const answer = await change(kit, '/grantee', { grantees }, { ...PAID, ...headers });
  expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
  kit.knobs.nowMs += 1000;
  return answer.json();
}

const patching = ({ ref }: List) => `/grantee/${ref}`;
const paidFor = ({ historyref }: List): Headers => ({ ...PAID, 'svc-act-history-address': historyref });

describe('a list of grantees', () => {
  test('is created, read and patched; references have the lengths of the specification', async () => {
    const kit = await startKit();
    const list = await created(kit, [FRIEND_KEY, OTHER_KEY, FRIEND_KEY]);
    expect(list).toEqual({
      ref: expect.stringMatching(/^[0-9a-f]{128}$/),
      historyref: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await get(kit, `/grantee/${list.ref}`)).answer.json()).toEqual([FRIEND_KEY, OTHER_KEY]);
    const patch = { add: [PUBLIC_KEY], revoke: [FRIEND_KEY] };
    const answer = await change(kit, patching(list), patch, paidFor(list));
    expect(answer.statusCode, answer.body).toBe(200);
    const next: List = answer.json();
    expect(next.ref).not.toBe(list.ref);
    expect(next.historyref).not.toBe(list.historyref);
    expect((await get(kit, `/grantee/${next.ref}`)).answer.json()).toEqual([PUBLIC_KEY, OTHER_KEY]);
    expect(kit.services.store.tags.get(1)?.address).toHaveLength(32);
  });

  test('lets a grantee read what is uploaded under its history, until it is revoked', async () => {
    const kit = await startKit();
    const list = await created(kit, [FRIEND_KEY]);
    const old = await upload(kit, '/bytes', 'old', { 'svc-act-history-address': list.historyref });
    const patch = await change(
      kit,
      patching(list),
      { revoke: [FRIEND_KEY], add: [OTHER_KEY] },
      paidFor(list),
    );
    const { historyref }: List = patch.json();
    const fresh = await upload(kit, '/bytes', 'new', { 'svc-act-history-address': historyref });
    const past = String(Math.floor(kit.knobs.nowMs / 1000) - 1);
    as(FRIEND, kit);
    expect((await get(kit, `/bytes/${old.reference}`, asking(list.historyref))).body).toBe('old');
    const then = { ...asking(historyref), 'svc-act-timestamp': past };
    expect((await get(kit, `/bytes/${old.reference}`, then)).body).toBe('old');
    for (const { reference } of [old, fresh]) {
      const { answer } = await get(kit, `/bytes/${reference}`, asking(historyref));
      expect(answer.json()).toEqual({ code: 404, message: 'act or history entry not found' });
    }
  });

  test('of another publisher, or one that does not exist, is not found', async () => {
    const kit = await startKit();
    const { ref } = await created(kit, [FRIEND_KEY]);
    for (const reference of [NOBODY, `${NOBODY}${NOBODY}`]) {
      const { answer } = await get(kit, `/grantee/${reference}`);
      expect(answer.json()).toEqual({ code: 404, message: 'granteelist not found' });
    }
    as(FRIEND, kit);
    expect((await get(kit, `/grantee/${ref}`)).answer.json()).toEqual({
      code: 404,
      message: 'granteelist not found',
    });
  });

  test('may be started under the history of an upload', async () => {
    const kit = await startKit();
    const { reference, history } = await upload(kit, '/bytes', 'hello');
    kit.knobs.nowMs += 1000;
    const { historyref } = await created(kit, [FRIEND_KEY], { 'svc-act-history-address': history });
    expect(historyref).not.toBe(history);
    as(FRIEND, kit);
    expect((await get(kit, `/bytes/${reference}`, asking(historyref))).body).toBe('hello');
  });

  test.each(['', '{}', 'null', '{"grantees":null}', '{"other":1}'])(
    'is empty for the body %j',
    async (body) => {
      const kit = await startKit();
      const headers = { ...PAID, 'transfer-encoding': 'chunked' };
      const answer = await kit.api.main.post('/grantee', body, headers);
      expect(answer.statusCode, answer.body).toBe(201);
      expect((await get(kit, `/grantee/${answer.json<List>().ref}`)).answer.json()).toEqual([]);
    },
  );

  test.each([
    ['', {}, 400, 'could not validate request'],
    ['{}', {}, 400, 'invalid header params'],
    ['{', { ...PAID, 'svc-tag': '7' }, 404, 'tag not found'],
    ['{', { 'svc-postage-batch-id': NOBODY }, 400, 'invalid body params'],
    ['[]', PAID, 400, 'invalid body params'],
    ['{"grantees":"02"}', PAID, 400, 'invalid body params'],
    ['{"grantees":[7]}', PAID, 400, 'invalid body params'],
    ['{"grantees":["0x02"]}', { 'svc-postage-batch-id': NOBODY }, 400, 'invalid grantee list'],
    ['{"grantees":[""]}', PAID, 400, 'invalid grantee list'],
    [`{"grantees":["02${'ff'.repeat(32)}"]}`, PAID, 400, 'invalid grantee list'],
    ['{}', { 'svc-postage-batch-id': NOBODY }, 404, 'batch with id not found'],
    ['{}', { 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) }, 422, 'batch not usable yet or does not exist'],
    ['{}', { ...PAID, 'svc-act-history-address': NOBODY }, 404, 'act or history entry not found'],
  ] as [string, Headers, number, string][])('POST %s %o: %i %s', async (body, headers, code, message) => {
    const answer = await change(await startKit(), '/grantee', body, headers);
    expect(answer.json()).toMatchObject({ code, message });
  });

  test('of another shape gives the error known from the public network, in its dialect', async () => {
    const headers = { 'swarm-postage-batch-id': NOBODY };
    const answer = await change(await startKit({ dialect: 'swarm' }), '/grantee', '[]', headers);
    expect(answer.json()).toEqual({ code: 500, message: 'error unmarshaling request body' });
  });

  test.each([
    ['', {}, 400, 'could not validate request'],
    ['{}', PAID, 400, 'invalid header params'],
    ['{"add":["x"],"revoke":[7]}', undefined, 400, 'invalid body params'],
    ['{"add":["x"],"revoke":["x"]}', undefined, 400, 'invalid add list'],
    ['{"add":[],"revoke":["x"]}', undefined, 400, 'invalid revoke list'],
    [`{"revoke":["${FRIEND_KEY}"]}`, undefined, 400, 'remove from empty grantee list'],
  ] as [string, Headers | undefined, number, string][])(
    'PATCH %s %o: %i %s',
    async (body, headers, code, message) => {
      const kit = await startKit();
      const list = await created(kit, []);
      const answer = await change(kit, patching(list), body, headers ?? paidFor(list));
      expect(answer.json()).toMatchObject({ code, message });
      expect(kit.knobs.sessions.filter(({ state }) => state === 'open')).toEqual([]);
    },
  );

  test('a patch needs a history, and an existing list', async () => {
    const kit = await startKit();
    const list = await created(kit, [FRIEND_KEY]);
    expect((await change(kit, patching(list), '{}', PAID)).json().reasons).toEqual([
      'svc-act-history-address: want required:',
    ]);
    expect((await change(kit, `/grantee/${NOBODY}`, '{}', paidFor(list))).json()).toEqual({
      code: 500,
      message: 'failed to create or update grantee list',
    });
    const unknown = { ...PAID, 'svc-act-history-address': NOBODY };
    expect((await change(kit, patching(list), '{}', unknown)).json()).toEqual({
      code: 404,
      message: 'act or history entry not found',
    });
  });

  test('a full bucket, a full disk and a failed close are server errors, and nothing is left', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 1;
    const failed = { code: 500, message: 'failed to create or update grantee list' };
    expect((await change(kit, '/grantee', '{}')).json()).toEqual(failed);
    kit.knobs.stampsLeft = 100;
    kit.knobs.putError = new Error('disk full');
    expect((await change(kit, '/grantee', '{}')).json()).toEqual(failed);
    kit.knobs.putError = undefined;
    kit.knobs.doneError = new Error('disk full');
    expect((await change(kit, '/grantee', '{}')).json()).toEqual({
      code: 500,
      message: 'done split grantees failed',
    });
    expect(kit.knobs.sessions.map(({ state }) => state)).toEqual(['cleaned', 'cleaned', 'cleaned']);
  });

  test('that is pinned is kept as one collection', async () => {
    const kit = await startKit();
    await created(kit, [FRIEND_KEY], { 'svc-pin': 'true', 'svc-deferred-upload': 'false' });
    const { references } = (await get(kit, '/pins')).answer.json<{ references: string[] }>();
    expect(references).toHaveLength(1);
    expect(kit.knobs.pushed).toEqual([]);
  });

  test('that is pushed at once has no tag', async () => {
    const kit = await startKit();
    await created(kit, [FRIEND_KEY], { 'svc-deferred-upload': 'false' });
    expect(kit.knobs.pushed).toHaveLength(4);
    expect(kit.services.store.tags.list(0, 10)).toEqual([]);
  });
});
