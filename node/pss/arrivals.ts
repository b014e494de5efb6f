/** Tries arriving chunks for the subscribed topics, soon and in order. */
import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { Clock } from '../../formats/clock.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Logger } from '../env/logger.ts';
import { type Deliver, Subscriptions } from './subscriptions.ts';
import { mayBeTrojan, open } from './trojan.ts';

/** A megabyte; further chunks are tried at once. */
const WAITING_MAX = 256;
/** Topics per turn: each costs a key agreement, all a millisecond. */
const TOPICS_PER_TURN = 16;

export interface ArrivalsDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

export class Arrivals {
  readonly #privateKey: Uint8Array;
  readonly #deps: ArrivalsDeps;
  readonly #signal: AbortSignal;
  readonly #subscriptions: Subscriptions;
  readonly #waiting: Chunk[] = [];
  #trying: Promise<void> | undefined;

  /** @param privateKey 32 bytes @param signal nothing is tried from then on */
  constructor(privateKey: Uint8Array, deps: ArrivalsDeps, signal: AbortSignal) {
    this.#privateKey = privateKey;
    this.#deps = deps;
    this.#signal = signal;
    this.#subscriptions = new Subscriptions(deps.clock);
  }

  subscribe(topic: Uint8Array, deliver: Deliver): () => void {
    return this.#subscriptions.add(toHex(topic), deliver);
  }

  offer(chunk: Chunk): void {
    const isCandidate = chunk.kind === 'cac' && mayBeTrojan(chunk.data);
    if (!isCandidate || !this.#subscriptions.awaits(toHex(chunk.address))) return;
    if (this.#waiting.length === WAITING_MAX) this.#try(chunk, [...this.#subscriptions.keys()]);
    else this.#waiting.push(chunk);
    this.#trying ??= this.#tryWaiting();
  }

  async stopped(): Promise<void> {
    await this.#trying;
  }

  async #tryWaiting(): Promise<void> {
    try {
      for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
        const topics = [...this.#subscriptions.keys()];
        for (let from = 0; from < topics.length; from += TOPICS_PER_TURN) {
          await this.#deps.clock.sleep(0, this.#signal);
          if (this.#try(chunk, topics.slice(from, from + TOPICS_PER_TURN))) break;
        }
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
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
