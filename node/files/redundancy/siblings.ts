/**
 * The children of an intermediate chunk with parities: fetched by the strategy, decoded when some are lost.
 * `data-formats.md` 3.5 and 3.7.
 */
import { cacFromData } from '../../../formats/chunk/cac.ts';
import { type Chunk, type ChunkGetter, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import type { Clock } from '../../../formats/clock.ts';
import { recoverShards } from '../../../formats/crypto/erasure/erasure.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import { malformed } from '../tree.ts';
import type { RedundancyLevel } from './redundancy.ts';

export interface Recovery {
  readonly strategy: Strategy;
  /** The next strategy follows a failed one. */
  readonly fallback: boolean;
  /** Level for replicas of a root chunk; 0: none. */
  readonly level: RedundancyLevel;
  /** Limit for a chunk of redundant content. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly keep: (chunk: Chunk) => void;
}

/** Without `recovery` lost chunks stay lost. */
export interface ContentGetter extends ChunkGetter {
  readonly recovery?: Recovery;
}

/**
 * `NONE`: fetched when requested. `DATA`: all data chunks. `PROX`: no node implements it. `RACE`: data and parities, the
 * first ones win.
 */
export const NONE = 0;
export const DATA = 1;
export const PROX = 2;
export const RACE = 3;
export type Strategy = typeof NONE | typeof DATA | typeof PROX | typeof RACE;

const ENOUGH = new DOMException('enough chunks have come to recover the others', 'AbortError');

export class Siblings {
  readonly #addresses: readonly Uint8Array[];
  readonly #dataCount: number;
  readonly #getter: ChunkGetter;
  readonly #recovery: Recovery;
  readonly #enough = new AbortController();
  readonly #signal: AbortSignal;
  readonly #chunks: (Chunk | undefined)[] = [];
  readonly #failures: unknown[] = [];
  readonly #attempts: (Promise<boolean> | undefined)[] = [];
  #fetched = 0;
  #failed = 0;
  #recovered: Promise<boolean> | undefined;
  #onAttempt: (() => void) | undefined;

  constructor(
    { data, parities }: { data: readonly Uint8Array[]; parities: readonly Uint8Array[] },
    { getter, recovery, signal }: { getter: ChunkGetter; recovery: Recovery; signal: AbortSignal },
  ) {
    this.#addresses = [...data, ...parities];
    this.#dataCount = data.length;
    this.#getter = getter;
    this.#recovery = recovery;
    this.#signal = AbortSignal.any([signal, this.#enough.signal]);
  }

  /**
   * The first call starts the strategy. @throws ChunkNotFoundError when it can be neither fetched nor recovered; JoinError
   * when the parities are wrong
   */
  async get(place: number): Promise<Chunk> {
    this.#recovered ??= this.#recover();
    await either(this.#attempt(place), this.#recovered);
    const chunk = this.#chunks[place];
    if (chunk !== undefined) return chunk;
    const cause = this.#failures[place];
    if (isWrong(cause)) throw cause;
    throw new ChunkNotFoundError(toHex(this.#addresses[place] as Uint8Array), { cause });
  }

  /** Never rejects. */
  async #recover(): Promise<boolean> {
    const parityCount = this.#addresses.length - this.#dataCount;
    const { strategy, fallback } = this.#recovery;
    for (let current: number = strategy; current <= RACE; current++) {
      const isEnough =
        (current === DATA && (await this.#fetchFirst(this.#dataCount, 0))) ||
        (current === RACE && (await this.#fetchFirst(this.#addresses.length, parityCount)));
      if (isEnough) return this.#decode();
      if (!fallback) return false;
    }
    return false;
  }

  /** @returns whether `count` came before too many failed */
  async #fetchFirst(count: number, failuresMax: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#onAttempt = () => {
      if (this.#fetched >= this.#dataCount) resolve(true);
      else if (this.#failed > failuresMax) resolve(false);
    };
    for (let place = 0; place < count; place++) void this.#attempt(place);
    this.#onAttempt();
    return promise;
  }

  /** Once. @returns whether it came; never rejects */
  #attempt(place: number): Promise<boolean> {
    return (this.#attempts[place] ??= this.#fetch(place));
  }

  async #fetch(place: number): Promise<boolean> {
    const { clock, timeoutMs } = this.#recovery;
    const deadline = clock.deadline(timeoutMs, this.#signal);
    try {
      this.#chunks[place] = await this.#getter.get(this.#addresses[place] as Uint8Array, deadline.signal);
      this.#fetched += 1;
      return true;
    } catch (error) {
      this.#failures[place] = error;
      this.#failed += 1;
      return false;
    } finally {
      deadline[Symbol.dispose]();
      this.#onAttempt?.();
    }
  }

  #decode(): boolean {
    this.#enough.abort(ENOUGH);
    // A single-owner chunk is no shard: its address is not derived from its bytes.
    const shards = this.#addresses.map((_, place) => {
      const chunk = this.#chunks[place];
      return chunk?.kind === 'cac' ? chunk.data : undefined;
    });
    if (shards.filter((shard) => shard !== undefined).length < this.#dataCount) return false;
    for (const [place, data] of recoverShards(shards, this.#dataCount))
      this.#accept(place, cacFromData(data));
    return true;
  }

  #accept(place: number, chunk: Chunk): void {
    const address = this.#addresses[place] as Uint8Array;
    if (equalBytes(chunk.address, address)) {
      this.#chunks[place] = chunk;
      this.#recovery.keep(chunk);
    } else this.#failures[place] = malformed(`its parities do not give chunk ${toHex(address)}`);
  }
}

function either(a: Promise<boolean>, b: Promise<boolean>): Promise<boolean> {
  return Promise.race([a.then((isWell) => isWell || b), b.then((isWell) => isWell || a)]);
}

function isWrong(failure: unknown): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === 'MALFORMED_TREE';
}
