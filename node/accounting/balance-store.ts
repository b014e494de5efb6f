/**
 * Balances, written behind, for display only: every connection starts at zero (`node-behaviour.md` 5.7). A crash may lose
 * seconds; one write per peer and interval replaces one per chunk.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { KeyValueStore } from '../store/ports.ts';

/** Longest time that a changed balance is in memory only. */
const PERSIST_INTERVAL_MS = 5_000;

export interface StoredBalance {
  readonly overlayHex: string;
  balance: bigint;
  surplus: bigint;
  originated: bigint;
}

export class BalanceStore {
  readonly #clock: Clock;
  readonly #state: KeyValueStore;
  readonly #log: Logger;
  #changed = new Set<StoredBalance>();
  #unwritten = new Set<StoredBalance>();
  readonly #stopping = new AbortController();
  #writing: Promise<void> | undefined;

  constructor(deps: { clock: Clock; state: KeyValueStore; log: Logger }) {
    this.#clock = deps.clock;
    this.#state = deps.state;
    this.#log = deps.log;
  }

  load(): StoredBalance[] {
    return Array.from(this.#state.entries(''), ([overlayHex, value]) => decode(overlayHex, value));
  }

  /** Called per chunk: costs one set insertion. */
  changed(account: StoredBalance): void {
    this.#changed.add(account);
    if (this.#writing === undefined && !this.#stopping.signal.aborted) this.#writing = this.#writeLater();
  }

  forgotten(account: StoredBalance): void {
    this.#changed.delete(account);
    this.#unwritten.delete(account);
    this.#state
      .remove(account.overlayHex)
      .catch((err: unknown) => this.#log.warn({ err }, 'balance could not be removed'));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#writing;
    await this.#write();
  }

  async #writeLater(): Promise<void> {
    const { signal } = this.#stopping;
    do {
      // `stop` waits for this write.
      await this.#clock.sleep(PERSIST_INTERVAL_MS, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      await this.#write();
      // Changed meanwhile, or not written.
    } while (this.#changed.size > 0 && !signal.aborted);
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    if (this.#changed.size === 0) return;
    this.#unwritten = this.#changed;
    this.#changed = new Set();
    const changes = Array.from(this.#unwritten, (account) => ({
      put: account.overlayHex,
      value: encode(account),
    }));
    await this.#state.batch(changes).catch((err: unknown) => {
      this.#log.warn({ err }, 'balances could not be written');
      // Without those forgotten.
      for (const account of this.#unwritten) this.#changed.add(account);
    });
  }
}

function encode({ balance, surplus, originated }: StoredBalance): Uint8Array {
  return new TextEncoder().encode(`${balance};${surplus};${originated}`);
}

function decode(overlayHex: string, value: Uint8Array): StoredBalance {
  const [balance = '0', surplus = '0', originated = '0'] = new TextDecoder().decode(value).split(';');
  return { overlayHex, balance: BigInt(balance), surplus: BigInt(surplus), originated: BigInt(originated) };
}
