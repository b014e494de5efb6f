import { describe, expect, test } from 'vitest';
import { IncentivesError } from '../../../node/incentives/ports.ts';
import { type Kit, type Knobs, startKit } from './kit.ts';

/** Anchors. */
const [ONES, TWOS] = ['11'.repeat(32), '22'.repeat(32)];

const TX = `0x${'5a'.repeat(32)}`;

async function ask(
  method: 'GET' | 'POST' | 'DELETE',
  url: string,
  turn: (knobs: Knobs) => void = () => undefined,
  { kit, headers = {} }: { kit?: Kit; headers?: Record<string, string> } = {},
) {
  const { api, knobs } = kit ?? (await startKit());
  turn(knobs);
  const answer = await api.main.inject({ method, url, headers });
  return { code: answer.statusCode, body: answer.json<unknown>(), knobs };
}

const refused = (code: number, message: string) => ({ code, body: { code, message } });

describe('the stake', () => {
  test('is returned, with its surplus', async () => {
    expect(await ask('GET', '/stake')).toMatchObject({
      code: 200,
      body: { stakedAmount: '1000000000000000000' },
    });
    expect(await ask('GET', '/stake/withdrawable')).toMatchObject({
      code: 200,
      body: { withdrawableAmount: '16000' },
    });
  });

  test.each([
    ['POST', '/stake/100000000000000000', ['deposit', 10n ** 17n]],
    ['DELETE', '/stake/withdrawable', ['withdraw']],
    ['DELETE', '/stake', ['migrate']],
  ] as const)('%s %s sends a transaction, with the gas of the request', async (method, url, done) => {
    const headers = { 'gas-price': '70', 'gas-limit': '800000' };
    const { code, body, knobs } = await ask(method, url, undefined, { headers });
    expect({ code, body }).toEqual({ code: 200, body: { txHash: TX } });
    expect(knobs.staked).toEqual([[...done, { gasPrice: 70n, gasLimit: 800_000n }]]);
  });

  test.each([
    ['POST', '/stake/1', 'INSUFFICIENT_STAKE_AMOUNT', 400, 'insufficient stake amount'],
    ['POST', '/stake/1', 'INSUFFICIENT_TOKENS', 400, 'out of funds'],
    ['POST', '/stake/1', 'STAKE_FROZEN', 400, 'stake is frozen'],
    ['DELETE', '/stake/withdrawable', 'NOTHING_TO_WITHDRAW', 400, 'insufficient stake to withdraw'],
    ['DELETE', '/stake', 'NOT_PAUSED', 400, 'contract is not paused'],
    ['DELETE', '/stake', 'NOTHING_TO_WITHDRAW', 400, 'insufficient stake to migrate'],
  ] as const)('%s %s after %s is answered %i', async (method, url, reason, code, message) => {
    const turn = (knobs: Knobs) => void (knobs.stakeError = new IncentivesError(reason, 'why'));
    expect(await ask(method, url, turn)).toMatchObject(refused(code, message));
  });

  test.each([
    ['GET', '/stake', 'get staked amount failed'],
    ['GET', '/stake/withdrawable', 'get staked amount failed'],
    ['POST', '/stake/1', 'cannot stake'],
    ['DELETE', '/stake', 'cannot migrate stake'],
    ['DELETE', '/stake/withdrawable', 'cannot withdraw stake'],
  ] as const)('%s %s without a chain is answered 500', async (method, url, message) => {
    const turn = (knobs: Knobs) => void (knobs.stakeError = new Error('down'));
    expect(await ask(method, url, turn)).toMatchObject(refused(500, message));
  });

  test('is changed and read by one request at a time', async () => {
    const kit = await startKit();
    const { promise, resolve } = Promise.withResolvers<void>();
    kit.knobs.buying = promise;
    const first = ask('POST', '/stake/5', undefined, { kit });
    const busy = refused(429, 'simultaneous on-chain operations not supported');
    for (const [method, url] of [
      ['GET', '/stake'],
      ['GET', '/stake/withdrawable'],
      ['DELETE', '/stake'],
    ] as const)
      expect(await ask(method, url, undefined, { kit })).toMatchObject(busy);
    resolve();
    expect(await first).toMatchObject({ code: 200 });
    expect(await ask('GET', '/stake', undefined, { kit })).toMatchObject({ code: 200 });
  });

  test.each([
    ['abc', 'invalid path params'],
    ['1.5', 'invalid path params'],
  ])('of %s is not a valid amount', async (amount, message) => {
    const { code, body } = await ask('POST', `/stake/${amount}`);
    expect({ code, body }).toEqual({
      code: 400,
      body: { code: 400, message, reasons: ['amount: invalid value'] },
    });
  });

  test('checks its gas headers for every method', async () => {
    const headers = { 'gas-limit': '-1' };
    for (const method of ['GET', 'DELETE', 'POST'] as const) {
      expect((await ask(method, '/stake', undefined, { headers })).body).toMatchObject({
        message: 'invalid header params',
      });
    }
  });

  test.each([
    ['svc', 'main', { txHash: TX }],
    ['svc', 'debug', { txHash: TX, txhash: TX }],
    ['swarm', 'main', { txHash: TX }],
    ['swarm', 'debug', { txHash: TX }],
  ] as const)('in %s on %s names its transaction', async (dialect, port, expected) => {
    const { api } = await startKit({ dialect });
    expect((await api[port].inject({ method: 'DELETE', url: '/stake' })).json()).toEqual(expected);
  });
});

describe('the state of the game', () => {
  const common = {
    minimumGasFunds: '123456789012345678',
    hasSufficientFunds: true,
    isFrozen: false,
    isFullySynced: true,
    isHealthy: true,
    phase: 'claim',
    round: 12,
    lastWonRound: 11,
    lastPlayedRound: 12,
    lastFrozenRound: 3,
    lastSelectedRound: 13,
    lastSampleDurationSeconds: 1.5,
    block: 1912,
    reward: '10000000000000000000',
    fees: '30000000000000000',
  };

  test.each([
    ['svc', { ...common, lastSampleDuration: '1.5s' }],
    ['swarm', common],
  ] as const)('in %s', async (dialect, expected) => {
    const kit = await startKit({ dialect });
    const { code, body } = await ask('GET', '/redistributionstate', undefined, { kit });
    expect({ code, body }).toEqual({ code: 200, body: expected });
  });

  test.each([
    ['game', 'failed to get redistribution status'],
    ['funds', 'failed to calculate if node has enough funds to play'],
  ])('fails with a broken %s', async (what, message) => {
    expect(await ask('GET', '/redistributionstate', ({ failing }) => void failing.add(what))).toMatchObject(
      refused(500, message),
    );
  });

  const disabled = refused(403, 'Storage incentives are disabled. This endpoint is unavailable.');

  test.each([
    ['svc', refused(400, 'operation is supported only in full mode')],
    ['swarm', disabled],
  ] as const)('in %s is available to full nodes only', async (dialect, expected) => {
    const kit = await startKit({ dialect });
    for (const mode of ['light', 'ultra-light'] as const) {
      const turn = (knobs: Knobs) => Object.assign(knobs, { mode, incentivesEnabled: false });
      expect(await ask('GET', '/redistributionstate', turn, { kit })).toMatchObject(expected);
      expect(await ask('GET', '/rchash/0/00/00', turn, { kit })).toMatchObject(disabled);
    }
  });

  test.each(['svc', 'swarm'] as const)(
    'in %s is unavailable when the game is not played',
    async (dialect) => {
      const kit = await startKit({ dialect });
      const turn = (knobs: Knobs) => void (knobs.incentivesEnabled = false);
      expect(await ask('GET', '/redistributionstate', turn, { kit })).toMatchObject(disabled);
      expect(await ask('POST', '/redistributionstate', turn, { kit })).toMatchObject(disabled);
      expect(await ask('GET', '/rchash/0/00/00', turn, { kit })).toMatchObject(disabled);
    },
  );
});

describe('a sample on demand', () => {
  const hex = (value: number, length = 32) => value.toString(16).padStart(2, '0').repeat(length);
  const plain = {
    proofSegments: [hex(1)],
    proveSegment: hex(2),
    proofSegments2: [hex(3)],
    proveSegment2: hex(4),
    chunkSpan: 4096,
    proofSegments3: [hex(5)],
    postageProof: {
      signature: hex(6, 65),
      postageId: hex(7),
      index: 'ab00000001',
      timeStamp: '180000000000000f',
    },
  };
  const soc = [{ signer: hex(8, 20), signature: hex(9, 65), identifier: hex(10), chunkAddr: hex(11) }];

  test.each([
    ['svc', []],
    ['swarm', null],
  ] as const)('in %s', async (dialect, none) => {
    const kit = await startKit({ dialect });
    const { code, body, knobs } = await ask('GET', `/rchash/3/${ONES}/${TWOS}`, undefined, { kit });
    expect({ code, body }).toEqual({
      code: 200,
      body: {
        hash: hex(0xcd),
        proofs: {
          proof1: { ...plain, socProof: none },
          proof2: { ...plain, socProof: soc },
          proofLast: { ...plain, socProof: none },
        },
        durationSeconds: 0.25,
      },
    });
    expect(knobs.staked).toEqual([
      { depth: 3, anchor1: new Uint8Array(32).fill(0x11), anchor2: new Uint8Array(32).fill(0x22) },
    ]);
  });

  test('has a depth from 0 to 255 and anchors in hex', async () => {
    expect(await ask('GET', `/rchash/0/${ONES}/${TWOS}`)).toMatchObject({ code: 200 });
    expect(await ask('GET', `/rchash/255/${ONES}/${TWOS}`)).toMatchObject({ code: 200 });
    for (const [path, reason] of [
      [`256/${ONES}/${TWOS}`, 'depth: value out of range'],
      [`x/${ONES}/${TWOS}`, 'depth: invalid syntax'],
      [`1/6/${TWOS}`, 'anchor1: odd length hex string'],
      [`1/00/${TWOS}`, 'anchor1: want len:32'],
      [`1/${ONES}/xx`, "anchor2: invalid hex byte: U+0078 'x'"],
    ]) {
      expect(await ask('GET', `/rchash/${path}`)).toMatchObject({
        code: 400,
        body: { code: 400, message: 'invalid path params', reasons: [reason] },
      });
    }
  });

  test('is refused when too many others are requested', async () => {
    const { api, services } = await startKit();
    services.redistribution.prove = () =>
      Promise.reject(new IncentivesError('SAMPLING_BUSY', '8 samples are under way'));
    const answer = await api.main.get(`/rchash/0/${ONES}/${TWOS}`);
    expect(answer.json()).toEqual({
      code: 503,
      message: 'Too many reserve samples are being made. Try again later.',
    });
  });

  test('fails when it cannot be made', async () => {
    const turn = ({ failing }: Knobs) => void failing.add('sample');
    expect(await ask('GET', `/rchash/0/${ONES}/${TWOS}`, turn)).toMatchObject(
      refused(500, 'failed making sample with proofs'),
    );
  });
});
