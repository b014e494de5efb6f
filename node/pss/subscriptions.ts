/**
 * Subscriptions, in memory: to a topic of pss, or an address of gsoc. A message reaches a subscriber once,
 * although its chunk may come by several pushes and by pull syncing. Compat: the reference node delivers each
 * time.
 *
 * Only recent messages are remembered, so a message that its sender repeats later is delivered again.
 *
 * A message that is held also reaches those who subscribe shortly after it came. At a Bee they hear it: it comes
 * to the uploader's neighbourhood by pull syncing, a second after the push, and here at once.
 */
import type { Clock } from '../../formats/clock.ts';

/** Messages remembered: some hundred kilobytes of ids. */
const REMEMBERED_MAX = 4096;
/** How long a message is remembered, milliseconds: copies follow within a round of pull syncing. */
const REMEMBERED_MS = 300_000;
/**
 * How long after it came a held message reaches new subscribers, milliseconds. At Bee 2.8.1 subscribers up to about
 * 1,000 ms after an upload hear it; the rest is for a machine that is slow to open WebSockets.
 */
const HELD_MS = 1_500;
/** Messages held, two megabytes; the oldest leave first. */
const HELD_MAX = 512;
/** Each one costs a key agreement for every chunk that may be a message. */
const SUBSCRIPTIONS_MAX = 1024;

/** Must not throw and must not wait. */
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
  /** Position in the order of subscriptions and messages. */
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
  /** Id of a message → when it was last published, oldest first. */
  readonly #recent = new Map<string, Remembered>();
  /** Id of a message → what new subscribers get, oldest first. */
  readonly #held = new Map<string, Held>();
  #position = 0;
  #count = 0;
  #latest = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Delivers at once what is held for the key.
   * @returns ends it; may be called repeatedly @throws SubscriptionError
   */
  add(key: string, deliver: Deliver): () => void {
    if (this.#count === SUBSCRIPTIONS_MAX) throw new SubscriptionError();
    const held = this.#heldFor(key);
    for (const [id] of held) if (this.#lastPublished(id) === undefined) this.#remember(id);
    // In the order before the held ones: it gets them now, and no copy of them.
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

  /** Keys with subscribers. */
  keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Whether any subscriber has not yet had the message of that id. */
  awaits(id: string): boolean {
    return this.#count > 0 && this.#latest > (this.#lastPublished(id) ?? 0);
  }

  /** Delivers to every subscriber of the key that has not had it. */
  publish(key: string, id: string, message: Uint8Array): void {
    const had = this.#lastPublished(id) ?? 0;
    this.#remember(id);
    for (const { deliver, since } of this.#byKey.get(key) ?? []) if (since > had) deliver(message);
  }

  /** Keeps a message for those who subscribe shortly after. Copies count from the first one. */
  hold(key: string, id: string, message: Uint8Array): void {
    this.#release();
    if (this.#held.has(id)) return;
    this.#held.set(id, { key, message, atMs: this.#clock.monotonic() });
    const [oldest] = this.#held.keys();
    if (this.#held.size > HELD_MAX && oldest !== undefined) this.#held.delete(oldest);
  }

  /** @returns ids and messages, oldest first */
  #heldFor(key: string): [string, Held][] {
    this.#release();
    return [...this.#held].filter(([, held]) => held.key === key);
  }

  /** Forgets what has been held for long enough. */
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
