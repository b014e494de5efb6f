/**
 * Follows transactions until they are final. A round checks pending ones: mined, replaced, or lost and then resent; and,
 * when the chain has moved, recent ones, which a reorganisation may undo. Rounds run while there is something to follow; a
 * bad endpoint merely delays them. `node-behaviour.md` 7.3.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../formats/clock.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { abortable } from '../../env/abortable.ts';
import type { Logger } from '../../env/logger.ts';
import type { MetricsOf } from '../../env/metrics.ts';
import type { SendingChain } from '../chain.ts';
import type { TRANSACTION_METRICS } from '../metrics.ts';
import { type BlockHeader, type Receipt } from '../ports.ts';
import { refusalOf } from './refusal.ts';
import type { TransactionRecord, TransactionRecords } from './transaction-records.ts';

/** Blocks since an unknown transaction used the nonce. Source: Bee v2.8.1 pkg/transaction. */
const CANCELLED_AFTER_BLOCKS = 12;
/** Test chains keep 64 blocks' states, and no reorganisation goes deeper. */
const FINAL_AFTER_BLOCKS = 64;

interface MonitorOptions {
  readonly pollIntervalMs: number;
  /** `0x` and 40 hex. */
  readonly account: string;
}

interface MonitorDeps {
  readonly rpc: SendingChain;
  readonly records: TransactionRecords;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: MetricsOf<typeof TRANSACTION_METRICS> | undefined;
}

/** Settled when mined or replaced. */
type Waiter = PromiseWithResolvers<Receipt>;

export class Monitor {
  readonly #options: MonitorOptions;
  readonly #deps: MonitorDeps;
  readonly #waiters = new Map<string, Waiter>();
  readonly #stopping = new AbortController();
  #nap = new AbortController();
  #running: Promise<void> | undefined;
  #lastHead: string | undefined;
  readonly #held = new Set<string>();

  constructor(options: MonitorOptions, deps: MonitorDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Checks at once, and while there is something to follow. */
  watch(): void {
    if (this.#stopping.signal.aborted) return;
    this.#nap.abort();
    this.#running ??= this.#run();
  }

  /** Until disposed its sender decides about it. */
  hold(hash: string): Disposable {
    this.#held.add(hash);
    return { [Symbol.dispose]: () => this.#held.delete(hash) };
  }

  /** @param hash lower case @throws ChainError as `Transactions.wait` */
  async wait(hash: string, signal: AbortSignal): Promise<Receipt> {
    signal.throwIfAborted();
    const record = this.#deps.records.find(hash);
    if (record === undefined) throw new ChainError('TRANSACTION_UNKNOWN', `unknown transaction ${hash}`);
    if (record.outcome?.kind === 'mined') return record.outcome.receipt;
    if (record.outcome?.kind === 'cancelled') throw cancelled(hash);
    if (this.#stopping.signal.aborted) throw closed();
    let waiter = this.#waiters.get(hash);
    if (waiter === undefined) {
      waiter = Promise.withResolvers<Receipt>();
      // All callers may have gone.
      waiter.promise.catch((error: unknown) =>
        this.#deps.log.debug({ hash, err: error }, 'transaction that was waited for was not mined'),
      );
      this.#waiters.set(hash, waiter);
    }
    this.watch();
    return abortable(waiter.promise, signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(closed());
    await this.#running;
    for (const waiter of this.#waiters.values()) waiter.reject(closed());
    this.#waiters.clear();
  }

  async #run(): Promise<void> {
    const stopping = this.#stopping.signal;
    for (;;) {
      const nap = new AbortController();
      this.#nap = nap;
      const left = await this.#tryRound(stopping);
      if (stopping.aborted || (!left && !nap.signal.aborted)) break;
      await this.#pause(AbortSignal.any([stopping, nap.signal]));
    }
    // A `watch` from here on starts the next run.
    this.#running = undefined;
  }

  async #pause(ending: AbortSignal): Promise<void> {
    try {
      await this.#deps.clock.sleep(this.#options.pollIntervalMs, ending);
    } catch (error) {
      if (!ending.aborted) throw error;
    }
  }

  /** @returns whether anything is left to follow */
  async #tryRound(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#round(signal);
    } catch (error) {
      if (signal.aborted) return false;
      const { log } = this.#deps;
      if (error instanceof ChainError) log.debug({ err: error }, 'transactions could not be checked');
      else log.error({ err: error }, 'outcome of a transaction could not be written');
      return true;
    }
  }

  async #round(signal: AbortSignal): Promise<boolean> {
    const { records, metrics } = this.#deps;
    if (isEmpty(records)) return false;
    const { number: head, hash } = await this.#head(signal);
    // Another chain may be as long.
    if (hash !== this.#lastHead) {
      const all = await this.#each(records.recentHashes(), (record) =>
        this.#checkRecent(record, head, signal),
      );
      this.#lastHead = all ? hash : undefined;
    }
    await this.#each(records.pendingHashes(), (record) => this.#findReceipt(record, signal));
    // By fee: the last of a nonce counts.
    const newest = new Map(records.pending().map((record) => [record.nonce, record.hash]));
    await this.#each(records.pendingHashes(), (record) =>
      this.#checkPending(record, { head, replaced: newest.get(record.nonce) !== record.hash }, signal),
    );
    metrics?.pending.set(records.pendingHashes().length);
    return !isEmpty(records);
  }

  async #head(signal: AbortSignal): Promise<BlockHeader> {
    const head = await this.#deps.rpc.header('latest', signal);
    if (head === undefined) throw new ChainError('RPC_ERROR', 'the endpoint has no blocks');
    return head;
  }

  /** In turn. @returns whether the endpoint could tell about all */
  async #each(
    hashes: readonly string[],
    check: (record: TransactionRecord) => Promise<void>,
  ): Promise<boolean> {
    let all = true;
    for (const hash of hashes) {
      // It may have been forgotten meanwhile.
      const record = this.#held.has(hash) ? undefined : this.#deps.records.find(hash);
      if (record === undefined) continue;
      try {
        await check(record);
      } catch (error) {
        if (!(error instanceof ChainError) || error.code === 'RPC_UNREACHABLE') throw error;
        this.#deps.log.debug({ hash, err: error }, 'transaction could not be checked');
        all = false;
      }
    }
    return all;
  }

  /** A mined one may have moved or vanished, a replaced one may be mined. */
  async #checkRecent(record: TransactionRecord, head: number, signal: AbortSignal): Promise<void> {
    const { rpc, records, log, metrics } = this.#deps;
    const { hash, outcome } = record;
    const receipt = await rpc.receipt(hash, signal);
    if (receipt !== undefined) {
      const known = outcome?.kind === 'mined' && isDeepStrictEqual(outcome.receipt, receipt);
      if (!known) await this.#mined(record, receipt);
      else if (await this.#isFinal(receipt.blockNumber, head, signal)) await records.finish(hash);
    } else if (outcome?.kind === 'mined') {
      log.warn({ hash, block: outcome.receipt.blockNumber }, 'transaction is no longer mined');
      metrics?.removed.inc();
      await records.reopen(record);
    } else if (outcome !== undefined && (await this.#isFinal(outcome.blockNumber, head, signal))) {
      await records.finish(hash);
    }
  }

  /** The endpoint may name heights whose blocks it lacks. */
  async #isFinal(block: number, head: number, signal: AbortSignal): Promise<boolean> {
    const final = block + FINAL_AFTER_BLOCKS;
    return head >= final && (await this.#deps.rpc.header(final, signal)) !== undefined;
  }

  async #findReceipt(record: TransactionRecord, signal: AbortSignal): Promise<void> {
    const receipt = await this.#deps.rpc.receipt(record.hash, signal);
    if (receipt !== undefined) await this.#mined(record, receipt);
  }

  async #checkPending(
    record: TransactionRecord,
    { head, replaced }: { head: number; replaced: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { rpc, records } = this.#deps;
    const { hash, nonce } = record;
    for (const { nonce: used, outcome } of records.recent()) {
      // Both are final together: a head's number may be wrong.
      if (used === nonce && outcome?.kind === 'mined')
        return this.#cancelled(record, outcome.receipt.blockNumber);
    }
    if ((await rpc.transactionState(hash, signal)) !== 'unknown') return;
    if ((await rpc.minedCount(this.#options.account, 'latest', signal)) > nonce) {
      if (await this.#isLost(record, head, signal)) await this.#cancelled(record, head);
    } else if (!replaced) {
      await this.#sendAgain(record, signal);
    }
  }

  /** Nonce used, deep enough, no receipt: in this order a stale answer decides nothing. */
  async #isLost({ hash, nonce }: TransactionRecord, head: number, signal: AbortSignal): Promise<boolean> {
    const { rpc } = this.#deps;
    if (head < CANCELLED_AFTER_BLOCKS) return false;
    const usedThen = await rpc.minedCount(this.#options.account, head - CANCELLED_AFTER_BLOCKS, signal);
    return usedThen > nonce && (await rpc.receipt(hash, signal)) === undefined;
  }

  /** The endpoint lacks it. After a refusal the next round tries again. */
  async #sendAgain({ hash, raw, nonce }: TransactionRecord, signal: AbortSignal): Promise<void> {
    const { rpc, log, metrics } = this.#deps;
    try {
      await rpc.sendRawTransaction(raw, signal);
      metrics?.sentAgain.inc();
      log.info({ hash, nonce }, 'transaction sent again');
    } catch (error) {
      if (refusalOf(error) === undefined) throw error;
      log.debug({ hash, nonce, err: error }, 'transaction is refused');
    }
  }

  async #mined(record: TransactionRecord, receipt: Receipt): Promise<void> {
    const { hash } = record;
    const { records, log, metrics } = this.#deps;
    await records.settle(record, { kind: 'mined', receipt });
    // Another block does not count twice.
    if (record.outcome === undefined) metrics?.[receipt.status === 'success' ? 'mined' : 'reverted'].inc();
    log.debug({ hash, block: receipt.blockNumber, status: receipt.status }, 'transaction is mined');
    this.#take(hash)?.resolve(receipt);
  }

  async #cancelled(record: TransactionRecord, blockNumber: number): Promise<void> {
    const { hash, nonce } = record;
    await this.#deps.records.settle(record, { kind: 'cancelled', blockNumber });
    this.#deps.metrics?.cancelled.inc();
    this.#deps.log.warn({ hash, nonce }, 'transaction cancelled');
    this.#take(hash)?.reject(cancelled(hash));
  }

  #take(hash: string): Waiter | undefined {
    const waiter = this.#waiters.get(hash);
    this.#waiters.delete(hash);
    return waiter;
  }
}

function isEmpty(records: TransactionRecords): boolean {
  return records.pendingHashes().length + records.recentHashes().length === 0;
}

function cancelled(hash: string): ChainError {
  return new ChainError('TRANSACTION_CANCELLED', `transaction cancelled: ${hash}`);
}

function closed(): ChainError {
  return new ChainError('MONITOR_CLOSED', 'monitor closed');
}
