/**
 * A disk that is full, fails, is slow or takes no writes, below all logic of the store: how the store copes
 * is what is tested. Reads still work, as they do on such a disk.
 */
import type { Clock } from '../../node/env/clock.ts';
import type { Backend, Transaction } from '../../node/store/backend.ts';
import type { DiskFault } from './settings.ts';
import type { Active, Surroundings } from './surroundings.ts';

/** An error of the operating system. */
class DiskError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.name = 'DiskError';
    this.code = code;
  }
}

interface DiskDeps {
  readonly clock: Pick<Clock, 'timer'>;
  readonly surroundings: Pick<Surroundings, 'disks'>;
}

export function badDisk(base: Backend, deps: DiskDeps): Backend {
  return new BadDisk(base, deps);
}

class BadDisk implements Backend {
  readonly slots: Backend['slots'];
  readonly #base: Backend;
  readonly #deps: DiskDeps;
  /** Writes that a slow disk has not started, in call order. */
  #waiting: (() => void)[] = [];
  #slow: Disposable | undefined;
  #writes = 0;

  constructor(base: Backend, deps: DiskDeps) {
    this.#base = base;
    this.#deps = deps;
    this.slots = base.slots;
  }

  get(...asked: Parameters<Backend['get']>): Uint8Array | undefined {
    return this.#base.get(...asked);
  }

  has(...asked: Parameters<Backend['has']>): boolean {
    return this.#base.has(...asked);
  }

  scan(...asked: Parameters<Backend['scan']>): ReturnType<Backend['scan']> {
    return this.#base.scan(...asked);
  }

  last(...asked: Parameters<Backend['last']>): Uint8Array | undefined {
    return this.#base.last(...asked);
  }

  available(): number | undefined {
    const full = this.#deps.surroundings.disks.find(({ fault }) => fault.what === 'full');
    if (full === undefined) return this.#base.available();
    full.count('looks that found no space');
    return 0;
  }

  change<T>(change: (tx: Transaction) => T): Promise<T> {
    this.#writes++;
    for (const { fault, count } of this.#deps.surroundings.disks) {
      const error = this.#refusal(fault);
      if (error === undefined) continue;
      return this.#base.change((tx) => change(refusing(tx, error, () => count('writes refused'))));
    }
    const slow = this.#deps.surroundings.disks.find(isSlow);
    // A write behind a waiting one waits too: changes run in call order.
    if (slow === undefined && this.#waiting.length === 0) return this.#base.change(change);
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => void this.#base.change(change).then(resolve, reject));
      slow?.count('writes delayed');
      this.#slow ??= this.#deps.clock.timer(slow?.fault.ms ?? 0, () => this.#begin());
    });
  }

  close(): Promise<void> {
    this.#slow?.[Symbol.dispose]();
    this.#begin();
    return this.#base.close();
  }

  #begin(): void {
    this.#slow = undefined;
    for (const write of this.#waiting.splice(0)) write();
  }

  #refusal(fault: DiskFault): DiskError | undefined {
    if (fault.what === 'full') return new DiskError('ENOSPC', 'No space left on device');
    if (fault.what === 'read-only') return new DiskError('EROFS', 'Read-only file system');
    if (fault.what === 'slow') return undefined;
    // Spread evenly, so that a share takes effect after a few writes.
    const fails = (this.#writes * fault.percent) % 100 < fault.percent;
    return fails ? new DiskError('EIO', 'Input/output error') : undefined;
  }
}

/** Reads are not writes: only a transaction that changes something fails, at its first change. */
function refusing(tx: Transaction, error: DiskError, refused: () => void): Transaction {
  const refuse = () => {
    refused();
    throw error;
  };
  return {
    id: tx.id,
    get: (...asked) => tx.get(...asked),
    has: (...asked) => tx.has(...asked),
    scan: (...asked) => tx.scan(...asked),
    last: (...asked) => tx.last(...asked),
    put: refuse,
    remove: refuse,
  };
}

function isSlow(active: Active<DiskFault>): active is Active<Extract<DiskFault, { what: 'slow' }>> {
  return active.fault.what === 'slow';
}
