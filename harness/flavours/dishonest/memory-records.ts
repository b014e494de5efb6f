import type { KeyValueChange, KeyValueStore } from '../../../node/store/ports.ts';

export function memoryRecords(): KeyValueStore {
  const records = new Map<string, Uint8Array>();
  const apply = (change: KeyValueChange) => {
    if ('put' in change) records.set(change.put, change.value.slice());
    else records.delete(change.remove);
  };
  return {
    get: (key) => records.get(key),
    put: async (key, value) => apply({ put: key, value }),
    remove: async (key) => apply({ remove: key }),
    batch: async (changes) => changes.forEach(apply),
    entries: (prefix) =>
      [...records].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}
