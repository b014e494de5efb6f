/**
 * A node's postage: follows the contract, knows all batches, stamps from own ones, checks stamps, buys batches. One
 * subsystem of the store, so that a page of events with all its effects is one transaction. `node-behaviour.md` 3.
 */
import type { Stamp } from '../../formats/chunk/stamp.ts';
import type { Clock } from '../../formats/clock.ts';
import { fromBigEndian } from '../../formats/crypto/big-endian.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import { Lock } from '../env/turns/lock.ts';
import { minimumValidityBlocks } from '../onchain/contracts.ts';
import type { Chain, Transactions } from '../onchain/ports.ts';
import { deferredState } from '../store/disk/deferred-state.ts';
import { isDiskFailure } from '../store/errors.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { Intents } from './intents.ts';
import type { BatchIssuer, IssuerDeps } from './issuer.ts';
import { Issuers } from './issuers.ts';
import { Ledger, type PageEnd } from './ledger.ts';
import { type FollowedEvent, followPostage, type PlacedEvent } from './listener.ts';
import { POSTAGE_METRICS } from './metrics.ts';
import { Pace } from './pace.ts';
import {
  type Batch,
  type BatchStore,
  type DilutionRequest,
  type Issuer,
  type Postage,
  PostageError,
  type PurchaseRequest,
  type Stampable,
  type TopUpRequest,
  type UploadStamper,
} from './ports.ts';
import { createPurchases, type Purchases } from './purchase.ts';
import { BUCKET_DEPTH, secondsLeft } from './rules.ts';
import { validateStamp } from './validation.ts';

const SUBSYSTEM = 'postage';
const COUNTER_OF = {
  BatchCreated: 'createdEvents',
  BatchTopUp: 'topUpEvents',
  BatchDepthIncrease: 'depthEvents',
  PriceUpdate: 'priceEvents',
} as const;

export interface PostageOptions {
  /** `0x` and 40 lower-case hex. */
  readonly contract: string;
  readonly token: string;
  /** Events are read from the block after it. */
  readonly startBlock: number;
  /** Label of a batch without a purchase record. */
  readonly foundLabel: string;
  /** Age before an own batch may stamp. */
  readonly usableBlocks: number;
  readonly tailBlocks: number;
  readonly batchFactor: number;
  readonly pollIntervalMs: number;
  /** Lifetimes are computed with it. */
  readonly blockTimeMs: number;
  /** Chunks. */
  readonly reserveCapacity: number;
  /** Blocks per request for logs. Default: the listener's. */
  readonly logBlocks?: number | undefined;
}

interface PostageDeps {
  readonly chain: Chain;
  readonly transactions: Pick<Transactions, 'execute' | 'pending' | 'wait' | 'find'>;
  readonly state: (subsystem: string) => KeyValueStore;
  readonly signer: Signer;
  readonly workers?: IssuerDeps['workers'];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The mirror cannot continue: the node must stop. Once at most. */
  readonly onFatal: (error: unknown) => void;
}

export interface PostageService extends Postage {
  /** Resolves when everything old enough is applied; rejects with the error of `onFatal`, or when stopped before. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Expires used-up batches in the contract, a bounded number. @throws ChainError */
  expireBatches(signal: AbortSignal): Promise<void>;
  /** Called for batches that will not come back. @returns ends the calls */
  onExpired(listener: () => void): () => void;
}

export function createPostage(options: PostageOptions, deps: PostageDeps): PostageService {
  return new ContractPostage(options, deps);
}

class ContractPostage implements PostageService {
  readonly #options: PostageOptions;
  readonly #deps: PostageDeps;
  readonly #state: KeyValueStore;
  readonly #ledger: Ledger;
  readonly #intents: Intents;
  readonly #issuers: Issuers;
  readonly #purchases: Purchases;
  readonly #pace: Pace;
  readonly #metrics: MetricsOf<typeof POSTAGE_METRICS>;
  /** The old label is a stored one only if no other is being written. */
  readonly #relabels = new Lock();
  readonly #expiryListeners = new Set<() => void>();
  readonly #stopping = new AbortController();
  readonly #caughtUp = Promise.withResolvers<void>();
  #syncState: 'running' | 'synced' | 'failed' = 'running';
  #following: Promise<void> = Promise.resolve();

  constructor(options: PostageOptions, deps: PostageDeps) {
    this.#options = options;
    this.#deps = deps;
    const state = deferredState(deps.state(SUBSYSTEM), (err) => this.#noteUnwritten(err));
    this.#state = state.strict;
    const intents = new Intents({ transactions: deps.transactions, state: this.#state });
    this.#intents = intents;
    this.#issuers = new Issuers({ ...deps, intents, state: this.#state, foundLabel: options.foundLabel });
    this.#ledger = new Ledger(options, {
      state: state.deferred,
      mustWrite: () => state.waits(),
      isOwn: (batch) => this.#issuers.isOwn(batch),
      follow: (batches) => this.#issuers.follow(batches),
      clock: deps.clock,
      onEvent: (event, outcome, tookNs) => this.#countEvent(event, { outcome, tookNs }),
    });
    this.#purchases = createPurchases(options, { ...deps, intents });
    this.#pace = new Pace(options, deps.clock);
    this.#metrics = deps.metrics.register(POSTAGE_METRICS);
    this.#setGauges();
  }

  get batches(): BatchStore {
    return this.#ledger.batches;
  }

  expireBatches(signal: AbortSignal): Promise<void> {
    return this.#purchases.expire(signal);
  }

  onExpired(listener: () => void): () => void {
    this.#expiryListeners.add(listener);
    return () => this.#expiryListeners.delete(listener);
  }

  issuers(options?: { all: boolean }): Issuer[] {
    return this.#issuers.all().filter((issuer) => options?.all === true || !this.gone(issuer));
  }

  issuer(batchId: Uint8Array): Issuer | undefined {
    return this.#issuers.get(batchId);
  }

  usable(issuer: Issuer): boolean {
    const age = this.batches.chainState().block - issuer.blockNumber;
    return age >= this.#options.usableBlocks && this.#exists(issuer);
  }

  gone(issuer: Issuer): boolean {
    const seen = this.batches.chainState().block >= issuer.blockNumber;
    return seen && !this.#exists(issuer);
  }

  /** The id says who paid; the owner may differ between branches. */
  #exists({ batchId }: Issuer): boolean {
    const batch = this.#ledger.get(batchId);
    return batch !== undefined && this.#issuers.isOwn(batch);
  }

  awaited(batchId: Uint8Array): boolean {
    return this.#ledger.awaited(batchId);
  }

  buckets(batchId: Uint8Array): Uint32Array | undefined {
    return this.#issuers.get(batchId)?.buckets();
  }

  stamper(batchId: Uint8Array): UploadStamper {
    const issuer = this.#issuers.get(batchId);
    if (issuer === undefined) throw new PostageError('BATCH_NOT_FOUND', 'batch with id not found');
    if (!this.usable(issuer)) {
      const isExpired = this.gone(issuer) && !this.awaited(batchId);
      const code = isExpired ? 'BATCH_EXPIRED' : 'BATCH_NOT_USABLE';
      throw new PostageError(code, 'batch not usable yet or does not exist');
    }
    return issuer;
  }

  renewed(chunk: Stampable, { batchId, timestamp }: Pick<Stamp, 'batchId' | 'timestamp'>): Stamp | undefined {
    const issuer = this.#issuers.get(batchId);
    const newest = issuer?.stampedAt(chunk.identity);
    return newest !== undefined && newest > fromBigEndian(timestamp) ? issuer?.stamp(chunk) : undefined;
  }

  lastBatch(identity: Uint8Array): Uint8Array | undefined {
    let newest: { readonly batchId: Uint8Array; readonly stampedAt: bigint } | undefined;
    for (const issuer of this.#issuers.all()) {
      const stampedAt = issuer.stampedAt(identity);
      if (stampedAt === undefined || (newest !== undefined && newest.stampedAt >= stampedAt)) continue;
      newest = { batchId: issuer.batchId, stampedAt };
    }
    return newest?.batchId;
  }

  async saved(batchId: Uint8Array): Promise<void> {
    await this.#issuers.get(batchId)?.saved();
  }

  validate(chunk: Stampable, stamp: Stamp): void {
    const batch = this.batches.get(stamp.batchId);
    if (batch === undefined) {
      throw new PostageError('BATCH_NOT_FOUND', `batchstore get: batch ${toHex(stamp.batchId)} not found`);
    }
    validateStamp(chunk.address, stamp, batch);
  }

  minimumValidityBlocks(signal: AbortSignal): Promise<bigint> {
    return minimumValidityBlocks(this.#deps.chain, this.#options.contract, signal);
  }

  async buy(request: PurchaseRequest, signal: AbortSignal): Promise<{ batchId: Uint8Array; txHash: string }> {
    this.#pace.hurry();
    const { batchId, txHash, blockNumber } = await this.#purchases.buy(request, signal);
    const { label, amount, depth, immutable } = request;
    const record = { batchId, label, amount, depth, bucketDepth: BUCKET_DEPTH, blockNumber, immutable };
    await this.#state.batch(this.#issuers.add(record));
    return { batchId, txHash };
  }

  async topUp(request: TopUpRequest, signal: AbortSignal): Promise<{ txHash: string }> {
    this.#pace.hurry();
    return { txHash: await this.#purchases.topUp(request, signal) };
  }

  async dilute(request: DilutionRequest, signal: AbortSignal): Promise<{ txHash: string }> {
    this.#pace.hurry();
    return { txHash: await this.#purchases.dilute(request, signal) };
  }

  async relabel(batchId: Uint8Array, label: string): Promise<void> {
    const issuer = this.#issuers.get(batchId);
    if (issuer === undefined) throw new PostageError('BATCH_NOT_FOUND', 'batch with id not found');
    await this.#relabels.run(async () => {
      const before = issuer.label;
      try {
        await this.#state.batch(this.#issuers.relabel(issuer, label));
      } catch (error) {
        if (issuer.label === label) this.#issuers.relabel(issuer, before);
        throw error;
      }
    });
  }

  batchTtl(batch: Batch): number {
    const known = this.batches.get(batch.id);
    return known === undefined
      ? -1
      : secondsLeft(known, this.batches.chainState(), this.#options.blockTimeMs);
  }

  syncState(): 'running' | 'synced' | 'failed' {
    return this.#syncState;
  }

  start(): Promise<void> {
    this.#following = this.#follow();
    return this.#caughtUp.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('postage service is stopping'));
    await this.#following;
    await this.#ledger.save().catch((error: unknown) => {
      this.#deps.log.warn(
        { err: error },
        'the last blocks are not saved: they are read again at the next start',
      );
    });
  }

  async #follow(): Promise<void> {
    const { chain, clock, log, onFatal } = this.#deps;
    const { signal } = this.#stopping;
    try {
      await this.#intents.removeStale();
      for (const issuer of this.#issuers.all()) {
        if (this.gone(issuer) && !this.awaited(issuer.batchId)) await this.#dropItems(issuer);
      }
      await followPostage(
        this.#options,
        {
          chain,
          clock,
          pace: this.#pace,
          log,
          lastBlock: () => this.#ledger.lastBlock(),
          applied: () => this.#ledger.applied(),
          anchors: () => this.#ledger.anchors(),
          apply: (events, end) => this.#apply(events, end),
          revert: (pages) => this.#revert(pages),
          caughtUp: () => this.#setSynced(),
          counted: (outcome) => this.#count(outcome),
        },
        signal,
      );
    } catch (error) {
      this.#caughtUp.reject(error);
      if (signal.aborted) return;
      this.#syncState = 'failed';
      log.error({ err: error }, 'postage events cannot be followed any more');
      onFatal(error);
    }
  }

  async #apply(events: readonly PlacedEvent[], end: PageEnd): Promise<void> {
    const { clock } = this.#deps;
    const startedAt = clock.nowNs();
    try {
      const ended = await this.#ledger.apply(events, end);
      await this.#dropExpired(ended);
      if (ended.length > 0) for (const listener of this.#expiryListeners) listener();
    } catch (error) {
      this.#metrics.eventErrors.inc();
      throw error;
    }
    this.#metrics.pages.inc();
    this.#metrics.pageDuration.inc(Number(clock.nowNs() - startedAt));
    this.#setGauges();
  }

  async #revert(pages: number | undefined): Promise<void> {
    const { log } = this.#deps;
    const from = this.batches.chainState().block;
    if (pages === undefined) {
      log.warn({ block: from }, 'chain was reorganised further back than is remembered, reading it again');
      this.#metrics.rebuilds.inc();
      this.#ledger.reset();
      return;
    }
    await this.#ledger.revert(pages);
    log.warn(
      { from, to: this.batches.chainState().block },
      'chain was reorganised, postage events taken back',
    );
    this.#metrics.pagesTakenBack.inc(pages);
    this.#setGauges();
  }

  #countEvent(
    event: FollowedEvent,
    { outcome, tookNs }: { readonly outcome: 'applied' | 'ignored'; readonly tookNs: bigint },
  ): void {
    this.#metrics.events.inc();
    this.#metrics.eventDuration.inc(Number(tookNs));
    this.#metrics[COUNTER_OF[event.kind]].inc();
    if (outcome === 'ignored' && 'id' in event) {
      this.#deps.log.debug({ batch: toHex(event.id) }, 'batch with too low a balance ignored');
    }
  }

  async #dropExpired(expired: readonly string[]): Promise<void> {
    for (const issuer of this.#issuers.all()) {
      if (expired.includes(toHex(issuer.batchId))) await this.#dropItems(issuer);
    }
  }

  /** What a failing disk keeps is dropped at the next start. */
  async #dropItems(issuer: Pick<BatchIssuer, 'dropItems'>): Promise<void> {
    try {
      await issuer.dropItems();
    } catch (error) {
      if (!isDiskFailure(error)) throw error;
      this.#noteUnwritten(error);
    }
  }

  /** The store reports the failure. */
  #noteUnwritten(err: unknown): void {
    this.#deps.log.debug({ err }, 'batch changes are kept in memory only');
  }

  #setSynced(): void {
    if (this.#syncState === 'synced') return;
    this.#syncState = 'synced';
    this.#caughtUp.resolve();
  }

  #count(outcome: 'answered' | 'failed'): void {
    this.#metrics.backendCalls.inc();
    if (outcome === 'failed') this.#metrics.backendErrors.inc();
  }

  #setGauges(): void {
    this.#metrics.commitment.set(Number(this.batches.commitment()));
    this.#metrics.radius.set(this.batches.radius());
  }
}
