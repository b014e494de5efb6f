import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../node/api/dialect.ts';
import { SwapError } from '../../../node/swap/errors.ts';
import { CHEQUEBOOK, PAYMENT_HASH, SOME_CASHOUT, SOME_CHEQUE } from './fake-swap.ts';
import { type Knobs, startKit } from './kit.ts';

const PEER = '07'.repeat(32);
const OTHER = '08'.repeat(32);

interface Asked {
  readonly turn?: (knobs: Knobs) => void;
  readonly dialect?: DialectName;
  readonly headers?: Record<string, string>;
}

async function ask(method: 'GET' | 'POST', url: string, { turn, dialect = 'svc', headers = {} }: Asked = {}) {
  const { api, knobs } = await startKit({ dialect });
  knobs.cheques = [
    { peer: PEER, received: SOME_CHEQUE, sent: undefined },
    { peer: OTHER, received: undefined, sent: { ...SOME_CHEQUE, cumulativePayout: 5n } },
  ];
  turn?.(knobs);
  const answer = await api.main.inject({ method, url, headers });
  return { code: answer.statusCode, text: answer.body, body: answer.json(), paid: knobs.paid };
}

const refused = async (method: 'GET' | 'POST', url: string, asked: Asked) => {
  const { body } = await ask(method, url, asked);
  return [body.code, body.message];
};

describe('settlements', () => {
  test('are the payouts of the last cheques, with all their digits', async () => {
    const { text } = await ask('GET', '/settlements');
    expect(text).toContain('"totalReceived":18446744073709551616,"totalSent":5');
    expect(text).toContain(`{"peer":"${PEER}","received":18446744073709551616,"sent":0}`);
    const swarm = await ask('GET', '/settlements', { dialect: 'swarm' });
    expect(swarm.body.totalReceived).toBe('18446744073709551616');
    expect((await ask('GET', `/settlements/${OTHER}`)).body).toEqual({ peer: OTHER, received: 0, sent: 5 });
  });

  test('that do not exist or cannot be read', async () => {
    const none = (knobs: Knobs) => void (knobs.cheques = []);
    expect((await ask('GET', '/settlements', { turn: none })).body).toEqual({
      totalReceived: 0,
      totalSent: 0,
      settlements: [],
    });
    expect(await refused('GET', `/settlements/${PEER}`, { turn: none })).toEqual([
      404,
      'no settlements for peer',
    ]);
    const broken = (knobs: Knobs) => void knobs.failing.add('cheques');
    expect(await refused('GET', '/settlements', { turn: broken })).toEqual([500, 'can not get settlements']);
    expect(await refused('GET', `/settlements/${PEER}`, { turn: broken })).toEqual([
      500,
      'can not get settlements for peer',
    ]);
    expect((await ask('GET', '/settlements/x')).body.reasons).toEqual(["peer: invalid hex byte: U+0078 'x'"]);
  });
});

describe('cheques', () => {
  const shown = { beneficiary: 'ab'.repeat(20), chequebook: 'c1'.repeat(20), payout: '18446744073709551616' };

  test('with one peer and with all', async () => {
    const one = { peer: PEER, lastreceived: shown, lastsent: null };
    expect((await ask('GET', `/chequebook/cheque/${PEER}`)).body).toEqual(one);
    const { body } = await ask('GET', '/chequebook/cheque');
    expect(body.lastcheques).toEqual([
      one,
      { peer: OTHER, lastreceived: null, lastsent: { ...shown, payout: '5' } },
    ]);
    const swarm = await ask('GET', `/chequebook/cheque/${PEER}`, { dialect: 'swarm' });
    expect(swarm.body.lastreceived.beneficiary).toBe('0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB');
  });

  test('with no peer', async () => {
    const turn = (knobs: Knobs) => void (knobs.cheques = []);
    const url = `/chequebook/cheque/${PEER}`;
    expect((await ask('GET', '/chequebook/cheque', { turn })).body).toEqual({ lastcheques: [] });
    expect(await refused('GET', url, { turn })).toEqual([404, 'no prior cheque']);
    const swarm = await ask('GET', url, { turn, dialect: 'swarm' });
    expect([swarm.code, swarm.body]).toEqual([200, { peer: PEER, lastreceived: null, lastsent: null }]);
    const broken = (knobs: Knobs) => void knobs.failing.add('cheques');
    expect(await refused('GET', url, { turn: broken })).toEqual([500, 'cannot get last cheque for peer']);
    expect(await refused('GET', '/chequebook/cheque', { turn: broken })).toEqual([
      500,
      'cannot get last cheque for all peers',
    ]);
  });
});

describe('cashing', () => {
  const url = `/chequebook/cashout/${PEER}`;
  const cheque = {
    beneficiary: 'ab'.repeat(20),
    chequebook: 'c1'.repeat(20),
    payout: '18446744073709551616',
  };

  test('before, during and after', async () => {
    const status = async (cashout: Knobs['cashout']) =>
      (await ask('GET', url, { turn: (knobs) => void (knobs.cashout = cashout) })).body;
    expect(await status({ last: undefined, uncashedAmount: 9n })).toEqual({
      peer: PEER,
      lastCashedCheque: null,
      transactionHash: null,
      result: null,
      uncashedAmount: '9',
    });
    const { transactionHash } = SOME_CASHOUT;
    const pending = { ...SOME_CASHOUT, state: 'pending', result: undefined } as const;
    expect(await status({ last: pending, uncashedAmount: 0n })).toEqual({
      peer: PEER,
      lastCashedCheque: cheque,
      transactionHash,
      result: null,
      uncashedAmount: '0',
    });
    expect(await status({ last: SOME_CASHOUT, uncashedAmount: 2n })).toMatchObject({
      transactionHash,
      result: { recipient: 'ee'.repeat(20), lastPayout: '7', bounced: true },
      uncashedAmount: '2',
    });
  });

  test('is answered once it is sent, with the requested gas', async () => {
    const headers = { 'gas-price': '12', 'gas-limit': '99' };
    const { code, body, paid } = await ask('POST', url, { headers });
    expect([code, body]).toEqual([201, { transactionHash: PAYMENT_HASH }]);
    expect(paid).toEqual([{ what: 'cashout', amount: PEER, gas: { gasPrice: 12n, gasLimit: 99n } }]);
    expect((await ask('POST', url, { dialect: 'swarm' })).code).toBe(200);
    expect((await ask('POST', url, { headers: { 'gas-limit': 'much' } })).body.message).toBe(
      'invalid header params',
    );
  });

  test('that fails, and without a cheque', async () => {
    const none = (knobs: Knobs) => void (knobs.cheques = []);
    expect(await refused('GET', url, { turn: none })).toEqual([404, 'no prior cheque']);
    expect(await refused('POST', url, { turn: none })).toEqual([404, 'no prior cheque']);
    expect(await refused('POST', url, { turn: none, dialect: 'swarm' })).toEqual([500, 'cannot cash cheque']);
    const broken = (knobs: Knobs) => {
      knobs.failing.add('cashout');
      knobs.payError = new Error('connection refused');
    };
    expect(await refused('GET', url, { turn: broken })).toEqual([500, 'cannot get cashout status']);
    expect(await refused('POST', url, { turn: broken })).toEqual([500, 'cannot cash cheque']);
  });

  test('happens one at a time; a second request is refused after its path was checked', async () => {
    const { api, knobs } = await startKit();
    knobs.cheques = [{ peer: PEER, received: SOME_CHEQUE, sent: undefined }];
    const held = Promise.withResolvers<void>();
    knobs.cashing = held.promise;
    const first = api.main.post(url);
    await new Promise((resolve) => setImmediate(resolve));
    const second = await api.main.post(url);
    expect(second.json()).toEqual({ code: 429, message: 'simultaneous on-chain operations not supported' });
    expect((await api.main.post('/chequebook/cashout/x')).statusCode).toBe(400);
    held.resolve();
    expect((await first).statusCode).toBe(201);
    expect((await api.main.post(url)).statusCode).toBe(201);
  });
});

describe('the chequebook', () => {
  test('has an address and two balances', async () => {
    expect((await ask('GET', '/chequebook/address')).body).toEqual({ chequebookAddress: 'cb'.repeat(20) });
    const swarm = await ask('GET', '/chequebook/address', { dialect: 'swarm' });
    expect(swarm.body.chequebookAddress.toLowerCase()).toBe(`0x${Buffer.from(CHEQUEBOOK).toString('hex')}`);
    expect((await ask('GET', '/chequebook/balance')).body).toEqual({
      totalBalance: '100',
      availableBalance: '-5',
    });
    const broken = (knobs: Knobs) => void knobs.failing.add('chequebook');
    expect(await refused('GET', '/chequebook/balance', { turn: broken })).toEqual([
      500,
      'cannot get chequebook balance',
    ]);
  });

  test.each([
    ['deposit', 'cannot deposit'],
    ['withdraw', 'cannot withdraw'],
  ])('%s', async (what, failed) => {
    const url = `/chequebook/${what}`;
    const amount = 2n ** 70n;
    const { code, body, paid } = await ask('POST', `${url}?amount=${amount}`, {
      headers: { 'gas-price': '3' },
    });
    expect([code, body]).toEqual([201, { transactionHash: PAYMENT_HASH }]);
    expect(paid).toEqual([{ what, amount, gas: { gasPrice: 3n } }]);
    expect((await ask('POST', `${url}?amount=1`, { dialect: 'swarm' })).code).toBe(200);
    expect((await ask('POST', url)).body.reasons).toEqual(['amount: want required:']);
    expect((await ask('POST', `${url}?amount=-1`)).body.reasons).toEqual(['amount: want min:0']);
    const poor = (knobs: Knobs) => void (knobs.payError = new SwapError('INSUFFICIENT_TOKEN_BALANCE'));
    expect(await refused('POST', `${url}?amount=1`, { turn: poor })).toEqual([400, 'insufficient funds']);
    const broken = (knobs: Knobs) => void (knobs.payError = new Error('connection refused'));
    expect(await refused('POST', `${url}?amount=1`, { turn: broken })).toEqual([500, failed]);
  });
});

describe('a node without', () => {
  const SWAP = [403, 'Swap is disabled. This endpoint is unavailable.'];
  const BOOK = [403, 'Chequebook is disabled. This endpoint is unavailable.'];

  test('swap answers 403, whatever the method', async () => {
    const turn = (knobs: Knobs) => {
      knobs.swapEnabled = false;
      knobs.chequebookEnabled = false;
    };
    for (const url of [
      '/settlements',
      `/settlements/${PEER}`,
      '/chequebook/cheque',
      `/chequebook/cheque/${PEER}`,
    ])
      for (const method of ['GET', 'POST'] as const)
        expect(await refused(method, url, { turn })).toEqual(SWAP);
    for (const method of ['GET', 'POST'] as const)
      expect(await refused(method, `/chequebook/cashout/${PEER}`, { turn })).toEqual(SWAP);
    for (const url of [
      '/chequebook/address',
      '/chequebook/balance',
      '/chequebook/deposit',
      '/chequebook/withdraw',
    ])
      for (const method of ['GET', 'POST'] as const)
        expect(await refused(method, url, { turn })).toEqual(BOOK);
  });

  test('a chequebook still shows the cheques that it receives', async () => {
    const turn = (knobs: Knobs) => void (knobs.chequebookEnabled = false);
    expect((await ask('GET', '/settlements', { turn })).code).toBe(200);
    expect(await refused('GET', '/chequebook/balance', { turn })).toEqual(BOOK);
    expect((await ask('GET', '/node', { turn })).body).toMatchObject({
      chequebookEnabled: false,
      swapEnabled: true,
    });
  });
});
