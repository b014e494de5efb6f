/**
 * A connection of nodes whose messages rules may change. Streams that are opened while a rule concerns these nodes
 * are diverted: their frames end here, and new ones carry on what they said. All other frames pass as they are, and
 * so does the whole connection while no rule is in force and no stream is diverted.
 */
import type { Clock } from '../../../../../formats/clock.ts';
import type { MessageTable } from '../../../../../node/p2p/codec/message.ts';
import { YAMUX_FLAG, YAMUX_TYPE, type YamuxFrame, type YamuxFrames, yamuxHeader } from '../yamux-frames.ts';
import type { MessageRules } from './rules.ts';
import { Way } from './way.ts';

/** From the dialler to the node, and back. */
export type Direction = 'up' | 'down';
const OTHER = { up: 'down', down: 'up' } as const;

export interface DiversionDeps {
  readonly rules: MessageRules;
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** What is said at another time than when something has come from that end; nothing: it may be read again. */
  readonly inject: (direction: Direction, bytes: Buffer) => void;
}

interface Side {
  frames: YamuxFrames | undefined;
  /** Whether it is passed on frame by frame. */
  isFramed: boolean;
  /** Of the next frame's header, bytes that have gone on. */
  passed: number;
  /** Within a frame that passes as it is. */
  isInside: boolean;
  /** Stream of the frame that is arriving. */
  current: DivertedStream | undefined;
  /** What goes on for what has just come. */
  out: Buffer[] | undefined;
  /** What is to go on between two frames. */
  waiting: Buffer[];
  /** Bytes that wait here. */
  held: number;
}

export class Diversion {
  readonly #deps: DiversionDeps;
  readonly #sides: Readonly<Record<Direction, Side>> = { up: newSide(), down: newSide() };
  readonly #streams = new Map<number, DivertedStream>();
  /** Names of the ends, once they are known. */
  #ends: readonly [dialler: string, node: string] | undefined;

  constructor(deps: DiversionDeps) {
    this.#deps = deps;
  }

  between(dialler: string, node: string): void {
    this.#ends = [dialler, node];
  }

  /** Bytes from one end that wait here. */
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

  /**
   * @param frame that opens a stream, its header in `header` @returns undefined: the stream passes as it is
   */
  open(
    direction: Direction,
    { id }: YamuxFrame,
    [opener, acceptor]: readonly [string, string],
  ): DivertedStream | undefined {
    const side = this.#sides[direction];
    if (!side.isFramed || side.passed > 0 || this.#streams.has(id) || !this.#isConcerned()) return undefined;
    const { rules, clock } = this.#deps;
    const stream: DivertedStream = new DivertedStream({
      id,
      opened: direction,
      opener,
      acceptor,
      rules,
      clock,
      emit: (to, bytes) => this.#emit(to, bytes),
      held: (from, change) => {
        const waits = this.#sides[from];
        waits.held += change;
        // An end that was not read because of it can be.
        if (change < 0 && waits.out === undefined) this.#deps.inject(from, Buffer.alloc(0));
      },
      onOver: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    return stream;
  }

  begun(direction: Direction, frame: YamuxFrame, header: Buffer): void {
    const side = this.#sides[direction];
    if (!side.isFramed) return;
    side.current = frame.type <= YAMUX_TYPE.windowUpdate ? this.#streams.get(frame.id) : undefined;
    if (side.current === undefined) {
      side.out?.push(Buffer.from(header.subarray(side.passed)));
      side.isInside = true;
    } else side.current.begun(direction, frame);
    side.passed = 0;
  }

  data(direction: Direction, bytes: Buffer): void {
    const side = this.#sides[direction];
    if (side.isFramed && side.current === undefined) side.out?.push(bytes);
  }

  /** @returns whether a rule resets its stream */
  over(direction: Direction, { flags }: YamuxFrame): boolean {
    const side = this.#sides[direction];
    if (!side.isFramed) return false;
    side.isInside = false;
    side.current?.over(direction, flags);
    const isReset = side.current?.resetIfDoomed() ?? false;
    side.out?.push(...side.waiting.splice(0));
    return isReset;
  }

  /** What is no yamux passes as it is. */
  unknown(direction: Direction, bytes: Buffer): void {
    const side = this.#sides[direction];
    if (side.isFramed) side.out?.push(bytes.subarray(side.passed));
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.discard();
    this.#streams.clear();
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

interface StreamDeps {
  readonly id: number;
  /** Where its opener's words go. */
  readonly opened: Direction;
  readonly opener: string;
  readonly acceptor: string;
  readonly rules: MessageRules;
  readonly clock: DiversionDeps['clock'];
  readonly emit: (direction: Direction, bytes: Buffer) => void;
  readonly held: (direction: Direction, change: number) => void;
  readonly onOver: () => void;
}

/** A stream whose frames end here. */
export class DivertedStream {
  readonly #deps: StreamDeps;
  readonly #ways: Readonly<Record<Direction, Way>>;
  #isDoomed = false;

  constructor(deps: StreamDeps) {
    this.#deps = deps;
    this.#ways = { up: this.#way('up'), down: this.#way('down') };
  }

  /** @param bytes that are no message */
  raw(isOpener: boolean, bytes: Uint8Array): void {
    this.#wayOf(isOpener).raw(Buffer.from(bytes));
  }

  /** @param bytes of a message, without its length @returns what is done to it */
  message(
    isOpener: boolean,
    bytes: Uint8Array,
    about: { readonly protocol: string; readonly message: string; readonly table: MessageTable },
  ): readonly string[] {
    const way = this.#wayOf(isOpener);
    if (way.isMute) return [];
    const { opener, acceptor, rules } = this.#deps;
    const [from, to] = isOpener ? [opener, acceptor] : [acceptor, opener];
    const verdict = rules.judged({ from, to, bytes, ...about });
    this.#isDoomed ||= verdict?.drop === 'reset';
    way.message(withLength(verdict?.bytes ?? bytes), verdict);
    return verdict?.done ?? [];
  }

  /** @param bytes of a message that nothing is done to, without its length */
  untouched(isOpener: boolean, bytes: Uint8Array): void {
    this.#wayOf(isOpener).message(withLength(bytes));
  }

  begun(direction: Direction, { type, flags, id, length }: YamuxFrame): void {
    const opening = flags & (YAMUX_FLAG.syn | YAMUX_FLAG.ack);
    const credit = type === YAMUX_TYPE.windowUpdate ? this.#ways[OTHER[direction]].credit(length) : 0;
    if (opening === 0 && credit === 0) return;
    const frame = { type: YAMUX_TYPE.windowUpdate, flags: opening, id, length: credit };
    this.#deps.emit(direction, yamuxHeader(frame));
  }

  over(direction: Direction, flags: number): void {
    if ((flags & YAMUX_FLAG.rst) !== 0) this.#reset(direction);
    else if ((flags & YAMUX_FLAG.fin) !== 0) this.#ways[direction].end();
  }

  resetIfDoomed(): boolean {
    if (!this.#isDoomed) return false;
    this.#isDoomed = false;
    this.#reset('up', 'down');
    return true;
  }

  discard(): void {
    for (const way of Object.values(this.#ways)) way.discard();
  }

  #reset(...directions: readonly Direction[]): void {
    const { id, emit, onOver } = this.#deps;
    this.discard();
    for (const direction of directions) {
      const frame = { type: YAMUX_TYPE.windowUpdate, flags: YAMUX_FLAG.rst, id, length: 0 };
      emit(direction, yamuxHeader(frame));
    }
    onOver();
  }

  #way(direction: Direction): Way {
    const { id, clock, emit, held } = this.#deps;
    return new Way({
      id,
      clock,
      emit: (frame) => emit(direction, frame),
      held: (change) => held(direction, change),
      onOver: () => this.#ways.up.isOver && this.#ways.down.isOver && this.#deps.onOver(),
    });
  }

  #wayOf(isOpener: boolean): Way {
    return this.#ways[isOpener ? this.#deps.opened : OTHER[this.#deps.opened]];
  }
}

/** As a frame on a stream. */
function withLength(bytes: Uint8Array): Buffer {
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Uint8Array.from([...length, rest]), bytes]);
}
