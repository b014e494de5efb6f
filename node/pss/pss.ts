/** Messages in trojan chunks: `node-behaviour.md` 8.1. */
import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { Random } from '../../formats/random.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import { Slots } from '../env/turns/slots.ts';
import type { Postage, Stamper } from '../postage/ports.ts';
import type { Pushsync } from '../protocols/pushsync/pushsync.ts';
import { PushsyncError } from '../protocols/pushsync/rules.ts';
import type { Reserve } from '../store/ports.ts';
import { Arrivals, type ArrivalsDeps } from './arrivals.ts';
import { PSS_METRICS } from './metrics.ts';
import { checkTargets, mine } from './mining.ts';
import type { Deliver } from './subscriptions.ts';
import { MESSAGE_SIZE_MAX, randomSecret, seal } from './trojan.ts';

/** They share one thread: more would only slow each other down. */
const MINING_AT_ONCE = 8;
/** Then a message counts as sent. */
const SHALLOW_MAX = 6;

export interface PssDeps extends ArrivalsDeps {
  readonly pushsync: Pick<Pushsync, 'push'>;
  readonly reserve: Pick<Reserve, 'put'>;
  readonly postage: Pick<Postage, 'saved'>;
  readonly random: Random;
  readonly metrics: Metrics;
}

export interface Message {
  /** 32 bytes. */
  readonly topic: Uint8Array;
  /** At most 4000 bytes. */
  readonly payload: Uint8Array;
  /** SEC1; absent: anyone who knows the topic. */
  readonly recipient: Uint8Array | undefined;
  /** Prefixes of the recipient's overlay, 1..3 bytes, equally long: any will do. */
  readonly targets: readonly Uint8Array[];
  readonly stamper: Stamper;
}

export interface Pss {
  /**
   * When a node has the message; this one if there is no other. @throws PssError, SignatureError, PostageError,
   * PushsyncError, the signal's reason
   */
  send(message: Message, signal: AbortSignal): Promise<void>;
  /** @param topic 32 bytes @returns ends it @throws SubscriptionError */
  subscribe(topic: Uint8Array, deliver: Deliver): () => void;
  /** Its delivery does not wait. */
  offer(chunk: Chunk): void;
  stop(): Promise<void>;
}

/** @param options.privateKey 32 bytes */
export function createPss(options: { readonly privateKey: Uint8Array }, deps: PssDeps): Pss {
  return new Messaging(options.privateKey, deps);
}

class Messaging implements Pss {
  readonly #deps: PssDeps;
  readonly #metrics: MetricsOf<typeof PSS_METRICS>;
  readonly #mining = new Slots(MINING_AT_ONCE);
  readonly #stopping = new AbortController();
  readonly #arrivals: Arrivals;

  constructor(privateKey: Uint8Array, deps: PssDeps) {
    this.#deps = deps;
    this.#metrics = deps.metrics.register(PSS_METRICS);
    this.#arrivals = new Arrivals(privateKey, deps, this.#stopping.signal);
  }

  async send(message: Message, signal: AbortSignal): Promise<void> {
    const { clock, postage } = this.#deps;
    this.#metrics.sent.inc();
    checkTargets(message.targets);
    const startedAt = clock.monotonic();
    const chunk = await this.#mined(message, signal);
    const stamp = message.stamper.stamp(chunk);
    this.#metrics.mining.set((clock.monotonic() - startedAt) / 1000);
    await postage.saved(stamp.batchId);
    for (let shallow = 1; ; shallow++) {
      try {
        const { outcome } = await this.#deps.pushsync.push(chunk, stamp, { signal });
        // New nodes get it by pull syncing.
        if (outcome === 'want-self') await this.#deps.reserve.put(chunk, stamp);
        return;
      } catch (error) {
        if (!(error instanceof PushsyncError) || error.code !== 'SHALLOW_RECEIPT') throw error;
        if (shallow === SHALLOW_MAX) return;
      }
    }
  }

  async #mined({ topic, payload, recipient, targets }: Message, signal: AbortSignal): Promise<Chunk> {
    const { clock, random } = this.#deps;
    const sealed = seal({ topic, message: payload, recipient }, randomSecret(random));
    const ending = AbortSignal.any([signal, this.#stopping.signal]);
    await this.#mining.acquire(ending);
    try {
      const padding = MESSAGE_SIZE_MAX - payload.length;
      return await mine(sealed, targets, { padding, clock, signal: ending });
    } finally {
      this.#mining.release();
    }
  }

  subscribe(topic: Uint8Array, deliver: Deliver): () => void {
    return this.#arrivals.subscribe(topic, deliver);
  }

  offer(chunk: Chunk): void {
    this.#arrivals.offer(chunk);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new DOMException('messaging stops', 'AbortError'));
    await this.#arrivals.stopped();
  }
}
