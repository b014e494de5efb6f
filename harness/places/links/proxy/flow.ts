/** One direction of a proxied connection. A full queue stops reading, which bounds memory and slows the sender. */
import type { Socket } from 'node:net';
import { TIMER_MAX_MS } from '../../../../formats/units.ts';
import type { Shape } from '../conditions.ts';
import { type Line, pieceBytes, type Sent } from '../line.ts';
import { type Direction, isFree } from '../rules.ts';

/** Bytes in flight in one direction: about what TCP lets a sender have outstanding. */
const QUEUE_MAX_BYTES = 4 * 2 ** 20;
const QUEUE_MIN_BYTES = 64 * 2 ** 10;
const SLACK_MS = 200;
/** Timers are no finer than a millisecond. */
const EARLY_MS = 0.5;
/** Bytes for all connections together; beyond it each gets the smallest queue. */
const ALL_QUEUES_BYTES = 256 * 2 ** 20;

export interface Budget {
  queued: number;
}

type Piece = { readonly sent: Sent; due: number } & (
  | { readonly kind: 'data'; readonly bytes: Buffer }
  | { readonly kind: 'end' | 'reset' }
);

export interface FlowEvents {
  onEnded(): void;
  onBroken(): void;
  onPassing(bytes: number): number;
}

export interface FlowDeps {
  readonly line: Line;
  readonly direction: Direction;
  readonly budget: Budget;
  readonly events: FlowEvents;
  /** @throws Error when nothing can go on */
  readonly translate?: (bytes: Buffer) => Buffer;
  readonly held?: () => number;
}

export class Flow {
  readonly #source: Socket;
  readonly #sink: Socket;
  readonly #line: Line;
  readonly #budget: Budget;
  readonly #events: FlowEvents;
  readonly #translate: FlowDeps['translate'];
  readonly #held: FlowDeps['held'];
  #direction: Direction;
  #queue: Piece[] = [];
  #head = 0;
  #queued = 0;
  #open = false;
  #blocked = false;
  #reading = false;
  #hasEnded = false;
  #isGone = false;
  /** What follows a gap is meaningless. */
  #hasGap = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Socket, sink: Socket, deps: FlowDeps) {
    this.#source = source;
    this.#sink = sink;
    this.#line = deps.line;
    this.#direction = deps.direction;
    this.#budget = deps.budget;
    this.#events = deps.events;
    this.#translate = deps.translate;
    this.#held = deps.held;
    source.on('data', (bytes: Buffer) => this.#arrived(bytes));
    source.on('end', () => this.#finish('end'));
    // Even if the source has ended in this direction and can still be written to.
    source.on('close', () => this.#finish('reset'));
    sink.on('drain', () => {
      this.#blocked = false;
      this.#release();
    });
  }

  get direction(): Direction {
    return this.#direction;
  }

  /** Data under way waits no longer than if sent now; on a healed line, not at all. */
  become(direction: Direction): void {
    const isSame = direction === this.#direction;
    this.#direction = direction;
    if (this.#hasGap && !direction.shape.swallows) return this.#events.onBroken();
    if (!isSame) {
      const now = performance.now();
      const { shape } = direction;
      const waiting = this.#queue.slice(this.#head);
      this.#line.become(
        now,
        shape,
        waiting.map(({ sent }) => sent),
      );
      for (const piece of waiting) {
        const closeMs = piece.kind === 'data' ? 0 : shape.closeDelayMs;
        piece.due = Math.min(piece.due, Math.max(now, piece.sent.dueAt) + closeMs);
      }
    }
    this.#release();
  }

  read(): void {
    this.#reading = true;
    this.#regulate();
  }

  open(): void {
    this.#open = true;
    this.#release();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#budget.queued -= this.#queued;
    this.#queued = 0;
    this.#queue = [];
    this.#head = 0;
    this.#hasEnded = true;
    this.#isGone = true;
  }

  #arrived(bytes: Buffer): void {
    if (this.#hasEnded) return;
    let translated = bytes;
    try {
      if (this.#translate !== undefined) translated = this.#translate(bytes);
    } catch {
      return this.#events.onBroken();
    }
    if (translated.length > 0) this.#take(translated);
    if (this.#held !== undefined || translated.length === 0) this.#regulate();
  }

  inject(bytes: Buffer): void {
    if (this.#hasEnded) return;
    if (bytes.length > 0) this.#take(bytes);
    this.#regulate();
  }

  #take(bytes: Buffer): void {
    this.#direction.countBytes(bytes.length);
    const { shape } = this.#direction;
    if (shape.swallows) {
      this.#hasGap = true;
    } else if (this.#open && isFree(this.#direction) && this.#head === this.#queue.length) {
      this.#pass(bytes);
      if (this.#blocked) this.#regulate();
    } else {
      this.#enqueue(bytes);
    }
  }

  #enqueue(bytes: Buffer): void {
    const now = performance.now();
    const size = pieceBytes(this.#direction.shape);
    for (let start = 0; start < bytes.length; start += size) {
      const piece = bytes.subarray(start, start + size);
      const sent = this.#line.send(now, piece.length, this.#direction.shape);
      this.#queue.push({ kind: 'data', bytes: piece, sent, due: sent.dueAt });
    }
    this.#queued += bytes.length;
    this.#budget.queued += bytes.length;
    this.#release();
  }

  #finish(kind: 'end' | 'reset'): void {
    if (this.#isGone || (this.#hasEnded && kind === 'end')) return;
    this.#hasEnded = true;
    this.#isGone = kind === 'reset';
    const { shape } = this.#direction;
    if (shape.swallows) {
      this.#hasGap = true;
      return;
    }
    if (shape.closeDelayMs > 0) this.#direction.countClose();
    const sent = this.#line.send(performance.now(), 0, shape);
    this.#queue.push({ kind, sent, due: sent.dueAt + shape.closeDelayMs });
    this.#release();
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#direction.shape.stalls) {
      let now = performance.now();
      while (this.#head < this.#queue.length && !this.#blocked) {
        const piece = this.#queue[this.#head] as Piece;
        if (!this.#open) break;
        if (piece.due > now + EARLY_MS) {
          now = performance.now();
          if (piece.due > now + EARLY_MS) {
            this.#timer = setTimeout(() => this.#release(), Math.min(piece.due - now, TIMER_MAX_MS));
            break;
          }
        }
        this.#head++;
        if (piece.kind === 'data') {
          this.#queued -= piece.bytes.length;
          this.#budget.queued -= piece.bytes.length;
          this.#pass(piece.bytes);
        } else if (piece.kind === 'end') {
          this.#sink.end();
          this.#events.onEnded();
        } else {
          return this.#events.onBroken();
        }
      }
    }
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    this.#regulate();
  }

  #pass(bytes: Buffer): void {
    const allowed = this.#events.onPassing(bytes.length);
    const sent = allowed < bytes.length ? bytes.subarray(0, allowed) : bytes;
    // A sink that has gone notifies its own flow.
    if (sent.length > 0 && this.#sink.writable) this.#blocked = !this.#sink.write(sent);
    if (sent !== bytes) this.#events.onBroken();
  }

  #regulate(): void {
    if (!this.#reading || this.#source.destroyed) return;
    const isFull =
      this.#queued > queueBytes(this.#direction.shape) ||
      (this.#held?.() ?? 0) > QUEUE_MAX_BYTES ||
      (this.#queued > QUEUE_MIN_BYTES && this.#budget.queued > ALL_QUEUES_BYTES) ||
      (this.#blocked && this.#queued === 0);
    if (isFull) this.#source.pause();
    else if (this.#source.isPaused()) this.#source.resume();
  }
}

function queueBytes({ stalls, bytesPerSecond, delayMs, jitterMs }: Shape): number {
  if (stalls) return QUEUE_MIN_BYTES;
  const held = bytesPerSecond * ((delayMs + jitterMs + SLACK_MS) / 1000);
  return Math.min(QUEUE_MAX_BYTES, Math.max(QUEUE_MIN_BYTES, held));
}
