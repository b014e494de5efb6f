/**
 * Reading content for all downloads of a node: so many at once, so many bytes ahead of their clients, so much in one turn
 * of the event loop. A client that does not take what it was sent gives its place to others, and what was read ahead for
 * it is forgotten; when it goes on, so does its read.
 */
import type { Clock } from '../../env/clock.ts';
import { Slots } from '../../env/turns/slots.ts';
import { TurnAllowance } from '../../env/turns/turn-allowance.ts';
import type { JoinedFile } from '../../files/joiner.ts';
import { ApiError } from '../errors.ts';
import type { ApiMetrics } from '../metrics.ts';

/** Downloads that read at the same time; with redundancy each of them keeps up to two runs of chunks, a megabyte. */
const READING_MAX = 128;
/** Downloads that wait for one of those to end. */
const WAITING_MAX = 1024;
/** Bytes read ahead for all of them: 64 times as much as one that asks for nothing special. */
const AHEAD_TOTAL = 32 * 1024 * 1024;
/** Bytes read ahead for one, whatever it asks for. */
const AHEAD_MAX = 2 * 1024 * 1024;
/** Every download gets so much, and one may take up to this part of what is left, so that something always is. */
const AHEAD_MIN = 64 * 1024;
const AHEAD_PART = 8;
/** What has no more bytes than this is in memory with its first piece, and waits for nobody. */
const SMALL = 64 * 1024;
/** A client that does not take a piece for so long has stalled, milliseconds. */
const STALL_MS = 500;
/** Bytes of one turn of the event loop: some twenty milliseconds of reading. */
const TURN_BYTES = 4 * 1024 * 1024;
/**
 * So many downloads at once have all of that, and read ahead from the beginning. More are a crowd: they get a part of it,
 * because others have to wait for many such turns, and begin with little.
 */
const FEW = 4;
const CROWD_PART = 64;

interface ReadsDeps {
  readonly clock: Clock;
  readonly metrics: Pick<ApiMetrics, 'downloadsStalled' | 'downloadsRefused'>;
}

interface RangeOptions {
  /** Bytes. */
  readonly start: bigint;
  readonly end: bigint;
  /** Bytes to read ahead, as the request or the joiner has it; 0 or less: one chunk at a time. */
  readonly readAhead: number;
  readonly signal: AbortSignal;
  /** The answer has begun: it waits however many do. */
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

  /** What is going on. */
  get state(): { readonly reading: number; readonly waiting: number; readonly aheadBytes: number } {
    return { reading: this.#reading, waiting: this.#places.waiting, aheadBytes: AHEAD_TOTAL - this.#ahead };
  }

  /**
   * Starts reading a range; resolves when its first piece is there, so that a failure is still an error answer. A piece
   * is asked for when the one before has left, whose memory is then used again.
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
      // Small content is no work to speak of, and those who wait for turns are many.
      if (!isSmall(file)) await this.#spend(place.ahead);
      const until = ahead < most ? least(end, at + BigInt(ahead)) : end;
      const pieces = file.read(at, until, { signal, reuse: true, readAhead: place.ahead });
      for await (const piece of pieces) {
        at += BigInt(piece.length);
        const stall = this.#clock.timer(STALL_MS, () => {
          this.#metrics.downloadsStalled.inc();
          place[Symbol.dispose]();
          // It waits at a piece, so that nothing is left that could fail.
          void pieces.return();
        });
        try {
          yield piece;
        } finally {
          stall[Symbol.dispose]();
        }
        if (!isSmall(file)) await this.#spend(piece.length);
      }
      // Who has stalled may do so again.
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

/** Small content has no place of those that there are so many of. */
type PlaceKind = 'none' | 'one of all';

/** Of one download: taken, left when its client stalls, and taken again. */
class Place implements Disposable {
  /** Bytes that may be read ahead. */
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

/** No generator: leaving it before its first piece ends the others as well. */
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
