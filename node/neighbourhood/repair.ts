/** Restores damaged chunks: the network is asked, and the store writes them again. What no other node has stays damaged. */

import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Logger } from '../env/logger.ts';
import type { Retrieval } from '../protocols/retrieval/retrieval.ts';
import type { LocalStore } from '../store/ports.ts';

/** Pause before the first round: a reader fetches the chunk itself. */
const FIRST_PAUSE_MS = 1_000;
/** Pause before chunks that no node had are tried again. */
const PAUSE_MS = 300_000;
/** One at a time: a broken disk must cause no flood of requests. */
const ROUND_MAX = 1_024;

export interface RepairDeps {
  readonly store: Pick<LocalStore, 'chunks' | 'damage'>;
  readonly retrieval: Pick<Retrieval, 'retrieve'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Repair {
  start(): void;
  stop(): Promise<void>;
}

export function createRepair(deps: RepairDeps): Repair {
  return new DamageRepair(deps);
}

class DamageRepair implements Repair {
  readonly #deps: RepairDeps;
  readonly #stopping = new AbortController();
  #next: { readonly timer: Disposable; readonly at: number } | undefined;
  #round: Promise<void> | undefined;
  #ends: (() => void) | undefined;

  constructor(deps: RepairDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { damage } = this.#deps.store;
    this.#ends = damage.onDamaged(() => this.#roundIn(FIRST_PAUSE_MS));
    if (damage.damaged(1).length > 0) this.#roundIn(FIRST_PAUSE_MS);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new DOMException('the repair stops', 'AbortError'));
    this.#ends?.();
    this.#next?.timer[Symbol.dispose]();
    await this.#round;
  }

  #roundIn(pauseMs: number): void {
    const { clock } = this.#deps;
    const at = clock.monotonic() + pauseMs;
    if (this.#stopping.signal.aborted || (this.#next !== undefined && this.#next.at <= at)) return;
    this.#next?.timer[Symbol.dispose]();
    const timer = clock.timer(pauseMs, () => {
      this.#next = undefined;
      // Damage found during a round is left to the next one.
      if (this.#round !== undefined) this.#roundIn(FIRST_PAUSE_MS);
      else this.#round = this.#all().finally(() => (this.#round = undefined));
    });
    this.#next = { timer, at };
  }

  /** Never rejects. */
  async #all(): Promise<void> {
    const { damage } = this.#deps.store;
    let brought = 0;
    const addresses = damage.damaged(ROUND_MAX);
    for (const address of addresses) {
      if (this.#stopping.signal.aborted) return;
      if (await this.#bring(address)) brought++;
    }
    if (addresses.length === 0) return;
    this.#deps.log.info(
      { damaged: addresses.length, brought },
      'damaged chunks were asked for on the network',
    );
    if (brought < addresses.length) this.#roundIn(PAUSE_MS);
    else if (addresses.length === ROUND_MAX) this.#roundIn(FIRST_PAUSE_MS);
  }

  async #bring(address: Uint8Array): Promise<boolean> {
    const { retrieval, log } = this.#deps;
    try {
      // Retrieval hands it to the store.
      await retrieval.retrieve(address, { signal: this.#stopping.signal });
      return true;
    } catch (err) {
      log.debug({ err, chunk: toHex(address) }, 'damaged chunk was not found on the network');
      return false;
    }
  }
}
