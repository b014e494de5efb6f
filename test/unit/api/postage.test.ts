import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import { BATCH, BATCH_ID, EXPIRED_BATCH_ID, NEW_BATCH_ID, YOUNG_BATCH_ID } from './fake-postage.ts';
import { startKit } from './kit.ts';

const OWN = {
  batchID: BATCH,
  utilization: 4,
  utilizationRatio: 0.25,
  usable: true,
  label: 'label',
  depth: 20,
  amount: '1000',
  bucketDepth: 16,
  blockNumber: 10,
  immutableFlag: true,
  exists: true,
  batchTTL: 3600,
  expired: false,
  displaced: 0,
};

describe('own batches', () => {
  test('existing ones are listed, usable or not', async () => {
    const { stamps } = (await (await startKit()).api.main.get('/stamps')).json();
    expect(stamps).toEqual([
      OWN,
      { ...OWN, batchID: toHex(YOUNG_BATCH_ID), blockNumber: 119, usable: false },
    ]);
  });

  test('svc: all of them, including the expired', async () => {
    const { api } = await startKit();
    const { stamps } = (await api.main.get('/stamps?all=true')).json();
    const gone = {
      batchID: toHex(EXPIRED_BATCH_ID),
      blockNumber: 5,
      usable: false,
      exists: false,
      batchTTL: -1,
      expired: true,
    };
    expect(stamps[2]).toEqual({ ...OWN, ...gone });
  });

  test.each([
    ['?all=true', 3],
    ['?all=yes', 3],
    ['?all=1', 3],
    ['?all', 3],
    ['?all=false', 2],
    ['?all=0', 2],
    ['', 2],
  ])('svc: %s lists %i', async (query, count) => {
    const { api } = await startKit();
    expect((await api.main.get(`/stamps${query}`)).json().stamps).toHaveLength(count);
  });

  test('swarm: the parameter and the member are unknown', async () => {
    const { api } = await startKit({ dialect: 'swarm' });
    for (const all of ['true', 'maybe']) {
      const { stamps } = (await api.main.get(`/stamps?all=${all}`)).json();
      expect(stamps).toHaveLength(2);
      expect('expired' in stamps[0]).toBe(false);
      expect('displaced' in stamps[0]).toBe(false);
    }
  });

  test('one of them, and its buckets', async () => {
    const { api } = await startKit();
    expect((await api.main.get(`/stamps/${BATCH}`)).json()).toEqual(OWN);
    const { buckets, ...rest } = (await api.main.get(`/stamps/${BATCH}/buckets`)).json();
    expect(rest).toEqual({ depth: 20, bucketDepth: 16, bucketUpperBound: 16 });
    expect(buckets).toHaveLength(65_536);
    expect(buckets.slice(1, 3)).toEqual([
      { bucketID: 1, collisions: 1 },
      { bucketID: 2, collisions: 0 },
    ]);
  });

  test.each(['', '/buckets'])('errors of /stamps/{batch_id}%s', async (rest) => {
    const { api, knobs } = await startKit();
    const answerOf = async (id: string) => (await api.main.get(`/stamps/${id}${rest}`)).json();
    expect(await answerOf('00'.repeat(32))).toEqual({ code: 404, message: 'issuer does not exist' });
    expect(await answerOf(toHex(YOUNG_BATCH_ID))).toEqual({ code: 400, message: 'batch not usable' });
    expect(await answerOf('ab'.repeat(31))).toEqual({
      code: 400,
      message: 'invalid path params',
      reasons: ['batch_id: want len:32'],
    });
    expect((await answerOf('x')).reasons).toEqual(["batch_id: invalid hex byte: U+0078 'x'"]);
    knobs.failing.add('issuer');
    expect(await answerOf(BATCH)).toEqual({ code: 500, message: 'get issuer failed' });
  });

  test('a new one whose creation has not been read yet is listed but not usable', async () => {
    const { api, knobs } = await startKit();
    knobs.justBought = true;
    const { stamps } = (await api.main.get('/stamps')).json();
    expect(stamps[2]).toEqual({
      ...OWN,
      batchID: toHex(NEW_BATCH_ID),
      blockNumber: 121,
      usable: false,
      batchTTL: -1,
    });
    const own = await api.main.get(`/stamps/${toHex(NEW_BATCH_ID)}`);
    expect(own.json()).toEqual({ code: 400, message: 'batch not usable' });
  });

  test('an expired one by its id: svc returns it, swarm does not know it', async () => {
    const url = `/stamps/${toHex(EXPIRED_BATCH_ID)}`;
    const told = await (await startKit()).api.main.get(url);
    expect(told.json()).toMatchObject({ exists: false, usable: false, expired: true, batchTTL: -1 });
    const unknown = await (await startKit({ dialect: 'swarm' })).api.main.get(url);
    expect(unknown.json()).toEqual({ code: 404, message: 'issuer does not exist' });
  });

  test('a list that cannot be made', async () => {
    const { api, knobs } = await startKit();
    knobs.failing.add('issuers');
    expect((await api.main.get('/stamps')).json()).toEqual({
      code: 500,
      message: 'unable to check batch',
    });
  });
});

describe('POST /stamps/{amount}/{depth}', () => {
  const buy = async (url: string, headers: Record<string, string> = {}, knob: { buyError?: Error } = {}) => {
    const kit = await startKit();
    kit.knobs.buyError = knob.buyError;
    return { ...kit, answer: await kit.api.main.inject({ method: 'POST', url, headers }) };
  };

  test('buys what is asked for', async () => {
    const headers = { immutable: 'false', 'gas-price': '1000000000', 'gas-limit': '21000' };
    const { answer, knobs } = await buy('/stamps/100000000000000000000/20?label=my%20batch', headers);
    expect([answer.statusCode, answer.json()]).toEqual([
      201,
      { batchID: 'cc'.repeat(32), txHash: `0x${'ab'.repeat(32)}` },
    ]);
    expect(knobs.bought).toEqual([
      {
        amount: 10n ** 20n,
        depth: 20,
        immutable: false,
        label: 'my batch',
        gasPrice: 10n ** 9n,
        gasLimit: 21_000n,
      },
    ]);
  });

  test('a batch is immutable and without a label unless asked otherwise', async () => {
    const { knobs } = await buy('/stamps/1/17');
    expect(knobs.bought).toEqual([{ amount: 1n, depth: 17, immutable: true, label: '' }]);
  });

  test.each([
    ['/stamps/1000/16', {}, 'invalid path params', ['depth: want min:17']],
    ['/stamps/1000/0', {}, 'invalid path params', ['depth: want required:']],
    ['/stamps/1000/256', {}, 'invalid path params', ['depth: value out of range']],
    ['/stamps/1e3/x', {}, 'invalid path params', ['amount: invalid value', 'depth: invalid syntax']],
    ['/stamps/1000/16', { immutable: 'x' }, 'invalid path params', ['depth: want min:17']],
    ['/stamps/1000/17', { immutable: 'x' }, 'invalid header params', ['Immutable: invalid syntax']],
    ['/stamps/x/16', { 'gas-price': 'x' }, 'invalid header params', ['Gas-Price: invalid value']],
  ] as [string, Record<string, string>, string, string[]][])(
    '%s %j is refused',
    async (url, headers, message, reasons) => {
      const { answer, knobs } = await buy(url, headers);
      expect(answer.json()).toEqual({ code: 400, message, reasons });
      expect(knobs.bought).toEqual([]);
    },
  );

  test.each([
    [new PostageError('OUT_OF_FUNDS', ''), 400, 'out of funds'],
    [new PostageError('INSUFFICIENT_VALIDITY', ''), 400, 'insufficient amount for 24h minimum validity'],
    [new PostageError('DEPTH_INVALID', '256'), 400, 'cannot create batch', 'depth: 256'],
    [new ChainError('GAS_PRICE_TOO_LOW', 'below 7'), 400, 'cannot create batch', 'gas-price: below 7'],
    [new ChainError('INSUFFICIENT_NATIVE', 'has 0'), 400, 'cannot create batch', 'wallet: has 0'],
    [new ChainError('REVERTED', ''), 500, 'cannot create batch'],
    [new Error('anything'), 500, 'cannot create batch'],
  ])('%s: %i %s', async (buyError, code, message, ...reasons) => {
    const said = reasons.length === 0 ? {} : { reasons };
    expect((await buy('/stamps/1000/20', {}, { buyError })).answer.json()).toEqual({
      code,
      message,
      ...said,
    });
  });

  test('swarm: a gas price that is too low is a failure, as on the public network', async () => {
    const { api, knobs } = await startKit({ dialect: 'swarm' });
    knobs.buyError = new ChainError('GAS_PRICE_TOO_LOW', 'below 7');
    const answer = await api.main.post('/stamps/1000/20');
    expect(answer.json()).toEqual({ code: 500, message: 'cannot create batch' });
  });

  const STUCK = `0x${'5c'.repeat(32)}`;
  const ways = `POST /transactions/${STUCK} sends it again, DELETE /transactions/${STUCK} cancels it`;
  test.each([
    [
      new ChainError('NOT_MINED', 'transaction 0x5a is not mined', { blocking: STUCK }),
      { field: 'transaction', error: `transaction 0x5a is not mined; ${ways}` },
    ],
    [
      new ChainError('TRANSACTION_CANCELLED', 'transaction cancelled: 0x5a'),
      { field: 'transaction', error: 'transaction cancelled: 0x5a' },
    ],
    [
      new ChainError('RPC_UNREACHABLE', 'connect ECONNREFUSED'),
      { field: 'chain', error: 'the endpoint does not answer, try again later' },
    ],
  ])('%s: says what is in the way and what to do, and frees the slot', async (buyError, reason) => {
    const failed = { code: 500, message: 'cannot create batch' };
    const { answer, api, knobs } = await buy('/stamps/1000/20', {}, { buyError });
    expect(answer.json()).toEqual({ ...failed, reasons: [`${reason.field}: ${reason.error}`] });
    knobs.buyError = undefined;
    expect((await api.main.post('/stamps/1000/20')).statusCode).toBe(201);
    const swarm = await startKit({ dialect: 'swarm' });
    swarm.knobs.buyError = buyError;
    expect((await swarm.api.main.post('/stamps/1000/20')).json()).toEqual({
      ...failed,
      reasons: [reason],
    });
  });

  test.each(['0', '-5'])('amount %s is left to the rule of the minimum validity', async (amount) => {
    const { knobs } = await buy(`/stamps/${amount}/20`);
    expect(knobs.bought).toHaveLength(1);
  });
});

describe.each([
  ['topup', `/stamps/topup/${BATCH}/5000`, { amount: 5000n }, 'cd', 'cannot topup batch'],
  ['dilute', `/stamps/dilute/${BATCH}/21`, { depth: 21 }, 'ef', 'cannot dilute batch'],
] as const)('PATCH /stamps/%s', (what, url, terms, hash, failure) => {
  const patch = async (target: string, headers: Record<string, string> = {}, buyError?: Error) => {
    const kit = await startKit();
    kit.knobs.buyError = buyError;
    return { ...kit, answer: await kit.api.main.inject({ method: 'PATCH', url: target, headers }) };
  };

  test('does what is requested, with the given gas', async () => {
    const { answer, knobs } = await patch(url, { 'gas-price': '7', 'gas-limit': '21000' });
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      { batchID: BATCH, txHash: `0x${hash.repeat(32)}` },
    ]);
    expect(knobs.bought).toEqual([{ batchId: BATCH_ID, ...terms, gasPrice: 7n, gasLimit: 21_000n }]);
    expect((await patch(url)).knobs.bought).toEqual([{ batchId: BATCH_ID, ...terms }]);
  });

  test('is refused while another operation runs', async () => {
    const { api, knobs } = await startKit();
    const held = Promise.withResolvers<void>();
    knobs.buying = held.promise;
    const buying = api.main.post('/stamps/1000/20');
    await new Promise(setImmediate);
    const busy = { code: 429, message: 'simultaneous on-chain operations not supported' };
    expect((await api.main.patch(url)).json()).toEqual(busy);
    held.resolve();
    expect((await buying).statusCode).toBe(201);
    expect((await api.main.patch(url)).statusCode).toBe(202);
  });

  test.each([
    [`/stamps/${what}/${'ab'.repeat(31)}/18`, {}, 'invalid path params', ['batch_id: want len:32']],
    [`/stamps/${what}/${BATCH}/x`, {}, 'invalid path params', undefined],
    [url, { 'gas-price': 'x' }, 'invalid header params', ['Gas-Price: invalid value']],
    [url, { 'gas-limit': '-1' }, 'invalid header params', ['Gas-Limit: invalid syntax']],
  ] as [string, Record<string, string>, string, string[] | undefined][])(
    '%s %j is refused',
    async (target, headers, message, reasons) => {
      const { answer, knobs } = await patch(target, headers);
      expect(answer.json()).toMatchObject({ code: 400, message, ...(reasons ? { reasons } : {}) });
      expect(knobs.bought).toEqual([]);
    },
  );

  test.each([
    [new PostageError('BATCH_NOT_FOUND', 'none'), 404, failure, 'batch_id: none'],
    [new PostageError('AMOUNT_INVALID', '-1'), 500, failure],
    [new ChainError('GAS_LIMIT_TOO_LOW', 'limit of 1'), 400, failure, 'gas-limit: limit of 1'],
    [new ChainError('REVERTED', ''), 500, failure],
    [new ChainError('GAS_PRICE_TOO_LOW', 'below 7'), 400, failure, 'gas-price: below 7'],
    [new Error('anything'), 500, failure],
    what === 'topup'
      ? ([new PostageError('OUT_OF_FUNDS', ''), 402, 'out of funds'] as const)
      : ([new PostageError('DEPTH_INVALID', ''), 400, 'invalid depth'] as const),
  ])('%s: %i %s', async (error, code, message, ...reasons) => {
    const said = reasons.length === 0 ? {} : { reasons };
    expect((await patch(url, {}, error)).answer.json()).toEqual({ code, message, ...said });
  });
});

test.each([
  ['svc', '0', 400],
  ['svc', '-1', 400],
  ['swarm', '0', 202],
] as const)('in the %s dialect, a top-up of %s is answered %i', async (dialect, amount, status) => {
  const { api, knobs } = await startKit({ dialect });
  const answer = await api.main.patch(`/stamps/topup/${BATCH}/${amount}`);
  expect(answer.statusCode).toBe(status);
  if (status === 400) expect(answer.json().reasons).toEqual(['amount: want min:1']);
  expect(knobs.bought).toHaveLength(status === 202 ? 1 : 0);
});

describe('PATCH /stamps/{batch_id}', () => {
  const url = `/stamps/${BATCH}`;

  test('gives the batch another label', async () => {
    const { api } = await startKit();
    const answer = await api.main.patch(url, { label: 'new' });
    expect([answer.statusCode, answer.json()]).toEqual([200, { code: 200, message: 'OK' }]);
    expect((await api.main.get(url)).json().label).toBe('new');
  });

  test.each([
    ['', 400, 'invalid request body'],
    ['{"label"', 400, 'invalid request body'],
    ['[]', 400, 'invalid request body'],
    ['{"label":7}', 400, 'invalid request body'],
    ['{}', 400, 'label is required'],
    ['{"label":" "}', 400, 'label is required'],
    [`{"label":"${'x'.repeat(1024)}"}`, 413, 'Request Entity Too Large'],
  ])('body %s: %i %s', async (payload, code, message) => {
    const { api } = await startKit();
    expect((await api.main.patch(url, payload)).json()).toEqual({ code, message });
    expect((await api.main.get(url)).json().label).toBe('label');
  });

  test('errors of the batch come after those of the body', async () => {
    const { api, knobs } = await startKit();
    const unknown = `/stamps/${'00'.repeat(32)}`;
    const patch = async (target: string, payload: object) => (await api.main.patch(target, payload)).json();
    expect(await patch(unknown, {})).toEqual({ code: 400, message: 'label is required' });
    expect(await patch(unknown, { label: 'new' })).toEqual({ code: 404, message: 'issuer does not exist' });
    knobs.failing.add('relabel');
    expect(await patch(url, { label: 'new' })).toEqual({ code: 500, message: 'cannot update label' });
  });
});

describe('GET /batches/{batch_id}', () => {
  test('is the same as in the list', async () => {
    const { api } = await startKit();
    const { batches } = (await api.main.get('/batches')).json();
    expect((await api.main.get(`/batches/${BATCH}`)).json()).toEqual(batches[0]);
  });

  test('errors', async () => {
    const { api, knobs } = await startKit();
    const answerOf = async (id: string) => (await api.main.get(`/batches/${id}`)).json();
    expect(await answerOf('00'.repeat(32))).toEqual({ code: 404, message: 'batch not found' });
    expect((await answerOf('abcd')).reasons).toEqual(['batch_id: want len:32']);
    knobs.failing.add('batch');
    expect(await answerOf(BATCH)).toEqual({ code: 500, message: 'unable to get batch' });
  });
});

describe('GET /batches', () => {
  test('every live batch of the network', async () => {
    const { batches } = (await (await startKit()).api.main.get('/batches')).json();
    expect(batches).toHaveLength(2);
    expect(batches[0]).toEqual({
      batchID: BATCH,
      value: '5000',
      start: 10,
      owner: 'ab'.repeat(20),
      depth: 20,
      bucketDepth: 16,
      immutable: true,
      immutableFlag: true,
      storageRadius: 3,
      batchTTL: 3600,
    });
  });

  test('a list that cannot be made', async () => {
    const { api, knobs } = await startKit();
    knobs.failing.add('batches');
    expect((await api.main.get('/batches')).json()).toEqual({
      code: 500,
      message: 'unable to iterate all batches',
    });
  });
});
