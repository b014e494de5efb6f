/**
 * Degraded links between nodes that share a process: what they send each other waits here, timed by a given
 * clock.
 */
import type { Clock } from '../../../node/env/clock.ts';
import type { Carrier, MemoryPair } from '../../../node/p2p/memory-host.ts';
import type { MemoryFrame } from '../../../node/p2p/memory-link.ts';
import { FREE } from '../../links/conditions.ts';
import { Line } from '../../links/line.ts';
import {
  type ActiveRule,
  changed,
  Direction,
  isFree,
  type LinkControl,
  type LinkEffect,
  type LinkRule,
  Rules,
} from '../../links/rules.ts';

/** Bytes in transit in one direction, as on a connection through the proxy: above this, writers wait. */
const QUEUE_FULL_BYTES = 4 * 2 ** 20;
/**
 * Beyond this there are only streams that are opened and abandoned, which do not wait: then the link breaks.
 * Between processes, the nodes close a link that has been silent for so long.
 */
const QUEUE_MAX_BYTES = 16 * 2 ** 20;
/** Overhead of a frame besides its bytes: most of the waiting frames have none. */
const FRAME_BYTES = 256;

export interface MemoryLinksDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** Name of the node with a peer id. */
  readonly nameOf: (peerId: string) => string | undefined;
  /** All existing connections. */
  readonly pairs: () => readonly MemoryPair[];
}

/** All traffic from one node to another. */
interface Way {
  readonly from: string;
  readonly to: string;
  readonly line: Line;
  direction: Direction;
  queue: { readonly arrive: () => void; readonly size: number; due: number }[];
  /** Bytes in it. */
  queued: number;
  /** Resolves for writers that wait. */
  room: PromiseWithResolvers<void> | undefined;
  timer: Disposable | undefined;
  /** Whether something was swallowed. */
  holed: boolean;
}

export class MemoryLinks implements LinkControl, Carrier {
  readonly knowsDiallers = true;
  readonly #deps: MemoryLinksDeps;
  readonly #rules = new Rules();
  readonly #ways = new Map<string, Way>();
  /** Bytes between two nodes since the start of a rule that counts them. */
  readonly #passed = new Map<ActiveRule, Map<string, number>>();

  constructor(deps: MemoryLinksDeps) {
    this.#deps = deps;
  }

  get idle(): boolean {
    return this.#ways.size === 0 && this.#rules.active.length === 0;
  }

  carry(frame: MemoryFrame, arrive: () => void, refuse: () => void): void {
    const way = this.#way(frame.from, frame.to);
    if (isFree(way.direction) && way.queue.length === 0) return arrive();
    const { direction, line } = way;
    const { shape } = direction;
    direction.countBytes(frame.bytes.length);
    if (frame.kind === 'dial') {
      if (direction.rules.some(({ rule }) => rule.conditions.refuse === true)) {
        direction.count('connections refused', 'refuse');
        return refuse();
      }
      direction.count('connections held back', 'stall');
    }
    if (shape.swallows) {
      way.holed ||= frame.kind !== 'dial';
      return;
    }
    if (this.#isCut(frame, direction)) return this.#reset(frame.from, frame.to);
    const back = frame.kind === 'dial' ? this.#way(frame.to, frame.from).direction.shape : FREE;
    if (frame.kind === 'close' && shape.closeDelayMs > 0) direction.countClose();
    const now = this.#deps.clock.monotonic();
    const due =
      line.due(now, frame.bytes.length, shape) +
      back.delayMs +
      (frame.kind === 'close' ? shape.closeDelayMs : 0);
    const size = FRAME_BYTES + frame.bytes.length;
    if (way.queued + size > QUEUE_MAX_BYTES) return this.#overflow(way);
    way.queued += size;
    way.queue.push({ arrive, size, due });
    if (way.timer === undefined) this.#release(way);
  }

  room(from: string, to: string): Promise<void> | undefined {
    const way = this.#ways.get(`${from} ${to}`);
    if (way === undefined || way.queued <= QUEUE_FULL_BYTES) return undefined;
    way.room ??= Promise.withResolvers();
    return way.room.promise;
  }

  begin(id: string, rule: LinkRule): Promise<void> {
    const begun = this.#rules.begin(id, rule);
    this.#follow();
    if (rule.conditions.reset === true) {
      for (const pair of this.#deps.pairs()) {
        const [one, other] = [this.#names(pair.dialler), this.#names(pair.dialled)];
        if (!begun.meets(one, other) && !begun.meets(other, one)) continue;
        begun.counts['connections reset']++;
        pair.reset();
      }
    }
    return Promise.resolve();
  }

  effect(id: string): Promise<LinkEffect> {
    return Promise.resolve(this.#rules.effect(id));
  }

  end(id: string): Promise<void> {
    const ended = this.#rules.end(id);
    if (ended !== undefined) {
      this.#passed.delete(ended);
      this.#follow();
    }
    return Promise.resolve();
  }

  #names(peerId: string): readonly string[] {
    const name = this.#deps.nameOf(peerId);
    return name === undefined ? [] : [name];
  }

  #way(from: string, to: string): Way {
    const key = `${from} ${to}`;
    let way = this.#ways.get(key);
    if (way === undefined) {
      // Random draws depend only on the seeds of the rules and on what the two nodes send each other.
      const seeds = this.#rules.active.map(({ rule: { seed } }) => seed);
      const line = new Line([...seeds, ...this.#names(from), ...this.#names(to)].join(' '));
      // It counts with the way back: a rule that delays both has delayed one connection.
      const back = this.#ways.get(`${to} ${from}`);
      way = {
        from,
        to,
        line,
        direction: this.#directionOf(from, to, back?.direction ?? new Direction([])),
        queue: [],
        queued: 0,
        room: undefined,
        timer: undefined,
        holed: false,
      };
      this.#ways.set(key, way);
    }
    return way;
  }

  #directionOf(from: string, to: string, before: Direction): Direction {
    return changed(before, this.#rules.of(this.#names(from), this.#names(to)));
  }

  #follow(): void {
    for (const way of this.#ways.values()) {
      way.direction = this.#directionOf(way.from, way.to, way.direction);
      if (isFree(way.direction)) {
        const now = this.#deps.clock.monotonic();
        for (const one of way.queue) one.due = now;
        way.line.flush(now);
      }
      if (way.holed && !way.direction.shape.swallows) {
        way.holed = false;
        this.#reset(way.from, way.to);
      }
      this.#release(way);
    }
    if (this.#rules.active.length === 0) this.#ways.clear();
  }

  /** Delivers what is due, in the order in which it was sent. */
  #release(way: Way): void {
    way.timer?.[Symbol.dispose]();
    way.timer = undefined;
    while (!way.direction.shape.stalls) {
      const [next] = way.queue;
      if (next === undefined) return;
      const waitMs = next.due - this.#deps.clock.monotonic();
      if (waitMs > 0) {
        way.timer = this.#deps.clock.timer(waitMs, () => this.#release(way));
        return;
      }
      way.queue.shift();
      this.#shrink(way, way.queued - next.size);
      next.arrive();
    }
  }

  #shrink(way: Way, queued: number): void {
    way.queued = queued;
    if (queued > QUEUE_FULL_BYTES) return;
    way.room?.resolve();
    way.room = undefined;
  }

  /** The connection breaks, and everything in transit is lost. */
  #overflow(way: Way): void {
    way.queue = [];
    this.#shrink(way, 0);
    for (const { counts } of way.direction.rules) counts['connections reset']++;
    this.#reset(way.from, way.to);
  }

  #isCut({ from, to, bytes }: MemoryFrame, direction: Direction): boolean {
    const link = [from, to].toSorted().join(' ');
    let isCut = false;
    for (const rule of direction.rules) {
      const limit = rule.rule.conditions.cutAfterBytes;
      if (limit === undefined) continue;
      const counts = this.#passed.get(rule) ?? new Map<string, number>();
      this.#passed.set(rule, counts);
      const passed = (counts.get(link) ?? 0) + bytes.length;
      counts.set(link, passed);
      if (passed <= limit) continue;
      // Counts for the next connection.
      counts.set(link, 0);
      rule.counts['connections cut']++;
      isCut = true;
    }
    return isCut;
  }

  #reset(one: string, other: string): void {
    for (const pair of this.#deps.pairs()) {
      const ends = [pair.dialler, pair.dialled];
      if (ends.includes(one) && ends.includes(other)) pair.reset();
    }
  }
}
