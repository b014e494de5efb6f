import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { ChainError, type ChainErrorCode } from '../../../formats/ethereum/chain-error.ts';
import { sentTransaction, TX_HASH } from './fake-transactions.ts';
import { type Knobs, startKit, WITHDRAWAL_ADDRESS } from './kit.ts';

const ONE = `/transactions/${TX_HASH}`;
const OTHER = `0x${'ef'.repeat(32)}`;
const INFO = {
  transactionHash: TX_HASH,
  to: '12'.repeat(20),
  nonce: 7,
  gasPrice: '1250000014',
  gasLimit: 133_000,
  gasTipBoost: 25,
  gasTipCap: '1250000000',
  gasFeeCap: '1250000014',
  data: '0x0102',
  created: '2026-01-02T03:04:05Z',
  description: 'a call',
  value: '3',
};
const MINED = sentTransaction({
  hash: OTHER,
  outcome: {
    kind: 'mined',
    receipt: { transactionHash: OTHER, status: 'success', blockNumber: 1, gasUsed: 1n, logs: [] },
  },
});

interface Asked {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Record<string, string>;
  readonly dialect?: 'svc' | 'swarm';
  readonly turn?: (knobs: Knobs) => void;
}

async function ask(url: string, { method = 'GET', headers = {}, dialect = 'svc', turn }: Asked = {}) {
  const { api, knobs } = await startKit({ dialect });
  knobs.transactions = [sentTransaction(), MINED];
  turn?.(knobs);
  const answer = await api.main.inject({ method, url, headers });
  return { code: answer.statusCode, body: answer.json(), knobs };
}

const fails = (code: ChainErrorCode) => (knobs: Knobs) => {
  knobs.transactionError = new ChainError(code, 'refused');
};

describe('transactions', () => {
  test('the list has those that are not mined yet', async () => {
    expect((await ask('/transactions')).body).toEqual({ pendingTransactions: [INFO] });
  });

  test('an empty list is a list', async () => {
    const { body } = await ask('/transactions', { turn: (knobs) => (knobs.transactions = []) });
    expect(body).toEqual({ pendingTransactions: [] });
  });

  test('one transaction is found by its hash in any case, with and without prefix, mined or not', async () => {
    expect((await ask(ONE)).body).toEqual(INFO);
    expect((await ask(`/transactions/${TX_HASH.slice(2).toUpperCase()}`)).body).toEqual(INFO);
    expect((await ask(`/transactions/${OTHER}`)).body).toMatchObject({ transactionHash: OTHER });
  });

  test('public clients receive the recipient with its prefix', async () => {
    expect((await ask(ONE, { dialect: 'swarm' })).body).toEqual({ ...INFO, to: `0x${'12'.repeat(20)}` });
  });

  test.each(['0x12', 'nonsense', '00'.repeat(32)])('%s is an unknown transaction', async (hash) => {
    expect((await ask(`/transactions/${hash}`)).body).toEqual({ code: 404, message: 'unknown transaction' });
  });

  test.each(['/transactions', ONE])('%s reports when the store fails', async (url) => {
    const { body } = await ask(url, { turn: (knobs) => void knobs.failing.add('transactions') });
    expect(body).toEqual({ code: 500, message: 'cannot get transaction' });
  });

  test('resending returns the same hash', async () => {
    const { code, body, knobs } = await ask(ONE.replace('0xcd', '0xCD'), { method: 'POST' });
    expect([code, body, knobs.resent]).toEqual([200, { transactionHash: TX_HASH }, [TX_HASH]]);
  });

  test('cancelling returns the hash of the replacement and accepts a gas price', async () => {
    const headers = { 'gas-price': '12', 'gas-limit': 'not read' };
    const { code, body, knobs } = await ask(`/transactions/${OTHER}`, { method: 'DELETE', headers });
    expect([code, body]).toEqual([200, { transactionHash: TX_HASH }]);
    expect(knobs.cancelled).toEqual([{ hash: OTHER, gasPrice: 12n }]);
    expect((await ask(ONE, { method: 'DELETE' })).knobs.cancelled[0]?.gasPrice).toBeUndefined();
  });

  test('an invalid gas price is refused', async () => {
    const { code, body } = await ask(ONE, { method: 'DELETE', headers: { 'gas-price': 'much' } });
    expect([code, body.message]).toEqual([400, 'invalid header params']);
  });

  describe.each(['POST', 'DELETE'] as const)('%s', (method) => {
    test.each([
      ['TRANSACTION_UNKNOWN', 404, 'unknown transaction'],
      ['ALREADY_IMPORTED', 400, 'already imported'],
      ['GAS_PRICE_TOO_LOW', 400, "can't resend transaction", 'gas-price: refused'],
      [
        'RPC_UNREACHABLE',
        500,
        "can't resend transaction",
        'chain: the endpoint does not answer, try again later',
      ],
    ] as const)('%s is %i %s', async (error, code, message, ...reasons) => {
      const answer = await ask(ONE, { method, turn: fails(error) });
      expect(answer.body).toEqual({ code, message, ...(reasons.length === 0 ? {} : { reasons }) });
    });
  });
});

describe('withdrawal', () => {
  const withdraw = (coin: string, query: string, more: Asked = {}) =>
    ask(`/wallet/withdraw/${coin}?${query}`, { ...more, method: 'POST' });
  const allowed = `address=${toHex(WITHDRAWAL_ADDRESS)}`;

  test.each([
    ['svc', 'tokens'],
    ['BZZ', 'tokens'],
    ['NativeToken', 'native'],
  ])('%s sends %s and answers the hash', async (coin, kind) => {
    for (const dialect of ['svc', 'swarm'] as const) {
      const headers = { 'gas-price': '99', 'gas-limit': '50000' };
      const { code, body, knobs } = await withdraw(coin, `amount=5&${allowed}`, { dialect, headers });
      expect([code, body]).toEqual([200, { transactionHash: TX_HASH }]);
      const gas = { gasPrice: 99n, gasLimit: 50_000n };
      expect(knobs.withdrawals).toEqual([{ coin: kind, to: 'a1'.repeat(20), amount: 5n, ...gas }]);
    }
  });

  test('the whole balance may be withdrawn, but not one unit more', async () => {
    expect((await withdraw('svc', `amount=${10n ** 18n}&${allowed}`)).code).toBe(200);
    const { body, knobs } = await withdraw('svc', `amount=${10n ** 18n + 1n}&${allowed}`);
    expect([body, knobs.withdrawals]).toEqual([{ code: 400, message: 'not enough balance' }, []]);
    const native = await withdraw('nativetoken', `amount=${2n * 10n ** 18n + 1n}&${allowed}`);
    expect(native.body).toEqual({ code: 400, message: 'not enough balance' });
  });

  test('gas headers, query, coin, address and balance are checked in this order', async () => {
    const tooMuch = `amount=${10n ** 30n}`;
    const other = `address=${'b2'.repeat(20)}`;
    const messageOf = async (coin: string, query: string, headers = {}) =>
      (await withdraw(coin, query, { headers })).body.message as string;
    expect(await messageOf('gold', '', { 'gas-limit': 'x' })).toBe('invalid header params');
    expect(await messageOf('gold', other)).toBe('invalid query params');
    expect(await messageOf('gold', `${tooMuch}&${other}`)).toBe(
      'only SVC or NativeToken options are accepted',
    );
    expect(await messageOf('svc', `${tooMuch}&${other}`)).toBe('provided address not whitelisted');
    expect(await messageOf('svc', `${tooMuch}&${allowed}`)).toBe('not enough balance');
  });

  test('public clients see their own names of the coins', async () => {
    const { body } = await withdraw('gold', `amount=1&${allowed}`, { dialect: 'swarm' });
    expect(body.message).toBe('only BZZ or NativeToken options are accepted');
  });

  test.each([
    ['the zero address', `amount=1&address=${'00'.repeat(20)}`, 'address: want required:'],
    ['no amount', allowed, 'amount: want required:'],
    ['an amount below zero', `amount=-1&${allowed}`, 'amount: want min:0'],
  ])('%s is refused', async (_, query, reason) => {
    const { code, body, knobs } = await withdraw('nativetoken', query);
    expect([code, body.reasons, knobs.withdrawals]).toEqual([400, [reason], []]);
  });

  test.each([
    ['svc', 'token', 'unable to get balance'],
    ['svc', 'transfer', 'unable to transfer amount'],
    ['nativetoken', 'native', 'unable to acquire balance from the chain backend'],
    ['nativetoken', 'transfer', 'unable to transfer'],
  ])('%s with a failing %s: %s', async (coin, failing, message) => {
    const turn = (knobs: Knobs) => void knobs.failing.add(failing);
    expect((await withdraw(coin, `amount=1&${allowed}`, { turn })).body).toEqual({ code: 500, message });
  });

  test('a node without a chain has nothing to withdraw', async () => {
    const turn = (knobs: Knobs) => void (knobs.mode = 'ultra-light');
    const { code, body } = await withdraw('svc', `amount=1&${allowed}`, { turn });
    expect([code, body.message]).toEqual([403, 'Chain is disabled. This endpoint is unavailable.']);
  });
});
