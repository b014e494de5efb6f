/**
 * What one end of a diverted stream has said, on its way to the other. What waits is not credited to the sender, so no more
 * waits than its window. What is said beyond the sender's words uses the receiver's window, too: its next credits pay for it
 * before the sender gets any.
 */
import type { Clock } from '../../../../../formats/clock.ts';
import type { ActiveMessageRule, Verdict } from './rules.ts';

/** One message of noise holds them. */
const PART_MAX = 16_384;
/** The longest wait of a message for the next one that it should follow. */
export const SWAP_MAX_MS = 5000;

export interface Outlet {
  readonly window: number;
  data(bytes: Buffer): void;
  end(): void;
  held(change: number): void;
}

export interface WayDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly outlet: Outlet;
  readonly onOver: () => void;
}

interface Piece {
  /** Empty: the end. */
  bytes: Buffer;
  readonly dueAt: number;
}

interface Late {
  readonly bytes: Buffer;
  readonly delayMs: number;
  readonly copies: number;
  readonly rule: ActiveMessageRule;
  readonly timer: Disposable;
}

export class Way {
  readonly #deps: WayDeps;
  readonly #queue: Piece[] = [];
  #window: number;
  /** Bytes of the receiver's window that were said beyond what the sender said. */
  #debt = 0;
  #held = 0;
  #late: Late | undefined;
  #timer: Disposable | undefined;
  #isMute = false;
  #hasEnded = false;
  #isOver = false;

  constructor(deps: WayDeps) {
    this.#deps = deps;
    this.#window = deps.outlet.window;
  }

  get isMute(): boolean {
    return this.#isMute || this.#hasEnded;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  raw(bytes: Buffer): void {
    if (this.isMute || bytes.length === 0) return;
    this.#releaseLate();
    this.#push(bytes, 0);
    this.#flush();
  }

  message(bytes: Buffer, verdict?: Verdict): void {
    if (this.isMute) return;
    if (verdict?.drop !== undefined || verdict?.answer !== undefined) {
      this.#releaseLate();
      this.#isMute = true;
      return this.#flush();
    }
    const { delayMs = 0, copies = 0, swaps } = verdict ?? {};
    if (swaps !== undefined && this.#late === undefined) {
      const timer = this.#deps.clock.timer(SWAP_MAX_MS, () => {
        this.#releaseLate();
        this.#flush();
      });
      this.#late = { bytes, delayMs, copies, rule: swaps, timer };
      return this.#account();
    }
    this.#pushAll(bytes, { delayMs, copies });
    if (this.#late !== undefined) this.#late.rule.counts['messages reordered']++;
    this.#releaseLate();
    this.#flush();
  }

  end(): void {
    if (this.#hasEnded) return;
    const isMute = this.#isMute;
    this.#releaseLate();
    this.#hasEnded = true;
    if (!isMute) this.#push(Buffer.alloc(0), 0);
    this.#flush();
    if (isMute) this.#end();
  }

  /** The receiver takes more. @returns how much of it is the sender's */
  credit(bytes: number): number {
    this.#window += bytes;
    this.#flush();
    const kept = Math.min(bytes, this.#debt);
    this.#debt -= kept;
    return bytes - kept;
  }

  discard(): void {
    this.#late?.timer[Symbol.dispose]();
    this.#late = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#queue.length = 0;
    this.#isMute = true;
    this.#hasEnded = true;
    this.#account();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deps.onOver();
  }

  #releaseLate(): void {
    const late = this.#late;
    if (late === undefined) return;
    this.#late = undefined;
    late.timer[Symbol.dispose]();
    this.#pushAll(late.bytes, late);
  }

  #pushAll(bytes: Buffer, { delayMs, copies }: { readonly delayMs: number; readonly copies: number }): void {
    for (let count = 0; count <= copies; count++) this.#push(bytes, delayMs);
    this.#debt += copies * bytes.length;
  }

  #push(bytes: Buffer, delayMs: number): void {
    this.#queue.push({ bytes, dueAt: this.#deps.clock.monotonic() + delayMs });
  }

  /** In the order pushed: one that waits holds up what follows it. */
  #flush(): void {
    const { clock, outlet } = this.#deps;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const waitMs = first.dueAt - clock.monotonic();
      if (waitMs > 0) {
        this.#timer = clock.timer(Math.ceil(waitMs), () => this.#flush());
        break;
      }
      if (first.bytes.length === 0) {
        this.#queue.shift();
        outlet.end();
        this.#end();
        break;
      }
      if (this.#window === 0) break;
      const part = first.bytes.subarray(0, Math.min(this.#window, PART_MAX));
      outlet.data(part);
      this.#window -= part.length;
      first.bytes = first.bytes.subarray(part.length);
      if (first.bytes.length === 0) this.#queue.shift();
    }
    this.#account();
  }

  /** What waits for credit does not keep its sender's connection from being read: the credit could wait for that. */
  #account(): void {
    const waitsForCredit = this.#timer === undefined && this.#queue.length > 0;
    const queued = this.#queue.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const held = waitsForCredit ? 0 : queued + (this.#late?.bytes.length ?? 0);
    const change = held - this.#held;
    this.#held = held;
    if (change !== 0) this.#deps.outlet.held(change);
  }
}
