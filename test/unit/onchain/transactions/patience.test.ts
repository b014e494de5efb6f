import { expect, onTestFinished, test } from 'vitest';
import { fromHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { ChainError } from '../../../../formats/ethereum/chain-error.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { encodeApprove } from '../../../../node/onchain/contracts.ts';
import { MINED_WITHIN_MS, settleEarlier } from '../../../../node/onchain/transactions/patience.ts';
import { createTransactions } from '../../../../node/onchain/transactions/transactions.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { FakeEndpoint } from '../fake-endpoint.ts';
import { MemoryState } from '../memory-state.ts';

const signer = createSigner(fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'));
const CONTRACT = `0x${'12'.repeat(20)}`;
const TOKEN = `0x${'70'.repeat(20)}`;
const request = { to: CONTRACT, data: '0x01020304', description: 'a purchase' };
const forever = new AbortController().signal;

/** Nothing is mined until the test says so. */
function stuckChain() {
  const endpoint = new FakeEndpoint();
  endpoint.mining = false;
  const clock = new ManualClock();
  const deps = { rpc: endpoint.chain, signer, clock, log: silentLogger(), state: new MemoryState(new Map()) };
  const options = { pollIntervalMs: 1000, minimumTip: 0n, gasLimitFallback: 500_000n };
  const transactions = createTransactions(options, deps);
  onTestFinished(() => transactions.stop());
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1000) await clock.advance(1000);
  };
  const ended = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: unknown) => error,
    );
  return { endpoint, clock, transactions, pass, ended };
}

test('an operation whose transaction is stuck ends after two minutes and names it; the transaction stays pending', async () => {
  const { endpoint, transactions, pass, ended } = stuckChain();
  const work = ended(transactions.execute(request, forever));
  await pass(MINED_WITHIN_MS - 1000);
  const [sent] = transactions.pending();
  await pass(2000);
  const error = (await work) as ChainError;
  expect(error).toMatchObject({ code: 'NOT_MINED', blocking: sent?.hash });
  expect(error.message).toBe(
    `transaction ${sent?.hash} (a purchase) is not mined after 120 s and stays under way`,
  );
  endpoint.mining = true;
  await pass(3000);
  expect(transactions.find(sent!.hash)?.outcome).toMatchObject({ kind: 'mined' });
});

test('a transaction behind another names the first one, or its replacement if there is one', async () => {
  const { transactions, pass, ended } = stuckChain();
  const first = await transactions.send({ ...request, description: 'a withdrawal' }, forever);
  const replacement = await transactions.cancel(first, {}, forever);
  const work = ended(transactions.execute(request, forever));
  await pass(MINED_WITHIN_MS + 1000);
  expect(await work).toMatchObject({
    code: 'NOT_MINED',
    blocking: replacement,
    message: expect.stringMatching(/, behind 0x[0-9a-f]{64} \(a withdrawal \(cancellation\)\)$/) as string,
  });
});

test('a caller that leaves, or whose transaction is cancelled, gets exactly that error', async () => {
  const { endpoint, transactions, pass, ended } = stuckChain();
  const leaving = new AbortController();
  const left = ended(transactions.execute(request, leaving.signal));
  const work = ended(transactions.execute(request, forever));
  await pass(3000);
  leaving.abort(new Error('the client is gone'));
  expect(await left).toMatchObject({ message: 'the client is gone' });
  await transactions.cancel(transactions.pending()[1]!.hash, {}, forever);
  endpoint.mining = true;
  await pass(5000);
  expect(await work).toMatchObject({ code: 'TRANSACTION_CANCELLED' });
});

test('pending transactions of an earlier operation on the same contract are waited for as long, and no others', async () => {
  const { clock, transactions, pass, ended } = stuckChain();
  const settle = () =>
    ended(settleEarlier({ contract: CONTRACT, token: TOKEN }, { transactions, clock }, forever));
  const spender = (hex: string) => encodeApprove(fromHex(hex.repeat(20)), 5n);
  await transactions.send({ ...request, to: TOKEN, data: spender('34') }, forever);
  await transactions.send({ ...request, to: `0x${'56'.repeat(20)}` }, forever);
  expect(await settle()).toBe('done');
  await transactions.send({ ...request, to: TOKEN, data: spender('12') }, forever);
  const approval = settle();
  await pass(MINED_WITHIN_MS + 1000);
  expect(await approval).toMatchObject({ code: 'NOT_MINED' });
});
