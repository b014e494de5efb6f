/**
 * Chunks that peers are being asked for. Neighbours offer the same chunk at the same moment; it is asked of one of
 * them, and the others' pages wait for how that ends. Who waits for nothing takes the chunk over: a peer that is slow
 * or fails keeps nobody else from it.
 */

import { abortable } from '../../env/abortable.ts';
import type { Clock } from '../../env/clock.ts';
import { SHARED_WANT_MS } from './rules.ts';

interface Asked {
  readonly since: number;
  /** Resolves with whether nobody needs to ask for the chunk any more. */
  readonly ended: PromiseWithResolvers<boolean>;
}

/** The right to ask for one chunk; ended exactly once that counts. */
export interface Claim {
  end(done: boolean): void;
}

/** A chunk that another caller is already requesting. */
export interface Shared {
  readonly since: number;
  readonly ended: Promise<boolean>;
}

export class Wants {
  readonly #clock: Clock;
  /** At most a page per running conversation. */
  readonly #asked = new Map<string, Asked>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The claim on a chunk, or who has it. @param key of chunk and stamp */
  claim(key: string): Claim | { readonly shared: Shared } {
    const now = this.#clock.monotonic();
    const before = this.#asked.get(key);
    if (before !== undefined && now - before.since < SHARED_WANT_MS) {
      return { shared: { since: before.since, ended: before.ended.promise } };
    }
    const asked = { since: now, ended: Promise.withResolvers<boolean>() };
    this.#asked.set(key, asked);
    return {
      end: (done) => {
        asked.ended.resolve(done);
        if (this.#asked.get(key) === asked) this.#asked.delete(key);
      },
    };
  }

  /** Whether all of them are done; false as soon as one failed or has taken too long. @throws the signal's reason */
  async settled(shared: readonly Shared[], signal: AbortSignal): Promise<boolean> {
    for (const { since, ended } of shared) {
      const left = since + SHARED_WANT_MS - this.#clock.monotonic();
      const late = Promise.withResolvers<boolean>();
      const limit = this.#clock.timer(Math.max(0, left), () => late.resolve(false));
      try {
        if (!(await abortable(Promise.race([ended, late.promise]), signal))) return false;
      } finally {
        limit[Symbol.dispose]();
      }
    }
    return true;
  }
}
