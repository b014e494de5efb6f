/**
 * Subscriptions, in memory: to a topic of pss, or an address of gsoc. A message reaches a subscriber once,
 * although its chunk may come by several pushes and by pull syncing. Compat: the reference node delivers each
 * time.
 *
 * Only recent messages are remembered, so a message that its sender repeats later is delivered again.
 */
import type { Clock } from '../env/clock.ts';

/** Messages remembered: some hundred kilobytes of ids. */
const REMEMBERED_MAX = 4096;
/** How long a message is remembered, milliseconds: copies follow within a round of pull syncing. */
const REMEMBERED_MS = 300_000;
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

export class Subscriptions {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #byKey = new Map<string, Set<Subscription>>();
  /** Id of a message → when it was last published, oldest first. */
  readonly #recent = new Map<string, Remembered>();
  #position = 0;
  #count = 0;
  #latest = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** @returns ends it; may be called repeatedly @throws SubscriptionError */
  add(key: string, deliver: Deliver): () => void {
    if (this.#count === SUBSCRIPTIONS_MAX) throw new SubscriptionError();
    const subscription = { deliver, since: ++this.#position };
    const all = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, all.add(subscription));
    this.#count++;
    this.#latest = subscription.since;
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
