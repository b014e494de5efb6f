import { describe, expect, test } from 'vitest';
import { toHex } from '../../../node/crypto/hex.ts';
import { ChainError } from '../../../node/onchain/ports.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import { BATCH, EXPIRED_BATCH_ID, startKit, YOUNG_BATCH_ID } from './kit.ts';

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
};

describe('own batches', () => {
  test('those that exist are listed, usable or not', async () => {
    const { stamps } = (await (await startKit()).api.main.inject({ url: '/stamps' })).json();
    expect(stamps).toEqual([
      OWN,
      { ...OWN, batchID: toHex(YOUNG_BATCH_ID), blockNumber: 119, usable: false },
    ]);
  });

  test('svc: all of them, the expired too', async () => {
    const { api } = await startKit();
    const { stamps } = (await api.main.inject({ url: '/stamps?all=true' })).json();
    const gone = {
      batchID: toHex(EXPIRED_BATCH_ID),
      blockNumber: 5,
      usable: false,
      exists: false,
      batchTTL: -1,
      expired: true,
    };
    expect(stamps[2]).toEqual({ ...OWN, ...gone });
    const refused = await api.main.inject({ url: '/stamps?all=maybe' });
    expect(refused.json()).toEqual({
      code: 400,
      message: 'invalid query params',
      reasons: ['all: invalid syntax'],
    });
  });

  test('swarm: the parameter and the member are unknown', async () => {
    const { api } = await startKit({ dialect: 'swarm' });
    for (const all of ['true', 'maybe']) {
      const { stamps } = (await api.main.inject({ url: `/stamps?all=${all}` })).json();
      expect(stamps).toHaveLength(2);
      expect('expired' in stamps[0]).toBe(false);
    }
  });

  test('one of them, and its buckets', async () => {
    const { api } = await startKit();
    expect((await api.main.inject({ url: `/stamps/${BATCH}` })).json()).toEqual(OWN);
    const { buckets, ...rest } = (await api.main.inject({ url: `/stamps/${BATCH}/buckets` })).json();
    expect(rest).toEqual({ depth: 20, bucketDepth: 16, bucketUpperBound: 16 });
    expect(buckets).toHaveLength(65_536);
    expect(buckets.slice(1, 3)).toEqual([
      { bucketID: 1, collisions: 1 },
      { bucketID: 2, collisions: 0 },
    ]);
  });

  test.each(['', '/buckets'])('errors of /stamps/{batch_id}%s', async (rest) => {
    const { api, knobs } = await startKit();
    const answerOf = async (id: string) => (await api.main.inject({ url: `/stamps/${id}${rest}` })).json();
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

  test('a list that cannot be made', async () => {
    const { api, knobs } = await startKit();
    knobs.failing.add('issuers');
    expect((await api.main.inject({ url: '/stamps' })).json()).toEqual({
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
    [new PostageError('DEPTH_INVALID', ''), 500, 'cannot create batch'],
    [new ChainError('GAS_PRICE_TOO_LOW', ''), 500, 'cannot create batch'],
    [new ChainError('REVERTED', ''), 500, 'cannot create batch'],
    [new Error('anything'), 500, 'cannot create batch'],
  ])('%s: %i %s', async (buyError, code, message) => {
    expect((await buy('/stamps/1000/20', {}, { buyError })).answer.json()).toEqual({ code, message });
  });

  test.each(['0', '-5'])('amount %s is left to the rule of the shortest validity', async (amount) => {
    const { knobs } = await buy(`/stamps/${amount}/20`);
    expect(knobs.bought).toHaveLength(1);
  });
});

describe('GET /batches', () => {
  test('every live batch of the network', async () => {
    const { batches } = (await (await startKit()).api.main.inject({ url: '/batches' })).json();
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
    expect((await api.main.inject({ url: '/batches' })).json()).toEqual({
      code: 500,
      message: 'unable to iterate all batches',
    });
  });
});
