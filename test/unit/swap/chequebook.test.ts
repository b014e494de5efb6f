import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { Lock } from '../../../node/env/turns/lock.ts';
import { encodeTransfer } from '../../../node/onchain/contracts.ts';
import { recoverIssuer } from '../../../node/swap/cheque.ts';
import { ChequeStore } from '../../../node/swap/cheque-store.ts';
import { Chequebook } from '../../../node/swap/chequebook.ts';
import { encodeWithdraw } from '../../../node/swap/contracts.ts';
import { CHAIN_ID, TOKEN } from '../onchain/addresses.ts';
import { memoryRecords, testKey } from '../p2p/memory-nodes.ts';
import { never } from '../protocols/exchange-nodes.ts';
import { SentTransactions } from './sent-transactions.ts';
import { SwapChain } from './swap-chain.ts';

const signer = createSigner(testKey(1));
const peer = (n: number) => ({
  overlayHex: toHex(new Uint8Array(32).fill(n)),
  ethereum: new Uint8Array(20).fill(n),
});

function world(state = memoryRecords()) {
  const chain = new SwapChain();
  const address = chain.deploy(testKey(1), 1_000n);
  chain.tokens.set(toHex(signer.address), 500n);
  const transactions = new SentTransactions();
  const open = () =>
    new Chequebook(
      { address, token: TOKEN, chainId: CHAIN_ID },
      { chain, transactions, cheques: new ChequeStore(state), signer },
    );
  return { chain, address, transactions, book: open(), open };
}

test('every cheque promises more than the previous one, and is on disk when it is returned', async () => {
  const { book, open } = world();
  const first = await book.issue(peer(1), { price: 100n, deduction: 0n }, never);
  expect(first.available).toBe(900n);
  expect(first.issued.cheque.cumulativePayout).toBe(100n);
  expect(recoverIssuer(first.issued.cheque, CHAIN_ID)).toEqual(signer.address);
  const again = open();
  expect(again.lastIssued(peer(1).ethereum)).toEqual(first.issued);
  const second = await again.issue(peer(1), { price: 50n, deduction: 0n }, never);
  expect(second.issued).toMatchObject({ unconfirmed: 150n, cheque: { cumulativePayout: 150n } });
  expect(
    (await again.issue(peer(2), { price: 1n, deduction: 0n }, never)).issued.cheque.cumulativePayout,
  ).toBe(1n);
  expect(await open().availableBalance(never)).toBe(849n);
});

test('the available amount falls below zero when promised tokens are gone', async () => {
  const { book, chain, address } = world();
  await book.issue(peer(1), { price: 600n, deduction: 0n }, never);
  chain.book(address).balance = 200n;
  expect(await book.availableBalance(never)).toBe(-400n);
  await expect(book.issue(peer(1), { price: 1n, deduction: 0n }, never)).rejects.toThrow(
    'chequebook out of funds: -400 available, 1 needed',
  );
});

test('a cheque that is cashed while the chain is asked never makes more available than there is', async () => {
  const { book, chain, address } = world();
  await book.issue(peer(1), { price: 100n, deduction: 0n }, never);
  const answer = chain.call.bind(chain);
  const turns = new Lock();
  // The cashing's block comes between the two answers.
  chain.call = (request, signal) =>
    turns.run(async () => {
      const answered = await answer(request, signal);
      chain.book(address).balance = 900n;
      chain.book(address).paidOut.set(toHex(peer(1).ethereum), 100n);
      return answered;
    });
  expect(await book.availableBalance(never)).toBeLessThanOrEqual(900n);
  expect(await book.availableBalance(never)).toBe(900n);
});

test('a deposit is a transfer of tokens, of no more than there are', async () => {
  const { book, transactions, address } = world();
  await book.deposit(500n, { gasPrice: 4n }, never);
  expect(transactions.sent).toMatchObject([
    { to: TOKEN, data: encodeTransfer(address, 500n), gasLimit: 90_000n, gasFeeCap: 4n },
  ]);
  await expect(book.deposit(501n, {}, never)).rejects.toThrow(
    'insufficient token balance: 500 in the account, 501 needed',
  );
});

test('a withdrawal takes no more than what is available', async () => {
  const { book, transactions, address } = world();
  await book.issue(peer(1), { price: 600n, deduction: 0n }, never);
  await expect(book.withdraw(401n, {}, never)).rejects.toThrow(
    'insufficient token balance: 400 available, 401 needed',
  );
  await book.withdraw(400n, {}, never);
  expect(transactions.sent).toMatchObject([
    { to: `0x${toHex(address)}`, data: encodeWithdraw(400n), gasLimit: 95_000n },
  ]);
});

test('tokens of a pending withdrawal are neither promised nor withdrawn again, even after a restart', async () => {
  const { book, open, transactions } = world();
  transactions.fate = 'pending';
  await book.withdraw(700n, {}, never);
  for (const opened of [book, open()]) {
    await expect(opened.issue(peer(1), { price: 301n, deduction: 0n }, never)).rejects.toThrow(
      'chequebook out of funds',
    );
    await expect(opened.withdraw(301n, {}, never)).rejects.toThrow('insufficient token balance');
  }
  expect((await book.issue(peer(1), { price: 300n, deduction: 0n }, never)).available).toBe(0n);
});

test('two withdrawals at once do not take the same tokens', async () => {
  const { book, transactions } = world();
  transactions.fate = 'pending';
  const both = await Promise.allSettled([book.withdraw(600n, {}, never), book.withdraw(600n, {}, never)]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
});

test('a replaced chequebook starts afresh: promises belong to their contract', async () => {
  const state = memoryRecords();
  const old = world(state);
  await old.book.issue(peer(1), { price: 100n, deduction: 0n }, never);
  const cheques = new ChequeStore(state);
  const other = old.chain.deploy(testKey(1), 50n);
  const book = new Chequebook(
    { address: other, token: TOKEN, chainId: CHAIN_ID },
    { chain: old.chain, transactions: old.transactions, cheques, signer },
  );
  expect(await book.availableBalance(never)).toBe(50n);
  expect(
    (await book.issue(peer(1), { price: 5n, deduction: 0n }, never)).issued.cheque.cumulativePayout,
  ).toBe(5n);
  expect([...cheques.allIssued(other)]).toHaveLength(1);
  expect(cheques.totalIssued(old.address)).toBe(100n);
});
