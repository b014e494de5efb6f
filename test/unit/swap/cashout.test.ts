import { beforeEach, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { encodeWord, topicOf } from '../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { type LogEntry } from '../../../node/onchain/ports.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import { Cashout } from '../../../node/swap/cashout.ts';
import { type SignedCheque, signCheque } from '../../../node/swap/cheque.ts';
import { ChequeStore } from '../../../node/swap/cheque-store.ts';
import { encodeCash, SWAP_EVENTS } from '../../../node/swap/contracts.ts';
import { CHAIN_ID } from '../onchain/addresses.ts';
import { memoryRecords, testKey } from '../p2p/memory-nodes.ts';
import { never } from '../protocols/exchange-nodes.ts';
import { SentTransactions } from './sent-transactions.ts';
import { SwapChain } from './swap-chain.ts';

const PEER = 'aa'.repeat(32);
const SELF = createSigner(testKey(1)).address;
const RECIPIENT = new Uint8Array(20).fill(0xee);
const ISSUER = createSigner(testKey(2));

let chain: SwapChain;
let transactions: SentTransactions;
let state: KeyValueStore;
let book: Uint8Array;
let cashout: Cashout;

const hex32 = (value: bigint | Uint8Array) => toHex(encodeWord(value));

function cheque(cumulativePayout: bigint): SignedCheque {
  return signCheque({ chequebook: book, beneficiary: SELF, cumulativePayout }, ISSUER, CHAIN_ID);
}

function receive(payout: bigint): Promise<void> {
  return new ChequeStore(state).recordReceived(
    { overlayHex: PEER, ethereum: ISSUER.address },
    cheque(payout),
    {
      deducted: false,
    },
  );
}

/** As after a restart: everything from the disk. */
function open(): Cashout {
  const cheques = new ChequeStore(state);
  return new Cashout({ recipient: () => RECIPIENT }, { chain, transactions, cheques, state });
}

function pay(payout: bigint): LogEntry[] {
  const account = chain.book(book);
  const before = account.paidOut.get(toHex(SELF)) ?? 0n;
  const paid = account.balance < payout - before ? account.balance : payout - before;
  account.balance -= paid;
  account.paidOut.set(toHex(SELF), before + paid);
  const where = { address: `0x${toHex(book)}`, blockNumber: 1, transactionHash: '0x', logIndex: 0 };
  const topics = [
    topicOf(SWAP_EVENTS.ChequeCashed),
    ...[SELF, RECIPIENT, SELF].map((who) => `0x${hex32(who)}`),
  ];
  const cashed = { ...where, topics, data: `0x${hex32(paid)}${hex32(payout)}${hex32(0n)}` };
  const bounced = { ...where, topics: [topicOf(SWAP_EVENTS.ChequeBounced)], data: '0x' };
  return paid === payout - before ? [cashed] : [bounced, cashed];
}

beforeEach(async () => {
  chain = new SwapChain();
  book = chain.deploy(testKey(2), 1_000n);
  state = memoryRecords();
  transactions = new SentTransactions();
  transactions.logs = ({ data }) => pay(BigInt(`0x${data.slice(74, 138)}`));
  await receive(300n);
  cashout = open();
});

test('before any cashing all of the last cheque is open', async () => {
  expect(await cashout.status(PEER, never)).toEqual({ last: undefined, uncashedAmount: 300n });
  await expect(cashout.status('bb'.repeat(32), never)).rejects.toThrow('no prior cheque');
  await expect(cashout.cash('bb'.repeat(32), {}, never)).rejects.toThrow('no prior cheque');
});

test('cashing presents the last cheque to its chequebook, for the recipient', async () => {
  await cashout.cash(PEER, {}, never);
  const [sent] = transactions.sent;
  expect(sent).toMatchObject({ to: `0x${toHex(book)}`, gasLimit: 300_000n, description: 'cheque cashout' });
  expect(sent?.data).toBe(encodeCash(RECIPIENT, cheque(300n)));
  await cashout.cash(PEER, { gasPrice: 7n, gasLimit: 123n }, never);
  expect(transactions.sent[1]).toMatchObject({ gasLimit: 123n, gasFeeCap: 7n });
});

test('while it is pending its expected payout counts as cashed, even after a restart', async () => {
  transactions.fate = 'pending';
  const hash = await cashout.cash(PEER, {}, never);
  await receive(450n);
  const pending = { cheque: cheque(300n), transactionHash: hash, state: 'pending', result: undefined };
  expect(await open().status(PEER, never)).toEqual({ last: pending, uncashedAmount: 150n });
});

test('when it is done the result is what the event says', async () => {
  await cashout.cash(PEER, {}, never);
  const { last, uncashedAmount } = await open().status(PEER, never);
  expect(last?.state).toBe('done');
  expect(last?.result).toEqual({
    recipient: RECIPIENT,
    totalPayout: 300n,
    cumulativePayout: 300n,
    bounced: false,
  });
  expect(uncashedAmount).toBe(0n);
  await cashout.cash(PEER, {}, never);
  expect((await cashout.status(PEER, never)).last?.result?.totalPayout).toBe(0n);
});

test('a bounced cheque is reported, and its rest is paid once there are tokens again', async () => {
  chain.book(book).balance = 100n;
  await cashout.cash(PEER, {}, never);
  expect((await cashout.status(PEER, never)).last?.result).toMatchObject({
    totalPayout: 100n,
    bounced: true,
  });
  chain.book(book).balance = 1_000n;
  await cashout.cash(PEER, {}, never);
  expect((await cashout.status(PEER, never)).last?.result).toMatchObject({
    totalPayout: 200n,
    bounced: false,
  });
});

test.each(['reverted', 'cancelled'] as const)(
  '%s: what is open is what the chain has not paid',
  async (fate) => {
    await cashout.cash(PEER, {}, never);
    await receive(450n);
    transactions.fate = fate;
    await cashout.cash(PEER, {}, never);
    const { last, uncashedAmount } = await open().status(PEER, never);
    expect(last?.state).toBe(fate);
    expect(last?.result).toBeUndefined();
    expect(uncashedAmount).toBe(150n);
  },
);

test('a reorganisation that removes the transaction makes it pending again', async () => {
  const hash = await cashout.cash(PEER, {}, never);
  transactions.decide(hash, 'pending');
  expect((await cashout.status(PEER, never)).last?.state).toBe('pending');
});

test('a refused transaction leaves the previous one in place', async () => {
  const hash = await cashout.cash(PEER, {}, never);
  transactions.sendError = new ChainError('INSUFFICIENT_NATIVE', 'no coins');
  await receive(450n);
  await expect(open().cash(PEER, {}, never)).rejects.toThrow('no coins');
  expect((await open().status(PEER, never)).last?.transactionHash).toBe(hash);
});

test('after a crash before the transaction is stored nothing was cashed, and the chain says what is open', async () => {
  transactions.crash = 'before writing';
  await expect(cashout.cash(PEER, {}, never)).rejects.toThrow('crash');
  expect(await open().status(PEER, never)).toEqual({ last: undefined, uncashedAmount: 300n });
});

test('after a crash before the answer the cashing is known', async () => {
  transactions.crash = 'before answering';
  await expect(cashout.cash(PEER, {}, never)).rejects.toThrow('crash');
  const { last, uncashedAmount } = await open().status(PEER, never);
  expect([last?.state, uncashedAmount]).toEqual(['done', 0n]);
});
