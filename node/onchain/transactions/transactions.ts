/**
 * Sends transactions: one nonce sequence, one at a time. `node-behaviour.md` 7.1. A transaction is recorded before it is
 * sent, and what is recorded is sent again after a crash, a drop or a reorganisation: its nonce lets it happen once. So no
 * nonce of a stored transaction is reused, except by `cancel`. An operation that must not happen twice notes its hash in
 * `beforeSend`, and continues with `find` and `wait`.
 */

import type { Clock } from '../../../formats/clock.ts';
import type { Signer } from '../../../formats/crypto/signer.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { signTransaction, type TransactionFields } from '../../../formats/ethereum/signed-transaction.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import { Lock } from '../../env/turns/lock.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import type { CallRequest, SendingChain } from '../chain.ts';
import { toAddress } from '../contracts.ts';
import { TRANSACTION_METRICS } from '../metrics.ts';
import { type TransactionRequest, type Transactions } from '../ports.ts';
import { type Fees, feesFor, gasLimitFor, replacementFees, TIP_BOOST_PERCENT, TRANSFER_GAS } from './fees.ts';
import { Monitor } from './monitor.ts';
import { minedInTime } from './patience.ts';
import { refusalOf } from './refusal.ts';
import {
  createTransactionRecords,
  type TransactionRecord,
  type TransactionRecords,
} from './transaction-records.ts';

interface TransactionsOptions {
  readonly pollIntervalMs: number;
  /** Tip without a gas price, base units per gas. */
  readonly minimumTip: bigint;
  /** Gas of a call that cannot be estimated. */
  readonly gasLimitFallback: bigint;
}

interface TransactionsDeps {
  readonly rpc: SendingChain;
  readonly signer: Signer;
  readonly clock: Clock;
  /** Subsystem `transactions`. */
  readonly state: KeyValueStore;
  readonly log: Logger;
  readonly metrics?: Metrics;
}

export interface TransactionService extends Transactions {
  start(): void;
  /** Waiting callers get `MONITOR_CLOSED`; pending transactions wait for the next start. */
  stop(): Promise<void>;
}

export function createTransactions(options: TransactionsOptions, deps: TransactionsDeps): TransactionService {
  const account = toAddress(deps.signer.address);
  const records = createTransactionRecords(deps.state);
  const { metrics: registry, ...others } = deps;
  const metrics = registry?.register(TRANSACTION_METRICS);
  const monitor = new Monitor(
    { pollIntervalMs: options.pollIntervalMs, account },
    { ...others, records, metrics },
  );
  const lock = new Lock();
  const context = { ...options, ...others, account, records, monitor, metrics };
  let chainId: bigint | undefined;

  const service: TransactionService = {
    start: () => monitor.watch(),
    stop: () => monitor.stop(),
    send: (request, signal) =>
      lock.run(async () => {
        chainId ??= await deps.rpc.chainId(signal);
        return send(request, { ...context, chainId, signal });
      }, signal),
    wait: (hash, signal) => monitor.wait(hash.toLowerCase(), signal),
    async execute(request, signal) {
      const hash = await service.send(request, signal);
      const receipt = await minedInTime(hash, { transactions: service, clock: deps.clock }, signal);
      if (receipt.status === 'reverted') throw await revertError(request, { ...context, signal });
      return receipt;
    },
    find: (hash) => records.find(hash),
    pending: () => records.pending(),
    resend: (hash, signal) => resend(hash, { ...context, signal }),
    cancel: (hash, { gasPrice }, signal) =>
      lock.run(async () => {
        chainId ??= await deps.rpc.chainId(signal);
        return cancel(hash, gasPrice, { ...context, chainId, signal });
      }, signal),
  };
  return service;
}

interface Context extends TransactionsOptions, Omit<TransactionsDeps, 'metrics'> {
  readonly metrics: MetricsOf<typeof TRANSACTION_METRICS> | undefined;
  readonly account: string;
  readonly records: TransactionRecords;
  readonly monitor: Monitor;
  readonly signal: AbortSignal;
}

interface Sending extends Context {
  readonly chainId: bigint;
}

async function send(request: TransactionRequest, context: Sending): Promise<string> {
  const { description, tipBoostPercent = TIP_BOOST_PERCENT } = request;
  const record = signedRecord(await fieldsFor(request, context), { description, tipBoostPercent }, context);
  await request.beforeSend?.(record.hash);
  await submit(record, context);
  return record.hash;
}

/** Contracts are deployed through the factory. */
type CallFields = TransactionFields & { readonly to: string };

async function fieldsFor(request: TransactionRequest, context: Sending): Promise<CallFields> {
  const { rpc, account: from, signal, chainId } = context;
  const { to, data, value = 0n, gasLimit: given } = request;
  const [nonce, fees, estimate, balance] = await Promise.all([
    nextNonce(context),
    suggestFees(request.gasPrice, request.tipBoostPercent ?? TIP_BOOST_PERCENT, context),
    estimateGas({ to, data, from, value }, given, context),
    rpc.nativeBalance(from, signal),
  ]);
  const gasLimit = gasLimitFor({
    gasLimit: given,
    minimum: request.minimumGasLimit ?? 0n,
    estimate,
    fallback: context.gasLimitFallback,
    data,
  });
  const needed = gasLimit * fees.feeCap + value;
  if (balance < needed) {
    throw new ChainError(
      'INSUFFICIENT_NATIVE',
      `account ${from} has ${balance}, the transaction may need ${needed}`,
    );
  }
  return { chainId, nonce, ...fees, gasLimit, to, value, data };
}

/**
 * Used neither on the chain nor by ours that is pending or recent. Fills a gap below a pending one: nothing above a gap is
 * mined.
 */
async function nextNonce({ rpc, account, records, signal }: Sending): Promise<number> {
  const ours = new Set([...records.pending(), ...records.recent()].map(({ nonce }) => nonce));
  let next = await rpc.transactionCount(account, signal);
  while (ours.has(next)) next++;
  return next;
}

async function suggestFees(
  gasPrice: bigint | undefined,
  tipBoostPercent: number,
  { rpc, minimumTip, signal }: Sending,
): Promise<Fees> {
  const [baseFee, suggestedTip] = await Promise.all([
    rpc.baseFee(signal),
    gasPrice === undefined ? rpc.suggestedTip(signal) : 0n,
  ]);
  return feesFor({ baseFee, suggestedTip, gasPrice, tipBoostPercent, minimumTip });
}

/** Undefined when the endpoint cannot tell; a call that would revert is sent too. */
async function estimateGas(
  call: CallRequest,
  given: bigint | undefined,
  { rpc, signal, log }: Sending,
): Promise<bigint | undefined> {
  if (given !== undefined && given > 0n) return undefined;
  try {
    return await rpc.estimateGas(call, signal);
  } catch (error) {
    if (!(error instanceof ChainError) || error.code === 'RPC_UNREACHABLE') throw error;
    log.debug({ err: error }, 'gas could not be estimated');
    return undefined;
  }
}

function signedRecord(
  fields: CallFields,
  about: Pick<TransactionRecord, 'description' | 'tipBoostPercent'>,
  { signer, clock }: Sending,
): TransactionRecord {
  const { to, data, value, nonce, gasLimit, tipCap, feeCap } = fields;
  return {
    ...signTransaction(fields, signer),
    ...about,
    to,
    data,
    value,
    nonce,
    gasLimit,
    gasTipCap: tipCap,
    gasFeeCap: feeCap,
    created: Math.floor(clock.now() / 1000),
    outcome: undefined,
  };
}

/** Once; without an answer the monitor goes on. */
async function submit(record: TransactionRecord, context: Sending): Promise<void> {
  const { rpc, records, monitor, signal, log, metrics } = context;
  const { hash, nonce, description } = record;
  {
    using _held = monitor.hold(hash);
    await records.add(record);
    metrics?.pending.set(records.pendingHashes().length);
    try {
      await rpc.sendRawTransaction(record.raw, signal);
      log.info({ hash, nonce, description }, 'transaction sent');
    } catch (error) {
      monitor.watch();
      signal.throwIfAborted();
      await settleRefusal(hash, error, context);
    }
  }
  metrics?.sent.inc();
  monitor.watch();
}

/** @throws the refusal, after forgetting a transaction that the endpoint certainly lacks */
async function settleRefusal(hash: string, error: unknown, context: Sending): Promise<void> {
  const { records, log, metrics } = context;
  const refusal = refusalOf(error);
  if (refusal === undefined) {
    log.warn({ hash, err: error }, 'no answer to a transaction, sending it again');
    return;
  }
  // After a broken answer the endpoint may have the transaction.
  if (refusal === 'known' || (await mayBeKnown(hash, context))) return;
  await records.forget(hash);
  metrics?.pending.set(records.pendingHashes().length);
  throw error;
}

async function mayBeKnown(hash: string, { rpc, signal, log }: Sending): Promise<boolean> {
  try {
    return (await rpc.transactionState(hash, signal)) !== 'unknown';
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    log.debug({ hash, err: error }, 'refused transaction could not be looked up');
    return true;
  }
}

async function resend(hash: string, { rpc, records, monitor, signal, log }: Context): Promise<void> {
  const record = records.find(hash);
  if (record === undefined) throw unknown(hash);
  try {
    await rpc.sendRawTransaction(record.raw, signal);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    if (refusal === 'known') throw new ChainError('ALREADY_IMPORTED', 'already imported', { cause: error });
    log.debug({ hash, err: error }, 'transaction is refused');
  }
  monitor.watch();
}

/** A transfer of zero to ourselves. @returns its hash */
async function cancel(hash: string, gasPrice: bigint | undefined, context: Sending): Promise<string> {
  const { records, account, chainId } = context;
  const original = records.find(hash);
  if (original === undefined) throw unknown(hash);
  const { nonce, gasTipCap, gasFeeCap, tipBoostPercent } = original;
  const fees = replacementFees(await suggestFees(gasPrice, 0, context), {
    tipCap: gasTipCap,
    feeCap: gasFeeCap,
  });
  const replacement = signedRecord(
    { chainId, nonce, ...fees, gasLimit: TRANSFER_GAS, to: account, value: 0n, data: '0x' },
    { description: `${original.description} (cancellation)`, tipBoostPercent },
    context,
  );
  if (records.find(replacement.hash) !== undefined) {
    throw new ChainError('ALREADY_IMPORTED', `already imported: ${replacement.hash}`);
  }
  await submit(replacement, context);
  return replacement.hash;
}

function unknown(hash: string): ChainError {
  return new ChainError('TRANSACTION_UNKNOWN', `unknown transaction ${hash}`);
}

/** A receipt does not say why: the call is repeated unsent, without its gas limit. */
async function revertError(
  { to, data, value = 0n, gasLimit: given = 0n, description }: TransactionRequest,
  { rpc, account, log, signal }: Context,
): Promise<ChainError> {
  const call = { to, data, from: account };
  try {
    await rpc.call(call, signal);
    const needed = given > 0n ? await rpc.estimateGas({ ...call, value }, signal) : 0n;
    if (given < needed)
      return new ChainError('GAS_LIMIT_TOO_LOW', `gas limit of ${given}, the transaction needs ${needed}`);
  } catch (error) {
    if (error instanceof ChainError && error.revert !== undefined) {
      const { revert } = error;
      return new ChainError('REVERTED', `transaction reverted: ${revert.reason}`, { cause: error, revert });
    }
    log.debug({ description, err: error }, 'reason of a reverted transaction could not be read');
  }
  const revert = { reason: 'no reason: the same call now succeeds or cannot be repeated', data: '0x' };
  return new ChainError('REVERTED', 'transaction reverted', { revert });
}
