import { toHex } from '../../../formats/crypto/hex.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import { decodeMessage, encodeMessage } from '../codec/codec.ts';
import type { AddressBook, AddressRecord } from '../host.ts';
import { BzzAddress, copyRecord, equalRecords, NO_TIME } from './record.ts';

export const ADDRESS_BOOK = 'addressbook';
const PREFIX = 'peer-';
/**
 * At most 2 KiB each; several times the full nodes of the public network. The oldest record not in use is forgotten first.
 */
const RECORDS_MAX = 20_000;

interface AddressBookOptions {
  /** Whether the peer is connected, or owes or is owed something. Default: none. */
  readonly inUse?: (overlayHex: string) => boolean;
  /** Records given for this start, by overlay; saved only once their nodes have presented them. */
  readonly given?: Iterable<readonly [string, AddressRecord]>;
}

export function createAddressBook(
  state: KeyValueStore,
  { inUse = () => false, given = [] }: AddressBookOptions = {},
): AddressBook {
  const records = new Map<string, AddressRecord>();
  const saved = new Set<string>();
  for (const [key, value] of state.entries(PREFIX)) {
    const overlayHex = key.slice(PREFIX.length);
    records.set(overlayHex, decodeMessage(BzzAddress, value));
    saved.add(overlayHex);
  }
  for (const [overlayHex, record] of given) {
    if (record.timestamp <= (records.get(overlayHex)?.timestamp ?? NO_TIME)) continue;
    records.set(overlayHex, record);
    saved.delete(overlayHex);
  }
  const remove = async (overlayHex: string) => {
    saved.delete(overlayHex);
    if (records.delete(overlayHex)) await state.remove(PREFIX + overlayHex);
  };
  const forgetOldest = async (newest: string) => {
    for (const overlayHex of records.keys()) {
      if (overlayHex === newest || inUse(overlayHex)) continue;
      await remove(overlayHex);
      return;
    }
  };
  const write = async (overlayHex: string, record: AddressRecord) => {
    saved.add(overlayHex);
    try {
      await state.put(PREFIX + overlayHex, encodeMessage(BzzAddress, record));
    } catch (error) {
      saved.delete(overlayHex);
      throw error;
    }
  };
  return {
    get: (overlayHex) => records.get(overlayHex),
    overlays: () => [...records.keys()],
    async put(record) {
      const overlayHex = toHex(record.overlay);
      const known = records.get(overlayHex);
      const isKnown = known !== undefined && equalRecords(known, record);
      if (isKnown && saved.has(overlayHex)) return;
      const kept = isKnown ? known : copyRecord(record);
      records.set(overlayHex, kept);
      try {
        await write(overlayHex, kept);
      } finally {
        if (records.size > RECORDS_MAX) await forgetOldest(overlayHex);
      }
    },
    remove,
  };
}
