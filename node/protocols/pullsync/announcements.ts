/**
 * Peers waiting for news in this node's bins. Each says what it knows, and is answered as soon as that is out
 * of date: after a lost answer, a peer that asks again is answered again.
 *
 * Puts come in bursts, from several sources: a burst is announced once, when it is over or has lasted too
 * long.
 */
import { abortable } from '../../env/abortable.ts';
import { type Clock, TimeoutError } from '../../env/clock.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { Reserve } from '../../store/ports.ts';
import { type Burst, NEWS_WAIT_MS, newsDue } from './rules.ts';
import type { Ack, Known } from './wire.ts';

export interface AnnouncementsDeps {
  readonly reserve: Pick<Reserve, 'lastBinIds' | 'epoch' | 'onPut'>;
  readonly clock: Clock;
}

export class Announcements {
  readonly #deps: AnnouncementsDeps;
  #burst: Burst | undefined;
  #peers = 0;
  /** Called when the next burst is over. */
  readonly #waiting = new Set<() => void>();

  constructor(deps: AnnouncementsDeps) {
    this.#deps = deps;
    deps.reserve.onPut(() => this.#put());
  }

  now(): MessageOf<typeof Ack> {
    const { reserve } = this.#deps;
    return { cursors: reserve.lastBinIds(), epoch: reserve.epoch() };
  }

  /** The current state, once it differs from `known`, or after a timeout. @throws the signal's reason */
  async beyond(known: MessageOf<typeof Known>, signal: AbortSignal): Promise<MessageOf<typeof Ack>> {
    using deadline = this.#deps.clock.deadline(NEWS_WAIT_MS, signal);
    this.#peers++;
    try {
      if (this.#burst !== undefined) await this.#burstEnd(deadline.signal);
      while (!isNew(this.now(), known)) await this.#burstEnd(deadline.signal);
    } catch (error) {
      if (!(error instanceof TimeoutError) || signal.aborted) throw error;
    } finally {
      this.#peers--;
    }
    return this.now();
  }

  async #burstEnd(signal: AbortSignal): Promise<void> {
    const over = Promise.withResolvers<void>();
    this.#waiting.add(over.resolve);
    try {
      await abortable(over.promise, signal);
    } finally {
      this.#waiting.delete(over.resolve);
    }
  }

  #put(): void {
    const at = this.#deps.clock.monotonic();
    if (this.#burst !== undefined) {
      this.#burst.lastAt = at;
      this.#burst.puts++;
      return;
    }
    this.#burst = { since: at, lastAt: at, puts: 1 };
    this.#watch(this.#burst);
  }

  #watch(burst: Burst): void {
    const { clock } = this.#deps;
    const rest = newsDue(burst, this.#peers) - clock.monotonic();
    if (rest > 0) {
      clock.timer(rest, () => this.#watch(burst));
      return;
    }
    this.#burst = undefined;
    for (const over of this.#waiting) over();
  }
}

function isNew({ cursors, epoch }: MessageOf<typeof Ack>, known: MessageOf<typeof Known>): boolean {
  // The epoch of an empty reserve alone is no news to a peer that knows nothing: in a fresh network every
  // reserve is empty.
  if (known.epoch !== 0n && epoch !== known.epoch) return true;
  return cursors.some(
    (cursor, bin) => bin >= known.from && bin <= known.to && cursor !== (known.cursors[bin] ?? 0n),
  );
}
