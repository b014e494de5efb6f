import type { Clock } from '../../../formats/clock.ts';
import type { Carrier, MemoryPair } from '../../../node/p2p/memory-host.ts';
import type { MemoryFrame } from '../../../node/p2p/memory-link.ts';
import type { Shape } from '../links/conditions.ts';
import { Line, type Sent } from '../links/line.ts';
import {
  type ActiveRule,
  changed,
  Direction,
  isFree,
  type LastingLinks,
  type LinkControl,
  type LinkEffect,
  type LinkRule,
  Rules,
} from '../links/rules.ts';

/** Bytes in transit in one direction, as through the proxy; above this, writers wait. */
const QUEUE_FULL_BYTES = 4 * 2 ** 20;
/** The same for all that a node with a limit has not sent yet. */
const UNSENT_FULL_MS = 500;
/** Beyond this there are only streams that are opened and abandoned, which do not wait: then the link breaks. */
const QUEUE_MAX_BYTES = 16 * 2 ** 20;
const FRAME_BYTES = 256;

export interface MemoryLinksDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly nameOf: (peerId: string) => string | undefined;
  readonly pairs: () => readonly MemoryPair[];
  readonly lasting?: LastingLinks | undefined;
}

interface DirectedLink {
  readonly from: string;
  readonly to: string;
  readonly line: Line;
  direction: Direction;
  queue: { readonly frame: MemoryFrame; readonly arrive: () => void; readonly sent: Sent; due: number }[];
  queued: number;
  room: PromiseWithResolvers<void> | undefined;
  timer: Disposable | undefined;
  hasGap: boolean;
}

export class MemoryLinks implements LinkControl, Carrier {
  readonly knowsDiallers = true;
  readonly #deps: MemoryLinksDeps;
  readonly #rules = new Rules();
  readonly #links = new Map<string, DirectedLink>();
  readonly #passed = new Map<ActiveRule, Map<string, number>>();
  readonly #sentBy = new Map<string, number>();
  readonly #unsent = new Map<string, Promise<void>>();

  constructor(deps: MemoryLinksDeps) {
    this.#deps = deps;
  }

  get idle(): boolean {
    return this.#deps.lasting === undefined && this.#links.size === 0 && this.#rules.active.length === 0;
  }

  carry(frame: MemoryFrame, arrive: () => void, refuse: () => void): void {
    const link = this.#link(frame.from, frame.to);
    const { direction } = link;
    const { shape } = direction;
    const now = this.#deps.clock.monotonic();
    const leavesAt = this.#leavesAt(now, frame, shape);
    if (leavesAt === now && isFree(direction) && link.queue.length === 0) return arrive();
    direction.countBytes(frame.bytes.length);
    if (frame.kind === 'dial') {
      if (direction.rules.some(({ rule }) => rule.conditions.refuse === true)) {
        direction.count('connections refused', 'refuse');
        return refuse();
      }
      direction.count('connections held back', 'stall');
    }
    if (shape.swallows) {
      link.hasGap ||= frame.kind !== 'dial';
      return;
    }
    if (this.#isCut(frame, direction)) return this.#reset(frame.from, frame.to);
    if (frame.kind === 'close' && shape.closeDelayMs > 0) direction.countClose();
    const sent = link.line.send(leavesAt, frame.bytes.length, shape);
    if (link.queued + sizeOf(frame) > QUEUE_MAX_BYTES) return this.#overflow(link);
    link.queued += sizeOf(frame);
    link.queue.push({ frame, arrive, sent, due: sent.dueAt + this.#extraMs(link, frame) });
    if (link.timer === undefined) this.#release(link);
  }

  /** When a frame has left: one after another, over all links. */
  #leavesAt(now: number, { from, bytes }: MemoryFrame, { stalls, swallows }: Shape): number {
    const rate = this.#deps.lasting?.bytesPerSecond;
    // What goes nowhere does not use the line.
    if (rate === undefined || stalls || swallows) return now;
    const leavesAt = Math.max(now, this.#sentBy.get(from) ?? 0) + (bytes.length / rate) * 1000;
    this.#sentBy.set(from, leavesAt);
    return leavesAt;
  }

  #extraMs({ direction: { shape } }: DirectedLink, { kind, from, to }: MemoryFrame): number {
    if (kind === 'dial') return this.#link(to, from).direction.shape.delayMs;
    return kind === 'close' ? shape.closeDelayMs : 0;
  }

  room(from: string, to: string): Promise<void> | undefined {
    const link = this.#links.get(keyOf(from, to));
    if (link === undefined || link.queued <= QUEUE_FULL_BYTES) return this.#sent(from);
    link.room ??= Promise.withResolvers();
    return link.room.promise;
  }

  #sent(from: string): Promise<void> | undefined {
    const { clock } = this.#deps;
    const waitMs = (this.#sentBy.get(from) ?? 0) - clock.monotonic() - UNSENT_FULL_MS;
    const waiting = this.#unsent.get(from);
    if (waitMs <= 0 || waiting !== undefined) return waitMs <= 0 ? undefined : waiting;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#unsent.set(from, promise);
    clock.timer(waitMs, () => {
      this.#unsent.delete(from);
      resolve();
    });
    return promise;
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

  #link(from: string, to: string): DirectedLink {
    const key = keyOf(from, to);
    let link = this.#links.get(key);
    if (link === undefined) {
      const { lasting } = this.#deps;
      const [ours, theirs] = [this.#names(from), this.#names(to)];
      // Draws depend only on the rules' seeds and the two nodes' traffic.
      const seeds = this.#rules.active.map(({ rule: { seed } }) => seed);
      if (lasting !== undefined) seeds.unshift(lasting.seed);
      const line = new Line([...seeds, ...ours, ...theirs].join(' '));
      // A rule that delays both ways delays one connection.
      const back = this.#links.get(keyOf(to, from));
      link = {
        from,
        to,
        line,
        direction: new Direction(
          this.#rules.of(ours, theirs),
          back?.direction,
          lasting?.between(ours[0], theirs[0]),
        ),
        queue: [],
        queued: 0,
        room: undefined,
        timer: undefined,
        hasGap: false,
      };
      this.#links.set(key, link);
    }
    return link;
  }

  #follow(): void {
    const others = new Set<string>();
    const freed = new Set<DirectedLink>();
    for (const link of this.#links.values()) {
      const before = link.direction;
      link.direction = changed(before, this.#rules.of(this.#names(link.from), this.#names(link.to)));
      if (before.shape.stalls && !link.direction.shape.stalls) freed.add(link);
      // Opening a link takes the way back, too.
      if (link.direction !== before) others.add(keyOf(link.from, link.to)).add(keyOf(link.to, link.from));
    }
    for (const key of others) {
      const link = this.#links.get(key);
      if (link === undefined) continue;
      const now = this.#deps.clock.monotonic();
      link.line.become(
        now,
        link.direction.shape,
        link.queue.map(({ sent }) => sent),
      );
      for (const one of link.queue) {
        one.due = Math.min(one.due, Math.max(now, one.sent.dueAt) + this.#extraMs(link, one.frame));
        // What was held back leaves its node now.
        if (freed.has(link))
          one.due = Math.max(one.due, this.#leavesAt(now, one.frame, link.direction.shape));
      }
      if (link.hasGap && !link.direction.shape.swallows) {
        link.hasGap = false;
        this.#reset(link.from, link.to);
      }
      this.#release(link);
    }
    if (this.#deps.lasting === undefined && this.#rules.active.length === 0) this.#links.clear();
  }

  #release(link: DirectedLink): void {
    link.timer?.[Symbol.dispose]();
    link.timer = undefined;
    while (!link.direction.shape.stalls) {
      const [next] = link.queue;
      if (next === undefined) return;
      const waitMs = next.due - this.#deps.clock.monotonic();
      if (waitMs > 0) {
        link.timer = this.#deps.clock.timer(waitMs, () => this.#release(link));
        return;
      }
      link.queue.shift();
      this.#shrink(link, link.queued - sizeOf(next.frame));
      next.arrive();
    }
  }

  #shrink(link: DirectedLink, queued: number): void {
    link.queued = queued;
    if (queued > QUEUE_FULL_BYTES) return;
    link.room?.resolve();
    link.room = undefined;
  }

  #overflow(link: DirectedLink): void {
    link.queue = [];
    this.#shrink(link, 0);
    for (const { counts } of link.direction.rules) counts['connections reset']++;
    this.#reset(link.from, link.to);
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

function keyOf(from: string, to: string): string {
  return `${from} ${to}`;
}

function sizeOf({ bytes }: MemoryFrame): number {
  return FRAME_BYTES + bytes.length;
}
