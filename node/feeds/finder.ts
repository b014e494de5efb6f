/**
 * Finds the latest update of a feed. Only requests tell whether an update exists. The search looks ahead at distances 1, 2,
 * 4, 8, then at the next four powers of two, until one is missing, and then divides the gap evenly, with at most LOOK_AHEAD
 * reads under way. `data-formats.md` 4.3.
 *
 * The end is accepted only when two in a row are missing. A slow read counts as missing, but the update after the latest is
 * requested once more, with a longer timeout: a client with a wrong next index would overwrite an update.
 */
import { type Chunk, type ChunkGetter, ChunkNotFoundError } from '../../formats/chunk/chunk.ts';
import type { Clock } from '../../formats/clock.ts';
import { type Feed, INDEX_MAX, updateAddress } from './feed.ts';

/** More would save round trips for long feeds, but cause vain requests for short ones. */
const LOOKAHEAD = 4;
const END = 2n;
/** The network's value; a cluster takes a few ms. */
const READ_TIMEOUT_MS = 1_000;
/** Of a read that would end the search: peers may be silent, and another is asked each second. */
const DECIDING_READ_TIMEOUT_MS = 5_000;
/** Less than clients wait. */
const SEARCH_TIMEOUT_MS = 20_000;

export interface Update {
  readonly index: bigint;
  /** A single-owner chunk. */
  readonly chunk: Chunk;
}

/** @throws ChunkNotFoundError when no node has it */
export type ReadUpdate = (index: bigint, signal: AbortSignal) => Promise<Chunk>;

interface SearchDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * @param after earlier indexes are not checked @returns undefined without update `after`
 * @throws what the getter throws for that first update, TimeoutError, the signal's reason
 */
export function findLatest(
  feed: Feed,
  after: bigint,
  { getter, ...deps }: SearchDeps & { readonly getter: ChunkGetter },
): Promise<Update | undefined> {
  return searchLatest((index, signal) => getter.get(updateAddress(feed, index), signal), after, deps);
}

export async function searchLatest(
  read: ReadUpdate,
  after: bigint,
  { clock, signal }: SearchDeps,
): Promise<Update | undefined> {
  using deadline = clock.deadline(SEARCH_TIMEOUT_MS, signal);
  return await new Search(read, { clock, signal: deadline.signal }).run(after);
}

/** Its chunk, that no node has it, or neither. */
type Reading = Chunk | 'missing' | 'unknown';

class Search {
  readonly #readUpdate: ReadUpdate;
  readonly #deps: SearchDeps;
  /** At most as many as reads. */
  readonly #missing = new Set<bigint>();

  constructor(read: ReadUpdate, deps: SearchDeps) {
    this.#readUpdate = read;
    this.#deps = deps;
  }

  async run(after: bigint): Promise<Update | undefined> {
    let latest = await this.#first(after);
    for (let next = latest; next !== undefined; ) {
      latest = await this.#climb(next);
      next = await this.#beyond(latest);
    }
    return latest;
  }

  async #first(index: bigint): Promise<Update | undefined> {
    try {
      return { index, chunk: await this.#get(index, DECIDING_READ_TIMEOUT_MS) };
    } catch (error) {
      if (error instanceof ChunkNotFoundError) return undefined;
      throw error;
    }
  }

  /** The last before a missing one. */
  async #climb(base: Update): Promise<Update> {
    let latest = base;
    let bound: bigint | undefined;
    for (let power = 0; bound === undefined; power += LOOKAHEAD) {
      const ahead = Array.from({ length: LOOKAHEAD }, (_, i) => base.index + 2n ** BigInt(power + i));
      const within = ahead.filter((index) => index <= INDEX_MAX);
      if (within.length < ahead.length) bound = INDEX_MAX + 1n;
      ({ latest, bound } = await this.#probe(within, latest, bound));
    }
    while (bound !== undefined && bound - latest.index > 1n) {
      ({ latest, bound } = await this.#probe(between(latest.index, bound), latest, bound));
    }
    return latest;
  }

  /** @returns the highest found, else `latest`; the lowest missing above, else `bound` */
  async #probe(
    indexes: readonly bigint[],
    latest: Update,
    bound: bigint | undefined,
  ): Promise<{ latest: Update; bound: bigint | undefined }> {
    const readings = await Promise.all(indexes.map((index) => this.#read(index, READ_TIMEOUT_MS)));
    let highest = latest;
    let lowestMissing = bound;
    for (const [i, index] of indexes.entries()) {
      const reading = readings[i] ?? 'unknown';
      if (typeof reading !== 'string') {
        highest = { index, chunk: reading };
        lowestMissing = bound;
      } else if (lowestMissing === bound) {
        lowestMissing = index;
      }
    }
    return { latest: highest, bound: lowestMissing };
  }

  /** An update after the latest, where some are not known to be missing. */
  async #beyond({ index: latest }: Update): Promise<Update | undefined> {
    const behind = [latest + END, latest + 1n].filter(
      (index) => index <= INDEX_MAX && !this.#missing.has(index),
    );
    const readings = await Promise.all(behind.map((index) => this.#read(index, DECIDING_READ_TIMEOUT_MS)));
    for (const [i, index] of behind.entries()) {
      const reading = readings[i] ?? 'unknown';
      if (typeof reading !== 'string') return { index, chunk: reading };
    }
    return undefined;
  }

  async #read(index: bigint, timeoutMs: number): Promise<Reading> {
    if (this.#missing.has(index)) return 'missing';
    try {
      return await this.#get(index, timeoutMs);
    } catch (error) {
      this.#deps.signal.throwIfAborted();
      if (!(error instanceof ChunkNotFoundError)) return 'unknown';
      this.#missing.add(index);
      return 'missing';
    }
  }

  async #get(index: bigint, timeoutMs: number): Promise<Chunk> {
    using deadline = this.#deps.clock.deadline(timeoutMs, this.#deps.signal);
    return await this.#readUpdate(index, deadline.signal);
  }
}

/** At most LOOK_AHEAD, evenly spaced. */
function between(low: bigint, high: bigint): bigint[] {
  const room = high - low - 1n;
  const parts = room < BigInt(LOOKAHEAD) ? Number(room) : LOOKAHEAD;
  return Array.from({ length: parts }, (_, i) => low + ((high - low) * BigInt(i + 1)) / BigInt(parts + 1));
}
