/**
 * Limits how many downloads of a node read at once, how far ahead, and how much in one turn. A client that takes nothing
 * loses its place and the bytes read ahead until it continues.
 */
import type { Clock } from '../../../formats/clock.ts';
import { Slots } from '../../env/turns/slots.ts';
import { TurnAllowance } from '../../env/turns/turn-allowance.ts';
import type { JoinedFile } from '../../files/joiner.ts';
import { ApiError } from '../errors.ts';
import type { ApiMetrics } from '../metrics.ts';

/** At once; with redundancy each keeps up to two runs of chunks, a megabyte. */
const READING_MAX = 128;
const WAITING_MAX = 1024;
/** Bytes ahead for all downloads: 64 times that of a plain one. */
const AHEAD_TOTAL = 32 * 1024 * 1024;
/** Limit of one download. */
const AHEAD_MAX = 2 * 1024 * 1024;
/** Guaranteed to each download; one may take up to this fraction of the rest. */
const AHEAD_MIN = 64 * 1024;
const AHEAD_PART = 8;
/** Content up to this size is in memory with its first piece, and waits for nothing. */
const SMALL = 64 * 1024;
/** A client that takes no piece for this long has stalled. */
const STALL_MS = 500;
/** Some two milliseconds of reading; another client's request takes several turns. */
const TURN_BYTES = 512 * 1024;
/** So many downloads get whole turns and read ahead from the start; in a crowd each gets a part, so that none waits long. */
const FEW = 4;
const CROWD_PART = 8;

interface ReadsDeps {
  readonly clock: Clock;
  readonly metrics: Pick<ApiMetrics, 'downloadsStalled' | 'downloadsRefused'>;
}

interface RangeOptions {
  /** Bytes. */
  readonly start: bigint;
  readonly end: bigint;
  /** 0 or less: one chunk at a time. */
  readonly readAhead: number;
  readonly signal: AbortSignal;
  /** Its answer has started: it waits, however many others do. */
  readonly isUnderWay: boolean;
}

export class Reads {
  readonly #clock: Clock;
  readonly #metrics: ReadsDeps['metrics'];
  readonly #places = new Slots(READING_MAX);
  readonly #turns: TurnAllowance;
  #ahead = AHEAD_TOTAL;
  #reading = 0;

  constructor({ clock, metrics }: ReadsDeps) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#turns = new TurnAllowance(TURN_BYTES, clock);
  }

  get state(): { readonly reading: number; readonly waiting: number; readonly aheadBytes: number } {
    return { reading: this.#reading, waiting: this.#places.waiting, aheadBytes: AHEAD_TOTAL - this.#ahead };
  }

  /**
   * Resolves at the first piece, so that failures can still be error answers. A piece is requested when the one before has
   * left, whose memory is reused.
   * @throws ApiError `DOWNLOADS_BUSY`; what the joiner throws
   */
  async range(file: JoinedFile, options: RangeOptions): Promise<AsyncIterable<Uint8Array>> {
    const pieces = this.#pieces(file, options);
    return resumed(await pieces.next(), pieces);
  }

  async *#pieces(file: JoinedFile, { start, end, readAhead, signal, isUnderWay }: RangeOptions): Pieces {
    const most = Math.min(Math.max(readAhead, 0), AHEAD_MAX);
    const little = Math.min(most, AHEAD_MIN);
    using place = new Place((taken) => this.#leave(taken));
    let ahead = this.#reading < FEW ? most : little;
    let isWaiting = !isUnderWay;
    for (let at = start; at < end; ) {
      if (!place.isTaken) await this.#enter(place, { file, signal, mayRefuse: isWaiting });
      isWaiting = false;
      this.#grant(place, ahead);
      // Small content is little work; many wait.
      if (!isSmall(file)) await this.#spend(place.ahead);
      const until = ahead < most ? least(end, at + BigInt(ahead)) : end;
      const pieces = file.read(at, until, { signal, reuse: true, readAhead: place.ahead });
      for await (const piece of pieces) {
        at += BigInt(piece.length);
        const stall = this.#clock.timer(STALL_MS, () => {
          this.#metrics.downloadsStalled.inc();
          place[Symbol.dispose]();
          // Paused at a piece, so nothing can fail.
          void pieces.return();
        });
        try {
          yield piece;
        } finally {
          stall[Symbol.dispose]();
        }
        if (!isSmall(file)) await this.#spend(piece.length);
      }
      // A stalled client may stall again.
      ahead = place.isTaken ? Math.min(most, ahead * 2) : little;
    }
  }

  async #enter(
    place: Place,
    { file, signal, mayRefuse }: { file: JoinedFile; signal: AbortSignal; mayRefuse: boolean },
  ): Promise<void> {
    if (isSmall(file)) return place.take('none');
    if (mayRefuse && this.#places.waiting >= WAITING_MAX) {
      this.#metrics.downloadsRefused.inc();
      throw new ApiError('DOWNLOADS_BUSY');
    }
    await this.#places.acquire(signal);
    place.take('one of all');
    this.#reading += 1;
  }

  #grant(place: Place, ahead: number): void {
    this.#ahead += place.ahead;
    place.ahead = Math.min(ahead, Math.max(AHEAD_MIN, Math.floor(this.#ahead / AHEAD_PART)));
    this.#ahead -= place.ahead;
  }

  #leave({ kind, ahead }: { readonly kind: PlaceKind; readonly ahead: number }): void {
    this.#ahead += ahead;
    if (kind === 'none') return;
    this.#reading -= 1;
    this.#places.release();
  }

  #spend(bytes: number): Promise<void> | undefined {
    return this.#turns.spend(this.#reading <= FEW ? bytes : bytes * CROWD_PART);
  }
}

type PlaceKind = 'none' | 'one of all';

/** A download's place: left when its client stalls, and taken again. */
class Place implements Disposable {
  ahead = 0;
  readonly #leave: (taken: { kind: PlaceKind; ahead: number }) => void;
  #kind: PlaceKind | undefined;

  constructor(leave: (taken: { kind: PlaceKind; ahead: number }) => void) {
    this.#leave = leave;
  }

  get isTaken(): boolean {
    return this.#kind !== undefined;
  }

  take(kind: PlaceKind): void {
    this.#kind = kind;
  }

  [Symbol.dispose](): void {
    const { ahead } = this;
    const kind = this.#kind;
    this.#kind = undefined;
    this.ahead = 0;
    if (kind !== undefined) this.#leave({ kind, ahead });
  }
}

type Pieces = AsyncGenerator<Uint8Array, void, void>;

/** Leaving before the first piece must end the rest, unlike in a generator. */
function resumed(first: IteratorResult<Uint8Array, void>, rest: Pieces): AsyncIterable<Uint8Array> {
  let isFirst = true;
  const next = async () => {
    if (!isFirst) return rest.next();
    isFirst = false;
    return first;
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: () => rest.return() }) };
}

function isSmall({ length }: JoinedFile): boolean {
  return length <= BigInt(SMALL);
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
