import { toHex } from '../crypto/hex.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import type { AddressBook, AddressRecord } from './host.ts';
import { BzzAddress } from './record.ts';

const PREFIX = 'peer-';

/** Known peers' records, kept in `state` and mirrored in memory: one small record per peer ever heard of and not yet forgotten. */
export function createAddressBook(state: KeyValueStore): AddressBook {
  const records = new Map<string, AddressRecord>();
  for (const [key, value] of state.entries(PREFIX)) {
    records.set(key.slice(PREFIX.length), decodeMessage(BzzAddress, value));
  }
  return {
    get: (overlayHex) => records.get(overlayHex),
    overlays: () => [...records.keys()],
    async put(record) {
      const overlayHex = toHex(record.overlay);
      records.set(overlayHex, record);
      await state.put(PREFIX + overlayHex, encodeMessage(BzzAddress, record));
    },
    async remove(overlayHex) {
      if (records.delete(overlayHex)) await state.remove(PREFIX + overlayHex);
    },
  };
}
