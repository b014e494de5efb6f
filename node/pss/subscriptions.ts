/**
 * Subscriptions to a topic of pss or an address of gsoc. A message reaches a subscriber once, although its chunk may come
 * several times; only recent messages are remembered. Compat: a Bee delivers each time.
 *
 * A held message also reaches those who subscribe shortly after: at a Bee they hear it by pull syncing, a second after the
 * push.
 */
import type { Clock } from '../../formats/clock.ts';

/** Some hundred kilobytes of ids. */
const REMEMBERED_MAX = 4096;
/** Copies follow within a round of pull syncing. */
const REMEMBERED_MS = 300_000;
/** For new subscribers. At Bee 2.8.1 they hear it up to about 1,000 ms after an upload; the rest is for slow WebSockets. */
const HELD_MS = 1_500;
/** Two megabytes; the oldest leave first. */
const HELD_MAX = 512;
/** Each costs a key agreement per possible message. */
const SUBSCRIPTIONS_MAX = 1024;

/** Must neither throw nor wait. */
export type Deliver = (message: Uint8Array) => void;

class SubscriptionError extends Error {
  readonly code = 'TOO_MANY_SUBSCRIPTIONS';

  constructor() {
    super(`this node has ${SUBSCRIPTIONS_MAX} subscriptions, and takes no more`);
    this.name = 'SubscriptionError';
  }
}

interface Subscription {
  readonly deliver: Deliver;
  readonly since: number;
}

interface Remembered {
  readonly position: number;
  readonly atMs: number;
}

interface Held {
  readonly key: string;
  readonly message: Uint8Array;
  readonly atMs: number;
}

export class Subscriptions {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #byKey = new Map<string, Set<Subscription>>();
  /** Last published, by id, oldest first. */
  readonly #recent = new Map<string, Remembered>();
  /** What new subscribers get, by id, oldest first. */
  readonly #held = new Map<string, Held>();
  #position = 0;
  #count = 0;
  #latest = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Delivers held messages at once. @returns ends it; may be called repeatedly @throws SubscriptionError */
  add(key: string, deliver: Deliver): () => void {
    if (this.#count === SUBSCRIPTIONS_MAX) throw new SubscriptionError();
    const held = this.#heldFor(key);
    for (const [id] of held) if (this.#lastPublished(id) === undefined) this.#remember(id);
    // Before the held ones: it gets them now, and no copies.
    const places = held.map(([id]) => this.#lastPublished(id) ?? this.#position);
    const subscription = { deliver, since: Math.min(++this.#position, ...places) };
    const all = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, all.add(subscription));
    this.#count++;
    this.#latest = Math.max(this.#latest, subscription.since);
    for (const [, { message }] of held) deliver(message);
    return () => {
      if (!all.delete(subscription)) return;
      this.#count--;
      if (all.size === 0) this.#byKey.delete(key);
    };
  }

  keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Some subscriber has not had the message. */
  awaits(id: string): boolean {
    return this.#count > 0 && this.#latest > (this.#lastPublished(id) ?? 0);
  }

  /** To subscribers that have not had it. */
  publish(key: string, id: string, message: Uint8Array): void {
    const had = this.#lastPublished(id) ?? 0;
    this.#remember(id);
    for (const { deliver, since } of this.#byKey.get(key) ?? []) if (since > had) deliver(message);
  }

  /** Keeps it for later subscribers. Copies count from the first one. */
  hold(key: string, id: string, message: Uint8Array): void {
    this.#release();
    if (this.#held.has(id)) return;
    this.#held.set(id, { key, message, atMs: this.#clock.monotonic() });
    const [oldest] = this.#held.keys();
    if (this.#held.size > HELD_MAX && oldest !== undefined) this.#held.delete(oldest);
  }

  /** @returns oldest first */
  #heldFor(key: string): [string, Held][] {
    this.#release();
    return [...this.#held].filter(([, held]) => held.key === key);
  }

  #release(): void {
    const now = this.#clock.monotonic();
    for (const [id, { atMs }] of this.#held) {
      if (now - atMs < HELD_MS) return;
      this.#held.delete(id);
    }
  }

  #lastPublished(id: string): number | undefined {
    const remembered = this.#recent.get(id);
    if (remembered === undefined) return undefined;
    return this.#clock.monotonic() - remembered.atMs < REMEMBERED_MS ? remembered.position : undefined;
  }

  #remember(id: string): void {
    this.#recent.delete(id);
    this.#recent.set(id, { position: ++this.#position, atMs: this.#clock.monotonic() });
    if (this.#recent.size <= REMEMBERED_MAX) return;
    for (const oldest of this.#recent.keys()) {
      this.#recent.delete(oldest);
      return;
    }
  }
}
