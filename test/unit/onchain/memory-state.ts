import type { KeyValueChange, KeyValueStore } from '../../../node/store/ports.ts';

/** From the moment at which the process "dies" nothing is written. */
export class CrashError extends Error {}

/** Give `disk` to a second store, as a restart does. Commits later, in order. */
export class MemoryState implements KeyValueStore {
  readonly disk: Map<string, Uint8Array>;
  /** A batch is one write. */
  writesLeft = Number.POSITIVE_INFINITY;
  writes = 0;

  constructor(disk: Map<string, Uint8Array> = new Map()) {
    this.disk = disk;
  }

  get(key: string): Uint8Array | undefined {
    return this.disk.get(key);
  }

  put(key: string, value: Uint8Array): Promise<void> {
    return this.batch([{ put: key, value }]);
  }

  remove(key: string): Promise<void> {
    return this.batch([{ remove: key }]);
  }

  async batch(changes: readonly KeyValueChange[]): Promise<void> {
    await Promise.resolve();
    if (this.writesLeft === 0) throw new CrashError('the process is dead');
    this.writesLeft--;
    this.writes++;
    for (const change of changes) {
      if ('put' in change) this.disk.set(change.put, change.value);
      else this.disk.delete(change.remove);
    }
  }

  *entries(prefix: string): Iterable<readonly [string, Uint8Array]> {
    const found = [...this.disk].filter(([key]) => key.startsWith(prefix));
    yield* found.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
