/**
 * A disk that is full, fails, is slow or takes no writes, below all logic of the store. Reads still work, as they do on such
 * a disk.
 */
import type { Clock } from '../../../formats/clock.ts';
import type { Backend, TableReader, Transaction } from '../../../node/store/backend.ts';
import type { DiskFault } from './settings.ts';
import type { Active, Surroundings } from './surroundings.ts';

class DiskError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.name = 'DiskError';
    this.code = code;
  }
}

interface DiskDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly surroundings: Pick<Surroundings, 'disks' | 'onReload'>;
}

export function badDisk(base: Backend, deps: DiskDeps): Backend {
  return new BadDisk(base, deps);
}

class BadDisk implements Backend {
  readonly slots: Backend['slots'];
  readonly #base: Backend;
  readonly #deps: DiskDeps;
  #waiting: (() => void)[] = [];
  #slow: { readonly timer: Disposable; readonly dueMs: number } | undefined;
  #writes = 0;

  constructor(base: Backend, deps: DiskDeps) {
    this.#base = base;
    this.#deps = deps;
    this.slots = base.slots;
    deps.surroundings.onReload(() => this.#follow());
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
    const full = this.#deps.surroundings.disks.filter(({ fault }) => fault.what === 'full');
    if (full.length === 0) return this.#base.available();
    for (const { count } of full) count('looks that found no space');
    return 0;
  }

  change<T>(change: (tx: Transaction) => T): Promise<T> {
    this.#writes++;
    const refusals = this.#deps.surroundings.disks.flatMap(({ fault, count }) => {
      const error = this.#refusal(fault);
      return error === undefined ? [] : [{ error, count }];
    });
    const [first] = refusals;
    if (first !== undefined) {
      const refused = () => {
        for (const { count } of refusals) count('writes refused');
      };
      return this.#base.change((tx) => change(refusing(tx, first.error, refused)));
    }
    const slow = this.#deps.surroundings.disks.filter(isSlow);
    // Writes run in call order, so one behind a waiting one waits.
    if (slow.length === 0 && this.#waiting.length === 0) return this.#base.change(change);
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => void this.#base.change(change).then(resolve, reject));
      for (const { count } of slow) count('writes delayed');
      if (this.#slow === undefined) this.#wait(delayOf(slow));
    });
  }

  close(): Promise<void> {
    this.#begin();
    return this.#base.close();
  }

  /** Waiting writes wait no longer than the present faults demand. */
  #follow(): void {
    if (this.#slow === undefined) return;
    const delayMs = delayOf(this.#deps.surroundings.disks.filter(isSlow));
    if (delayMs === 0) this.#begin();
    else if (this.#deps.clock.monotonic() + delayMs < this.#slow.dueMs) this.#wait(delayMs);
  }

  #wait(ms: number): void {
    this.#slow?.timer[Symbol.dispose]();
    const dueMs = this.#deps.clock.monotonic() + ms;
    this.#slow = { timer: this.#deps.clock.timer(ms, () => this.#begin()), dueMs };
  }

  #begin(): void {
    this.#slow?.timer[Symbol.dispose]();
    this.#slow = undefined;
    for (const write of this.#waiting.splice(0)) write();
  }

  #refusal(fault: DiskFault): DiskError | undefined {
    if (fault.what === 'full') return new DiskError('ENOSPC', 'No space left on device');
    if (fault.what === 'read-only') return new DiskError('EROFS', 'Read-only file system');
    if (fault.what === 'slow') return undefined;
    // Spread evenly, so that a share acts after a few writes.
    const fails = (this.#writes * fault.percent) % 100 < fault.percent;
    return fails ? new DiskError('EIO', 'Input/output error') : undefined;
  }
}

export function readsOf(reader: TableReader): TableReader {
  return {
    get: (...asked) => reader.get(...asked),
    has: (...asked) => reader.has(...asked),
    scan: (...asked) => reader.scan(...asked),
    last: (...asked) => reader.last(...asked),
  };
}

function refusing(tx: Transaction, error: DiskError, refused: () => void): Transaction {
  const refuse = () => {
    refused();
    throw error;
  };
  return {
    ...readsOf(tx),
    id: tx.id,
    put: refuse,
    remove: refuse,
  };
}

type SlowFault = Extract<DiskFault, { what: 'slow' }>;

function delayOf(slow: readonly Active<SlowFault>[]): number {
  return slow.reduce((sum, { fault }) => sum + fault.ms, 0);
}

function isSlow(active: Active<DiskFault>): active is Active<SlowFault> {
  return active.fault.what === 'slow';
}
