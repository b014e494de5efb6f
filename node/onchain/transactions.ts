/**
 * Sends the node's transactions: one nonce sequence, one at a time up to the endpoint's acceptance; waiting for
 * receipts happens side by side. Each transaction is written down before it is sent, raw bytes included, so that it can
 * be listed and sent again after a crash. `node-behaviour.md` 7.1 to 7.3.
 */
import { toHex } from '../crypto/hex.ts';
import type { Signer } from '../crypto/signer.ts';
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { encodeWord } from './abi.ts';
import type { CallRequest, SendingChain } from './chain.ts';
import { toAddress } from './contracts.ts';
import { feesFor, gasLimitFor } from './fees.ts';
import { Lock } from './lock.ts';
import { ChainError, type Receipt, type Transactions } from './ports.ts';
import { signTransaction, type TransactionFields } from './signed-transaction.ts';

/** An answer lost on the way does not tell whether the transaction arrived: the same bytes are sent again, this often. */
const SEND_ATTEMPTS = 5;
/** A transaction that the endpoint has not known for this many blocks was replaced or dropped. */
const CANCELLED_AFTER_BLOCKS = 12;

const STORED = 'stored/';
const PENDING = 'pending/';

type Request = Parameters<Transactions['execute']>[0];

interface TransactionsOptions {
  /** Pause between two looks for a receipt, ms. */
  readonly pollIntervalMs: number;
}

interface TransactionsDeps {
  readonly rpc: SendingChain;
  readonly signer: Signer;
  readonly clock: Clock;
  /** Subsystem `transactions`: `stored/<hash>` holds a transaction as JSON, `pending/<hash>`, the nonce, marks those not mined yet. */
  readonly state: KeyValueStore;
  readonly log: Logger;
}

export function createTransactions(options: TransactionsOptions, deps: TransactionsDeps): Transactions {
  const { log } = deps;
  const lock = new Lock();
  let chainId: bigint | undefined;

  return {
    async execute(request, signal) {
      const hash = await lock.run(async () => {
        signal.throwIfAborted();
        chainId ??= await deps.rpc.chainId();
        return send(request, { ...options, ...deps, chainId, signal });
      });
      const receipt = await waitForReceipt(hash, { ...options, ...deps, signal });
      await deps.state.remove(PENDING + hash);
      log.debug({ hash, block: receipt.blockNumber, status: receipt.status }, 'transaction is mined');
      if (receipt.status === 'reverted') throw await revertError(deps, request, signal);
      return receipt;
    },
  };
}

type Sending = TransactionsOptions &
  TransactionsDeps & { readonly chainId: bigint; readonly signal: AbortSignal };

/** @returns the hash, once the endpoint has taken the transaction */
async function send(request: Request, context: Sending): Promise<string> {
  const { state, signer, log } = context;
  const fields = await fieldsFor(request, context);
  const { hash, raw } = signTransaction(fields, signer);
  const record = encodeRecord(request, fields, raw, context.clock);
  await state.batch([
    { put: STORED + hash, value: record },
    { put: PENDING + hash, value: encodeWord(fields.nonce) },
  ]);
  try {
    await broadcast(raw, hash, context);
  } catch (error) {
    const refused = error instanceof ChainError && error.code !== 'RPC_UNREACHABLE';
    // Refused for good: no trace stays. When nobody answered it may have arrived: the next nonce takes it into account.
    if (refused) await state.batch([{ remove: STORED + hash }, { remove: PENDING + hash }]);
    throw error;
  }
  log.info({ hash, nonce: fields.nonce, description: request.description }, 'transaction sent');
  return hash;
}

async function fieldsFor(request: Request, context: Sending): Promise<TransactionFields> {
  const { rpc, signer, signal, chainId } = context;
  const from = toAddress(signer.address);
  const value = request.value ?? 0n;
  const [nonce, baseFee, suggestedTip, estimate, balance] = await Promise.all([
    nextNonce(from, context),
    rpc.baseFee(signal),
    request.gasPrice === undefined ? rpc.suggestedTip(signal) : 0n,
    estimateGas({ to: request.to, data: request.data, from, value }, request.gasLimit, context),
    rpc.nativeBalance(from, signal),
  ]);
  const fees = feesFor({ baseFee, suggestedTip, gasPrice: request.gasPrice });
  const gasLimit = gasLimitFor({ gasLimit: request.gasLimit, estimate, hasData: request.data !== '0x' });
  const needed = gasLimit * fees.feeCap + value;
  if (balance < needed) {
    throw new ChainError(
      'INSUFFICIENT_NATIVE',
      `account ${from} has ${balance}, the transaction may need ${needed}`,
    );
  }
  return { chainId, nonce, ...fees, gasLimit, to: request.to, value, data: request.data };
}

/** One past everything the endpoint has seen of this account and everything of ours that it still holds. */
async function nextNonce(from: string, { rpc, state, signal, log }: Sending): Promise<number> {
  let next = await rpc.transactionCount(from, signal);
  // A copy: entries go while this waits.
  const pending = Array.from(state.entries(PENDING));
  for (const [key, nonce] of pending) {
    const hash = key.slice(PENDING.length);
    try {
      if ((await rpc.transactionState(hash, signal)) === 'pending') {
        next = Math.max(next, Number(BigInt(`0x${toHex(nonce)}`)) + 1);
      } else {
        await state.remove(key);
      }
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      log.debug({ hash, err: error }, 'pending transaction could not be looked up');
    }
  }
  return next;
}

/** Undefined when the endpoint cannot tell; a call that would revert is sent all the same, with the fallback limit. */
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

async function broadcast(raw: string, hash: string, context: Sending): Promise<void> {
  const { rpc, clock, pollIntervalMs, signal } = context;
  for (let attempt = 1; ; attempt++) {
    try {
      await rpc.sendRawTransaction(raw, signal);
      return;
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (error.code !== 'RPC_UNREACHABLE') {
        // A refusal after a lost answer may only mean that the first one arrived.
        if ((await rpc.transactionState(hash, signal)) !== 'unknown') return;
        throw error;
      }
      if (attempt === SEND_ATTEMPTS) throw error;
      await clock.sleep(pollIntervalMs, signal);
    }
  }
}

type Waiting = TransactionsOptions & TransactionsDeps & { readonly signal: AbortSignal };

/** Waits as long as the signal lets it; an endpoint that is away for a while only delays. */
async function waitForReceipt(hash: string, context: Waiting): Promise<Receipt> {
  const { rpc, clock, pollIntervalMs, signal, log } = context;
  let unknownSince: number | undefined;
  for (;;) {
    try {
      const receipt = await rpc.receipt(hash, signal);
      if (receipt !== undefined) return receipt;
      if ((await rpc.transactionState(hash, signal)) === 'unknown') {
        const block = await rpc.blockNumber(signal);
        unknownSince ??= block;
        if (block - unknownSince >= CANCELLED_AFTER_BLOCKS) throw cancelled(hash);
      } else {
        unknownSince = undefined;
      }
    } catch (error) {
      if (!(error instanceof ChainError) || error.code === 'TRANSACTION_CANCELLED') throw error;
      log.debug({ hash, err: error }, 'receipt could not be read');
    }
    await clock.sleep(pollIntervalMs, signal);
  }
}

function cancelled(hash: string): ChainError {
  return new ChainError('TRANSACTION_CANCELLED', `transaction cancelled: ${hash}`);
}

/** A receipt does not say why: the same call is made again, without sending. */
async function revertError(
  { rpc, signer, log }: TransactionsDeps,
  { to, data, description }: Request,
  signal: AbortSignal,
): Promise<ChainError> {
  try {
    await rpc.call({ to, data, from: toAddress(signer.address) }, signal);
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

function encodeRecord(request: Request, fields: TransactionFields, raw: string, clock: Clock): Uint8Array {
  const record = {
    to: fields.to,
    data: fields.data,
    value: fields.value.toString(),
    nonce: fields.nonce,
    gasLimit: fields.gasLimit.toString(),
    gasTipCap: fields.tipCap.toString(),
    gasFeeCap: fields.feeCap.toString(),
    description: request.description,
    /** Unix seconds. */
    created: Math.floor(clock.now() / 1000),
    raw,
  };
  return Buffer.from(JSON.stringify(record));
}
