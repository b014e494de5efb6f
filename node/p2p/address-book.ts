import { equalBytes, toHex } from '../crypto/hex.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import type { AddressBook, AddressRecord } from './host.ts';
import { BzzAddress } from './record.ts';

const PREFIX = 'peer-';

/** Known peers' records of both generations, kept in `state` and mirrored in memory: one small record per peer ever heard of and not yet forgotten. */
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
      const value = encodeMessage(BzzAddress, record);
      const known = records.get(overlayHex);
      // A copy: the record may be part of a message that is much longer than itself.
      records.set(overlayHex, decodeMessage(BzzAddress, value));
      // Peers introduce themselves with the same record again and again.
      if (known !== undefined && equalBytes(encodeMessage(BzzAddress, known), value)) return;
      await state.put(PREFIX + overlayHex, value);
    },
    async remove(overlayHex) {
      if (records.delete(overlayHex)) await state.remove(PREFIX + overlayHex);
    },
  };
}
