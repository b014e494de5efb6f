/**
 * Peers waiting for news in this node's bins. Each says what it knows, and is answered once that is out of date, so a lost
 * answer is repeated.
 *
 * Puts come in bursts, from several sources: a burst is announced once, when it is over or has lasted too long.
 */

import { type Clock, TimeoutError } from '../../../formats/clock.ts';
import { abortable } from '../../env/abortable.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { Peer } from '../../p2p/host.ts';
import type { Reserve } from '../../store/ports.ts';
import { type Burst, NEWS_WAIT_MS, newsDue } from './rules.ts';
import type { Ack, Known } from './wire.ts';

export interface AnnouncementsDeps {
  readonly reserve: Pick<Reserve, 'lastBinIds' | 'epoch' | 'onPut'>;
  readonly clock: Clock;
}

interface Waiter {
  readonly peer: Peer;
  readonly known: MessageOf<typeof Known>;
  readonly over: () => void;
}

export class Announcements {
  readonly #deps: AnnouncementsDeps;
  #burst: Burst | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Set<Waiter>();

  constructor(deps: AnnouncementsDeps) {
    this.#deps = deps;
    deps.reserve.onPut(() => this.#put());
  }

  now(): MessageOf<typeof Ack> {
    const { reserve } = this.#deps;
    return { cursors: reserve.lastBinIds(), epoch: reserve.epoch() };
  }

  /** The state once it differs from `known`, or after a timeout. @throws the signal's reason */
  async beyond(
    { peer, known }: Pick<Waiter, 'peer' | 'known'>,
    signal: AbortSignal,
  ): Promise<MessageOf<typeof Ack>> {
    using deadline = this.#deps.clock.deadline(NEWS_WAIT_MS, signal);
    const burstEnd = async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiter = { peer, known, over: resolve };
      this.#waiting.add(waiter);
      try {
        await abortable(promise, deadline.signal);
      } finally {
        this.#waiting.delete(waiter);
      }
    };
    try {
      // A new peer begins with what there is.
      if (this.#burst !== undefined && known.epoch !== 0n) await burstEnd();
      while (!isNew(this.now(), known)) await burstEnd();
    } catch (error) {
      if (!(error instanceof TimeoutError) || signal.aborted) throw error;
    }
    return this.now();
  }

  #put(): void {
    const at = this.#deps.clock.monotonic();
    if (this.#burst !== undefined) {
      this.#burst.lastAt = at;
      this.#burst.puts++;
      return;
    }
    this.#burst = { since: at, lastAt: at, puts: 1, toldAt: this.#toldAt };
    this.#watch(this.#burst);
  }

  #watch(burst: Burst): void {
    const { clock } = this.#deps;
    const rest = newsDue(burst, this.#peersToTell()) - clock.monotonic();
    if (rest > 0) {
      clock.timer(rest, () => this.#watch(burst));
      return;
    }
    this.#burst = undefined;
    this.#toldAt = clock.monotonic();
    for (const { over } of this.#waiting) over();
  }

  /** Most peers outside the neighbourhood wait for an empty bin. */
  #peersToTell(): number {
    const now = this.now();
    const peers = new Set<Peer>();
    for (const { peer, known } of this.#waiting) if (isNew(now, known)) peers.add(peer);
    return peers.size;
  }
}

function isNew({ cursors, epoch }: MessageOf<typeof Ack>, known: MessageOf<typeof Known>): boolean {
  // The epoch alone is no news: in a fresh network every reserve is empty.
  if (known.epoch !== 0n && epoch !== known.epoch) return true;
  return cursors.some(
    (cursor, bin) => bin >= known.from && bin <= known.to && cursor !== (known.cursors[bin] ?? 0n),
  );
}
