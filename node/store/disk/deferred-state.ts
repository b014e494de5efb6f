/**
 * Records known from elsewhere, such as the chain, while the disk takes no writes: they stay in memory until it accepts a
 * change. A node that stops before learns of them again.
 */
import { isDiskFailure } from '../errors.ts';
import type { KeyValueChange, KeyValueStore } from '../ports.ts';

interface DeferredState {
  /** Keeps writes in memory until the disk accepts them. */
  readonly deferred: KeyValueStore;
  /** The same records; writes fail with the disk, after waiting ones. */
  readonly strict: KeyValueStore;
  /** Writes wait that the disk has refused. */
  waits(): boolean;
}

/** @param onKept called with the reason for each write kept in memory */
export function deferredState(base: KeyValueStore, onKept: (error: unknown) => void): DeferredState {
  /** Bounded by the number of records: one change per key. */
  const waiting = new Map<string, KeyValueChange>();
  let writing = 0;

  async function strictly(changes: readonly KeyValueChange[]): Promise<void> {
    const before = [...waiting];
    writing++;
    try {
      await base.batch([...before.map(([, change]) => change), ...changes]);
    } finally {
      writing--;
    }
    for (const [key, change] of before) if (waiting.get(key) === change) waiting.delete(key);
  }

  async function deferring(changes: readonly KeyValueChange[]): Promise<void> {
    for (const change of changes) keep(change);
    try {
      await strictly([]);
    } catch (error) {
      if (!isDiskFailure(error)) throw error;
      onKept(error);
    }
  }

  function keep(change: KeyValueChange): void {
    const key = keyOf(change);
    // Unless it is being written right now.
    if ('remove' in change && writing === 0 && base.get(key) === undefined) waiting.delete(key);
    else waiting.set(key, change);
  }

  function get(key: string): Uint8Array | undefined {
    const change = waiting.get(key);
    if (change === undefined) return base.get(key);
    return 'put' in change ? change.value : undefined;
  }

  function entries(prefix: string): Iterable<readonly [string, Uint8Array]> {
    if (waiting.size === 0) return base.entries(prefix);
    const all = new Map(base.entries(prefix));
    for (const [key, change] of waiting) {
      if (!key.startsWith(prefix)) continue;
      if ('put' in change) all.set(key, change.value);
      else all.delete(key);
    }
    return [...all].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  const store = (batch: KeyValueStore['batch']): KeyValueStore => ({
    get,
    entries,
    batch,
    put: (key, value) => batch([{ put: key, value }]),
    remove: (key) => batch([{ remove: key }]),
  });
  return { deferred: store(deferring), strict: store(strictly), waits: () => waiting.size > 0 };
}

function keyOf(change: KeyValueChange): string {
  return 'put' in change ? change.put : change.remove;
}
