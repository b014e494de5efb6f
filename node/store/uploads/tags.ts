/** Counters of one upload (`node-behaviour.md` 2.2, `data-formats.md` 10.1). */
import type { Clock } from '../../../formats/clock.ts';
import type { Backend, Transaction } from '../backend.ts';
import type { Disk, Tag, TagStore } from '../ports.ts';
import { decodeNumber, END, encodeNumber, encodeNumbers, join, NUMBER_SIZE, START } from '../records.ts';

const LAST_UID = Buffer.from('lastTag');
const ADDRESS_SIZE = 32;
/** In this order; the address, if any, follows. */
const FIELDS = ['split', 'seen', 'stored', 'sent', 'synced', 'startedAt'] as const;
const ADDRESS_OFFSET = FIELDS.length * NUMBER_SIZE;

type Field = (typeof FIELDS)[number];

export type TagCounts = Partial<Record<Exclude<Field, 'startedAt'>, number>> & { readonly startedAt?: never };

export interface Tags extends TagStore {
  /** Sets the address when `reference` is given; ignores a deleted tag. */
  count(tx: Transaction, uid: number, counts: TagCounts, reference?: Uint8Array): void;
}

interface TagsDeps {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly disk: Disk;
}

export function createTags({ backend, clock, disk }: TagsDeps): Tags {
  return {
    async create() {
      disk.expect();
      const startedAt = clock.now();
      return backend.change((tx) => {
        const last = tx.get('meta', LAST_UID);
        const uid = last === undefined ? 1 : decodeNumber(last) + 1;
        const address = new Uint8Array();
        const tag: Tag = { uid, split: 0, seen: 0, stored: 0, sent: 0, synced: 0, address, startedAt };
        tx.put('meta', LAST_UID, encodeNumber(uid));
        put(tx, tag);
        return tag;
      });
    },
    get(uid) {
      const record = backend.get('tags', encodeNumber(uid));
      return record === undefined ? undefined : decode(uid, record);
    },
    list(offset, limit) {
      const entries = backend.scan('tags', START, END, offset + limit);
      return entries.slice(offset).map(([key, record]) => decode(decodeNumber(key), record));
    },
    remove: (uid) => backend.change((tx) => tx.remove('tags', encodeNumber(uid))),
    count(tx, uid, counts, reference) {
      const key = encodeNumber(uid);
      const record = tx.get('tags', key);
      if (record === undefined) return;
      const numbers = FIELDS.map((field) => numberIn(record, field) + (counts[field] ?? 0));
      // Without the key of an encrypted reference.
      const address = reference?.subarray(0, ADDRESS_SIZE) ?? record.subarray(ADDRESS_OFFSET);
      tx.put('tags', key, join(encodeNumbers(numbers), address));
    },
  };
}

function put(tx: Transaction, tag: Tag): void {
  tx.put('tags', encodeNumber(tag.uid), join(encodeNumbers(FIELDS.map((field) => tag[field])), tag.address));
}

function decode(uid: number, record: Uint8Array): Tag {
  const number = (field: Field) => numberIn(record, field);
  return {
    uid,
    split: number('split'),
    seen: number('seen'),
    stored: number('stored'),
    sent: number('sent'),
    synced: number('synced'),
    startedAt: number('startedAt'),
    address: record.slice(ADDRESS_OFFSET),
  };
}

function numberIn(record: Uint8Array, field: Field): number {
  return decodeNumber(record, FIELDS.indexOf(field) * NUMBER_SIZE);
}
