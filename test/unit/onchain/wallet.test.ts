import { expect, test } from 'vitest';
import { encodeTransfer } from '../../../node/onchain/contracts.ts';
import type { TransactionRequest } from '../../../node/onchain/ports.ts';
import { createWallet } from '../../../node/onchain/wallet.ts';

const TOKEN = `0x${'70'.repeat(20)}`;
const TO = new Uint8Array(20).fill(0xa1);
const forever = new AbortController().signal;

function setUp(withdrawalAddresses: string[] = []) {
  const sent: TransactionRequest[] = [];
  const wallet = createWallet(
    { token: TOKEN, account: new Uint8Array(20).fill(1), withdrawalAddresses },
    {
      chain: { call: async () => `0x${'00'.repeat(31)}2a`, nativeBalance: async () => 7n },
      transactions: {
        async send(request) {
          sent.push(request);
          return '0xhash';
        },
      },
    },
  );
  return { wallet, sent };
}

test('tokens are sent with a fixed gas limit, at the gas price of the request', async () => {
  const { wallet, sent } = setUp();
  expect(await wallet.sendTokens(TO, 5n, { gasPrice: 9n, gasLimit: 21_000n }, forever)).toBe('0xhash');
  expect(sent).toEqual([
    {
      to: TOKEN,
      data: encodeTransfer(TO, 5n),
      gasLimit: 90_000n,
      gasPrice: 9n,
      description: 'token transfer',
    },
  ]);
});

test('native coin is sent with the gas limit of the request, or else with that of a contract', async () => {
  const { wallet, sent } = setUp();
  await wallet.sendNative(TO, 5n, { gasLimit: 21_000n, gasPrice: 9n }, forever);
  await wallet.sendNative(TO, 5n, { gasLimit: 0n }, forever);
  await wallet.sendNative(TO, 5n, {}, forever);
  expect(sent.map(({ gasLimit }) => gasLimit)).toEqual([21_000n, 300_000n, 300_000n]);
  expect(sent[0]).toMatchObject({ to: `0x${'a1'.repeat(20)}`, data: '0x', value: 5n, gasPrice: 9n });
});

test('only listed addresses may receive', () => {
  const { wallet } = setUp([`0x${'a1'.repeat(20)}`]);
  expect([wallet.mayReceive(TO), wallet.mayReceive(new Uint8Array(20))]).toEqual([true, false]);
  expect(setUp().wallet.mayReceive(TO)).toBe(false);
});

test('balances come from the chain', async () => {
  const { wallet } = setUp();
  expect([await wallet.tokenBalance(forever), await wallet.nativeBalance(forever)]).toEqual([42n, 7n]);
});
