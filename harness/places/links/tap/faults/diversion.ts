/**
 * Streams that are opened while a rule concerns their nodes are diverted: their frames end here, and new ones carry on what
 * they said. All other frames pass as they are.
 */
import type { Clock } from '../../../../../formats/clock.ts';
import { YAMUX_FLAG, YAMUX_TYPE, type YamuxFrame, type YamuxFrames, yamuxHeader } from '../yamux-frames.ts';
import { DivertedStream } from './diverted-stream.ts';
import { Replays } from './replays.ts';
import type { MessageRules } from './rules.ts';
import type { Outlet } from './way.ts';

/** `up` goes from the dialler to the node. */
export type Direction = 'up' | 'down';
const OTHER = { up: 'down', down: 'up' } as const;
/** What either end of a new stream takes without credit. */
const WINDOW = 262_144;
/** Streams opened in an end's name are numbered downwards from here, where no end gets to. */
const LAST_ID = { up: 0xffff_ffff, down: 0xffff_fffe } as const;
/** For an end that does not know of its stream. */
const NOBODY: Outlet = {
  window: Infinity,
  data: () => undefined,
  end: () => undefined,
  held: () => undefined,
};

export interface DiversionDeps {
  readonly rules: MessageRules;
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** Sends bytes at a time when none have come from that end; no bytes: it may be read again. */
  readonly inject: (direction: Direction, bytes: Buffer) => void;
  /** A stream has been opened in an end's name, and this was said on it. */
  readonly replayed: (direction: Direction, id: number, said: Buffer) => void;
  readonly cut: (id: number) => void;
}

interface Diverted {
  readonly stream: DivertedStream;
  readonly opened: Direction;
  /** The end that does not know of it, or not any more. */
  deaf: Direction | undefined;
}

interface Side {
  frames: YamuxFrames | undefined;
  isFramed: boolean;
  /** Bytes of the next frame's header that have gone on. */
  passed: number;
  /** Within a frame that passes as it is. */
  isInside: boolean;
  current: Diverted | undefined;
  out: Buffer[] | undefined;
  waiting: Buffer[];
  held: number;
}

export class Diversion {
  readonly #deps: DiversionDeps;
  readonly #sides: Readonly<Record<Direction, Side>> = { up: newSide(), down: newSide() };
  readonly #streams = new Map<number, Diverted>();
  readonly #replays: Replays;
  #replayed = 0;
  #ends: readonly [dialler: string, node: string] | undefined;

  constructor(deps: DiversionDeps) {
    this.#deps = deps;
    this.#replays = new Replays(deps.clock);
  }

  between(dialler: string, node: string): void {
    this.#ends = [dialler, node];
  }

  held(direction: Direction): number {
    return this.#sides[direction].held;
  }

  /** @param frames that `read` cuts them into @returns what goes on for these bytes */
  pass(direction: Direction, bytes: Buffer, frames: YamuxFrames, read: () => void): Buffer {
    const side = this.#sides[direction];
    side.frames = frames;
    const isNeeded = this.#streams.size > 0 || side.waiting.length > 0 || this.#isConcerned();
    if (isNeeded && !side.isFramed) {
      side.isFramed = true;
      side.current = undefined;
      side.passed = frames.filled;
      side.isInside = !frames.isBetween && frames.filled === 0;
    } else if (!isNeeded && frames.isBetween) side.isFramed = false;
    if (!side.isFramed) {
      read();
      return bytes;
    }
    side.out = [];
    read();
    const out = Buffer.concat(side.out);
    side.out = undefined;
    return out;
  }

  /** @param frame that opens a stream, its header in `header` @returns undefined: the stream passes as it is */
  open(
    direction: Direction,
    { id }: YamuxFrame,
    [opener, acceptor]: readonly [string, string],
  ): DivertedStream | undefined {
    const side = this.#sides[direction];
    if (!side.isFramed || side.passed > 0 || this.#streams.has(id) || !this.#isConcerned()) return undefined;
    const { rules, clock } = this.#deps;
    const stream = new DivertedStream({
      opener,
      acceptor,
      rules,
      clock,
      outletOf: (isOpener) => this.#outlet(id, isOpener ? direction : OTHER[direction]),
      replays: this.#replays,
      replay: (said) => this.#replay(direction, said, [opener, acceptor]),
      cut: () => {
        this.#reset(id, stream, 'up', 'down');
        this.#deps.cut(id);
      },
      takeOver: () => {
        diverted.deaf = OTHER[direction];
        this.#emit(direction, updateOf({ id, flags: YAMUX_FLAG.rst, length: 0 }));
      },
      onOver: () => this.#streams.delete(id),
    });
    const diverted: Diverted = { stream, opened: direction, deaf: undefined };
    this.#streams.set(id, diverted);
    return stream;
  }

  #replay(direction: Direction, said: Buffer, [opener, acceptor]: readonly [string, string]): void {
    const id = LAST_ID[direction] - 2 * this.#replayed++;
    const { rules, clock, replayed } = this.#deps;
    const stream = new DivertedStream({
      opener,
      acceptor,
      rules,
      clock,
      outletOf: (isOpener) => (isOpener ? this.#outlet(id, direction) : NOBODY),
      replays: undefined,
      replay: () => undefined,
      cut: () => this.#reset(id, stream, direction),
      takeOver: () => undefined,
      onOver: () => this.#streams.delete(id),
    });
    this.#streams.set(id, { stream, opened: direction, deaf: direction });
    this.#emit(direction, updateOf({ id, flags: YAMUX_FLAG.syn, length: 0 }));
    stream.raw(true, said);
    stream.ended(true);
    replayed(direction, id, said);
  }

  begun(direction: Direction, frame: YamuxFrame, header: Buffer): void {
    const side = this.#sides[direction];
    if (!side.isFramed) return;
    side.current = frame.type <= YAMUX_TYPE.windowUpdate ? this.#streams.get(frame.id) : undefined;
    if (side.current === undefined) {
      side.out?.push(Buffer.from(header.subarray(side.passed)));
      side.isInside = true;
    } else this.#answer(side.current, direction, frame);
    side.passed = 0;
  }

  data(direction: Direction, bytes: Buffer): void {
    const side = this.#sides[direction];
    if (side.isFramed && side.current === undefined) side.out?.push(bytes);
  }

  over(direction: Direction, { id, flags }: YamuxFrame): boolean {
    const side = this.#sides[direction];
    if (!side.isFramed) return false;
    side.isInside = false;
    const isReset = side.current !== undefined && this.#ended(side.current, direction, { id, flags });
    side.out?.push(...side.waiting.splice(0));
    return isReset;
  }

  /** The frame that arrives is of a stream that goes on without that end. */
  ignores(direction: Direction): boolean {
    const { isFramed, current } = this.#sides[direction];
    return isFramed && current?.deaf === direction;
  }

  unknown(direction: Direction, bytes: Buffer): void {
    const side = this.#sides[direction];
    if (side.isFramed) side.out?.push(bytes.subarray(side.passed));
  }

  close(): void {
    this.#replays.close();
    for (const { stream } of this.#streams.values()) stream.discard();
    this.#streams.clear();
  }

  /** Opens and credits a stream as the frame does, as far as the credit is the sender's. */
  #answer(
    { stream, opened, deaf }: Diverted,
    direction: Direction,
    { type, flags, id, length }: YamuxFrame,
  ): void {
    const opening = flags & (YAMUX_FLAG.syn | YAMUX_FLAG.ack);
    const credit = type === YAMUX_TYPE.windowUpdate ? stream.credit(direction !== opened, length) : 0;
    if (deaf !== undefined || (opening === 0 && credit === 0)) return;
    this.#emit(direction, updateOf({ id, flags: opening, length: credit }));
  }

  #ended(
    { stream, opened, deaf }: Diverted,
    direction: Direction,
    { id, flags }: Pick<YamuxFrame, 'id' | 'flags'>,
  ): boolean {
    if (direction !== deaf) {
      if ((flags & YAMUX_FLAG.rst) !== 0) this.#reset(id, stream, ...(deaf === undefined ? [direction] : []));
      else if ((flags & YAMUX_FLAG.fin) !== 0) stream.ended(direction === opened);
    }
    // What is said in place of an end that has just been heard for the last time may doom the stream, too.
    if (!stream.isDoomed) return false;
    this.#reset(id, stream, 'up', 'down');
    return true;
  }

  #reset(id: number, stream: DivertedStream, ...directions: readonly Direction[]): void {
    stream.discard();
    for (const direction of directions) {
      this.#emit(direction, updateOf({ id, flags: YAMUX_FLAG.rst, length: 0 }));
    }
    this.#streams.delete(id);
  }

  #outlet(id: number, direction: Direction): Outlet {
    return {
      window: WINDOW,
      data: (bytes) => {
        const header = yamuxHeader({ type: YAMUX_TYPE.data, flags: 0, id, length: bytes.length });
        this.#emit(direction, Buffer.concat([header, bytes]));
      },
      end: () => this.#emit(direction, updateOf({ id, flags: YAMUX_FLAG.fin, length: 0 })),
      held: (change) => {
        const waits = this.#sides[direction];
        waits.held += change;
        // An end that was not read because of it can be.
        if (change < 0 && waits.out === undefined) this.#deps.inject(direction, Buffer.alloc(0));
      },
    };
  }

  #isConcerned(): boolean {
    return this.#ends !== undefined && this.#deps.rules.concern(...this.#ends);
  }

  #emit(direction: Direction, bytes: Buffer): void {
    const side = this.#sides[direction];
    const isBetween = side.isFramed ? !side.isInside && side.passed === 0 : side.frames?.isBetween !== false;
    if (!isBetween) side.waiting.push(bytes);
    else if (side.out === undefined) this.#deps.inject(direction, bytes);
    else side.out.push(bytes);
  }
}

function newSide(): Side {
  return {
    frames: undefined,
    isFramed: false,
    passed: 0,
    isInside: false,
    current: undefined,
    out: undefined,
    waiting: [],
    held: 0,
  };
}

function updateOf(frame: Pick<YamuxFrame, 'id' | 'flags' | 'length'>): Buffer {
  return yamuxHeader({ type: YAMUX_TYPE.windowUpdate, ...frame });
}
