/**
 * Chunks being requested. Neighbours offer the same chunk at once: one is asked, and the others' pages wait for the outcome.
 * If it does not arrive, a waiting page takes the chunk over.
 */

import type { Clock } from '../../../formats/clock.ts';
import { abortable } from '../../env/abortable.ts';
import { SHARED_WANT_MS } from './rules.ts';

interface Request {
  readonly since: number;
  /** Whether the chunk need no longer be requested. */
  readonly ended: PromiseWithResolvers<boolean>;
}

/** Only its first end counts. */
export interface Claim {
  end(done: boolean): void;
}

/** Another caller requests it. */
export interface Shared {
  readonly since: number;
  readonly ended: Promise<boolean>;
}

export class RequestedChunks {
  readonly #clock: Clock;
  /** At most a page per running conversation. */
  readonly #requests = new Map<string, Request>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param key of chunk and stamp */
  claim(key: string): Claim | { readonly shared: Shared } {
    const now = this.#clock.monotonic();
    const before = this.#requests.get(key);
    if (before !== undefined && now - before.since < SHARED_WANT_MS) {
      return { shared: { since: before.since, ended: before.ended.promise } };
    }
    const asked = { since: now, ended: Promise.withResolvers<boolean>() };
    this.#requests.set(key, asked);
    return {
      end: (done) => {
        asked.ended.resolve(done);
        if (this.#requests.get(key) === asked) this.#requests.delete(key);
      },
    };
  }

  /** False as soon as one failed or has taken too long. @throws the signal's reason */
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
