import { equalBytes, toHex } from '../../crypto/hex.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import { decodeMessage, encodeMessage } from '../codec/codec.ts';
import type { AddressBook, AddressRecord } from '../host.ts';
import { BzzAddress } from './record.ts';

/** Subsystem of the store that keeps it. */
export const ADDRESS_BOOK = 'addressbook';
const PREFIX = 'peer-';
/**
 * Records kept, at most 2 KiB each. Several times the full nodes of the public network; whoever gossips more invents
 * them. The one that was heard of first is forgotten first, unless it is in use.
 */
const RECORDS_MAX = 20_000;

/**
 * Known peers' records of both generations, kept in `state` and mirrored in memory: one small record per peer heard
 * of and not yet forgotten.
 * @param inUse peers that are connected or owe or are owed something
 */
export function createAddressBook(
  state: KeyValueStore,
  inUse: (overlayHex: string) => boolean = () => false,
): AddressBook {
  const records = new Map<string, AddressRecord>();
  for (const [key, value] of state.entries(PREFIX)) {
    records.set(key.slice(PREFIX.length), decodeMessage(BzzAddress, value));
  }
  const forgetOldest = async (newest: string) => {
    for (const overlayHex of records.keys()) {
      if (overlayHex === newest || inUse(overlayHex)) continue;
      records.delete(overlayHex);
      await state.remove(PREFIX + overlayHex);
      return;
    }
  };
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
      if (records.size > RECORDS_MAX) await forgetOldest(overlayHex);
    },
    async remove(overlayHex) {
      if (records.delete(overlayHex)) await state.remove(PREFIX + overlayHex);
    },
  };
}
