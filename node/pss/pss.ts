/**
 * Messages in trojan chunks: `node-behaviour.md` 8.1. A sent message is pushed at once; every arriving chunk
 * that may be a message is tried for the topics with subscribers.
 */
import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { Clock } from '../../formats/clock.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Random } from '../../formats/random.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import { Slots } from '../env/turns/slots.ts';
import type { Postage, Stamper } from '../postage/ports.ts';
import type { Pushsync } from '../protocols/pushsync/pushsync.ts';
import { PushsyncError } from '../protocols/pushsync/rules.ts';
import type { Reserve } from '../store/ports.ts';
import { PSS_METRICS } from './metrics.ts';
import { checkTargets, mine } from './mining.ts';
import { type Deliver, Subscriptions } from './subscriptions.ts';
import { MESSAGE_SIZE_MAX, open, randomSecret, seal, TROJAN_SIZE } from './trojan.ts';

/** Messages mined at once: they share one thread, so more of them only make each slower. */
const MINING_AT_ONCE = 8;
/** Chunks waiting to be tried, a megabyte; further ones are tried at once. */
const WAITING_MAX = 256;
/** Topics for which a chunk is tried in one turn of the event loop: each costs a key agreement, all of them a millisecond. */
const TOPICS_PER_TURN = 16;
/** After this many shallow receipts a message counts as sent, as for any chunk. */
const SHALLOW_MAX = 6;

export interface PssDeps {
  readonly pushsync: Pick<Pushsync, 'push'>;
  readonly reserve: Pick<Reserve, 'put'>;
  readonly postage: Pick<Postage, 'saved'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Message {
  /** 32 bytes. */
  readonly topic: Uint8Array;
  /** At most 4000 bytes. */
  readonly payload: Uint8Array;
  /** Public key, SEC1; absent: anyone who knows the topic. */
  readonly recipient: Uint8Array | undefined;
  /** Prefixes of the recipient's overlay, 1..3 bytes, all of the same length: any one of them will do. */
  readonly targets: readonly Uint8Array[];
  readonly stamper: Stamper;
}

export interface Pss {
  /**
   * Resolves when a node has the message: this one if there is no other. @throws PssError, SignatureError,
   * PostageError, PushsyncError, the signal's reason
   */
  send(message: Message, signal: AbortSignal): Promise<void>;
  /** @param topic 32 bytes @returns ends it @throws SubscriptionError */
  subscribe(topic: Uint8Array, deliver: Deliver): () => void;
  /** Tries an arrived chunk soon: its delivery does not wait for that. */
  offer(chunk: Chunk): void;
  stop(): Promise<void>;
}

/** @param options.privateKey of messaging, 32 bytes */
export function createPss(options: { readonly privateKey: Uint8Array }, deps: PssDeps): Pss {
  return new Messaging(options.privateKey, deps);
}

class Messaging implements Pss {
  readonly #privateKey: Uint8Array;
  readonly #deps: PssDeps;
  readonly #metrics: MetricsOf<typeof PSS_METRICS>;
  readonly #subscriptions: Subscriptions;
  readonly #mining = new Slots(MINING_AT_ONCE);
  readonly #waiting: Chunk[] = [];
  readonly #stopping = new AbortController();
  #trying: Promise<void> | undefined;

  constructor(privateKey: Uint8Array, deps: PssDeps) {
    this.#privateKey = privateKey;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(PSS_METRICS);
    this.#subscriptions = new Subscriptions(deps.clock);
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
        // There is no other node yet; new ones get it by pull syncing.
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
    return this.#subscriptions.add(toHex(topic), deliver);
  }

  offer(chunk: Chunk): void {
    const isCandidate = chunk.kind === 'cac' && chunk.data.length === TROJAN_SIZE;
    if (!isCandidate || !this.#subscriptions.awaits(toHex(chunk.address))) return;
    if (this.#waiting.length === WAITING_MAX) this.#try(chunk, [...this.#subscriptions.keys()]);
    else this.#waiting.push(chunk);
    this.#trying ??= this.#tryWaiting();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new DOMException('messaging stops', 'AbortError'));
    await this.#trying;
  }

  async #tryWaiting(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
        const topics = [...this.#subscriptions.keys()];
        for (let from = 0; from < topics.length; from += TOPICS_PER_TURN) {
          await this.#deps.clock.sleep(0, signal);
          if (this.#try(chunk, topics.slice(from, from + TOPICS_PER_TURN))) break;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#trying = undefined;
    }
  }

  /** @param topics hex @returns whether the chunk is done with */
  #try(chunk: Chunk, topics: readonly string[]): boolean {
    const id = toHex(chunk.address);
    if (!this.#subscriptions.awaits(id)) return true;
    const opened = open(chunk.data, this.#privateKey, topics.map(fromHex));
    if (opened === undefined) return false;
    this.#deps.log.debug({ chunk: id }, 'message received');
    this.#subscriptions.publish(toHex(opened.topic), id, opened.message);
    return true;
  }
}
