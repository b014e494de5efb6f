/**
 * Chunks that are being requested from peers. Neighbours offer the same chunk at the same moment; it is
 * requested from one of them, and the others' pages wait for the outcome. If it does not arrive, a waiting
 * page takes the chunk over: a peer that is slow or fails does not keep the others from delivering it.
 */

import type { Clock } from '../../../formats/clock.ts';
import { abortable } from '../../env/abortable.ts';
import { SHARED_WANT_MS } from './rules.ts';

interface Request {
  readonly since: number;
  /** Resolves with whether the chunk no longer needs to be requested. */
  readonly ended: PromiseWithResolvers<boolean>;
}

/** The right to request one chunk; only its first end counts. */
export interface Claim {
  end(done: boolean): void;
}

/** A chunk that another caller is already requesting. */
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

  /** The claim on a chunk, or the caller that has it. @param key of chunk and stamp */
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
