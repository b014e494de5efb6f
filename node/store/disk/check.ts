/**
 * Checks whether slots and records are sound and agree. What a crash cut short is no damage: it is rolled back at the next
 * start.
 */
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { ADDRESS_SIZE, CHUNK_STORED_SIZE_MAX } from '../../../formats/chunk/chunk.ts';
import { ChunkError } from '../../../formats/chunk/errors.ts';
import { decodeStamp, STAMP_SIZE, stampHash } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import type { Entry, Table } from '../backend.ts';
import { blockOf, decodeNumber, decodeNumbers, encodeNumber, join, NUMBER_SIZE } from '../records.ts';
import { decodeSlot, isHeldWhole } from './slot.ts';

const NAMES_MAX = 5;
const KIND_OFFSET = 3 * NUMBER_SIZE;
const KINDS = ['cac', 'soc'];
const TIMESTAMP_SIZE = 8;
/** Key of `reserve`: batch, bin, address, stamp hash. */
const [BIN_AT, ADDRESS_AT, HASH_AT] = [32, 33, 65];

export interface Finding {
  readonly kind: string;
  readonly checked: number;
  readonly wrong: number;
  /** The first faulty items. */
  readonly names: readonly string[];
}

export interface CheckedStore {
  readonly tables: ReadonlyMap<string, readonly Entry[]>;
  /** That the file has room for. */
  readonly slots: number;
  readonly readSlot: (slot: number) => Uint8Array | undefined;
  readonly overlay: Uint8Array;
  readonly onSlot?: (checked: number) => void;
}

/** @returns a finding per kind, in the order in which they build on each other */
export function checkStore(store: CheckedStore): Finding[] {
  return new Check(store).run();
}

class Tally {
  checked = 0;
  #wrong = 0;
  readonly #kind: string;
  readonly #names: string[] = [];

  constructor(kind: string) {
    this.#kind = kind;
  }

  wrong(name: string): void {
    this.#wrong++;
    if (this.#names.length < NAMES_MAX) this.#names.push(name);
  }

  /** @param of what the counter counts */
  counter(of: string, { found, expected }: { found: number; expected: number }): void {
    if (found !== expected) this.wrong(`the counter of ${of} is ${found}, expected ${expected}`);
  }

  finding(): Finding {
    return { kind: this.#kind, checked: this.checked, wrong: this.#wrong, names: this.#names };
  }
}

interface RecordedChunk {
  readonly address: Uint8Array;
  readonly slot: number;
  readonly length: number;
  readonly references: number;
}

type Records = ReadonlyMap<string, Uint8Array>;

class Check {
  readonly #store: CheckedStore;
  /** By address as Latin-1 text, which takes the least memory. */
  readonly #chunks = new Map<string, RecordedChunk>();
  readonly #references = new Map<string, number>();
  readonly #keys = new Map<Table, Records>();

  constructor(store: CheckedStore) {
    this.#store = store;
  }

  run(): Finding[] {
    const used = new Map<number, RecordedChunk>();
    const records = this.#records(used);
    const slots = this.#slots(used);
    const free = this.#freeSlots(used);
    const holders = [this.#reserve(), this.#pins(), this.#pushes(), this.#cache()];
    return [slots, this.#counted(records), free, ...holders, this.#tags()];
  }

  #records(used: Map<number, RecordedChunk>): Tally {
    const tally = new Tally('chunk records');
    for (const [address, record] of this.#entries('chunks')) {
      tally.checked++;
      const name = toHex(address);
      if (address.length !== ADDRESS_SIZE || record.length <= KIND_OFFSET) {
        tally.wrong(`${name}: it is no record of a chunk`);
        continue;
      }
      const [slot, length, references] = [0, 1, 2].map((i) => decodeNumber(record, i * NUMBER_SIZE)) as [
        number,
        number,
        number,
      ];
      const entry = { address, slot, length, references };
      this.#chunks.set(idOf(address), entry);
      if (KINDS[record[KIND_OFFSET]!] === undefined) tally.wrong(`${name}: unknown kind`);
      if (length > CHUNK_STORED_SIZE_MAX) tally.wrong(`${name}: a length of ${length} bytes`);
      const other = used.get(slot);
      if (other !== undefined) tally.wrong(`${name}: in slot ${slot} like ${toHex(other.address)}`);
      else used.set(slot, entry);
    }
    return tally;
  }

  #slots(used: ReadonlyMap<number, RecordedChunk>): Finding {
    const tally = new Tally('slots');
    const { slots, readSlot, onSlot } = this.#store;
    for (let slot = 0; slot < slots; slot++) {
      const record = used.get(slot);
      // They may be an earlier chunk's.
      const fault = record && faultOf(readSlot(slot), record);
      tally.checked++;
      if (fault !== undefined) tally.wrong(`${toHex(record!.address)}: slot ${slot} ${fault}`);
      onSlot?.(tally.checked);
    }
    for (const [slot, { address }] of used)
      if (slot >= slots) tally.wrong(`${toHex(address)}: slot ${slot} is not in the file`);
    return tally.finding();
  }

  #freeSlots(used: ReadonlyMap<number, RecordedChunk>): Finding {
    const tally = new Tally('free slots');
    const end = this.#number('slots');
    const free = new Set<number>();
    for (const [key] of this.#entries('freeSlots')) {
      tally.checked++;
      const slot = decodeNumber(key);
      free.add(slot);
      const record = used.get(slot);
      if (record !== undefined) tally.wrong(`slot ${slot}: it holds ${toHex(record.address)}`);
      if (slot >= end) tally.wrong(`slot ${slot}: only ${end} have been given out`);
    }
    for (const [slot, { address }] of used)
      if (slot >= end) tally.wrong(`slot ${slot}: it holds ${toHex(address)} and only ${end} are given out`);
    for (let slot = 0; slot < Math.min(end, this.#store.slots); slot++)
      if (!used.has(slot) && !free.has(slot)) tally.wrong(`slot ${slot}: neither free nor in use`);
    return tally.finding();
  }

  /** To be called after everything that refers to chunks, before the tally is read. */
  #counted(tally: Tally): Finding {
    for (const table of ['pushes', 'pinnedChunks', 'reserve', 'cache'] as const)
      for (const entry of this.#entries(table)) this.#refer(addressIn(table, entry));
    for (const [id, { address, references }] of this.#chunks) {
      const found = this.#references.get(id) ?? 0;
      if (found !== references)
        tally.wrong(`${toHex(address)}: ${references} references, ${found} that refer to it`);
    }
    for (const id of this.#references.keys())
      if (!this.#chunks.has(id)) tally.wrong(`${toHex(bytesOf(id))}: it is referred to and has no record`);
    for (const [address] of this.#entries('damaged'))
      if (this.#chunks.has(idOf(address))) tally.wrong(`${toHex(address)}: known to be damaged`);
      else tally.wrong(`${toHex(address)}: marked as damaged and has no record`);
    return tally.finding();
  }

  #refer(address: Uint8Array): void {
    const id = idOf(address);
    this.#references.set(id, (this.#references.get(id) ?? 0) + 1);
  }

  #reserve(): Finding {
    const tally = new Tally('reserve');
    const [bins, indexes] = [this.#byKey('bins'), this.#byKey('stampIndex')];
    const derived: (readonly [Table, Records])[] = [
      ['bins', bins],
      ['stampIndex', indexes],
    ];
    const byAddress = this.#byKey('meta').has('addressStamps') ? this.#byKey('addressStamps') : undefined;
    if (byAddress !== undefined) derived.push(['addressStamps', byAddress]);
    const [counts, lastIds] = [new Map<number, number>(), new Map<number, number>()];
    for (const [key, record] of this.#entries('reserve')) {
      tally.checked++;
      const [address, hash] = [key.subarray(ADDRESS_AT, HASH_AT), key.subarray(HASH_AT)];
      const name = toHex(address);
      if (record.length !== NUMBER_SIZE + STAMP_SIZE) {
        tally.wrong(`${name}: it has no stamp`);
        continue;
      }
      const [bin, id] = [key[BIN_AT]!, decodeNumber(record)];
      const stamp = decodeStamp(record.subarray(NUMBER_SIZE));
      counts.set(bin, (counts.get(bin) ?? 0) + 1);
      lastIds.set(bin, Math.max(lastIds.get(bin) ?? 0, id));
      if (!equalBytes(stampHash(stamp), hash) || !equalBytes(stamp.batchId, key.subarray(0, BIN_AT)))
        tally.wrong(`${name}: its stamp is another one`);
      if (bin !== proximityOrder(this.#store.overlay, address))
        tally.wrong(`${name}: bin ${bin} is not its own`);
      const place = bins.get(idOf(join(Uint8Array.of(bin), record.subarray(0, NUMBER_SIZE))));
      if (place === undefined || !equalBytes(place, join(address, stamp.batchId, hash)))
        tally.wrong(`${name}: it is not in bin ${bin} at ${id}`);
      const used = indexes.get(idOf(join(stamp.batchId, stamp.index)));
      if (used === undefined || !equalBytes(used.subarray(TIMESTAMP_SIZE), join(address, hash)))
        tally.wrong(`${name}: the index of its batch is not entered`);
      if (byAddress?.has(idOf(join(address, stamp.batchId, hash))) === false)
        tally.wrong(`${name}: it is not found by its address`);
    }
    for (const [table, entries] of derived)
      if (entries.size !== tally.checked)
        tally.wrong(`table ${table} has ${entries.size} entries, expected ${tally.checked}`);
    for (let bin = 0; bin <= 31; bin++) {
      tally.counter(`bin ${bin}`, { found: this.#number(`bin${bin}`, 1), expected: counts.get(bin) ?? 0 });
      if (this.#number(`bin${bin}`) < (lastIds.get(bin) ?? 0))
        tally.wrong(`bin ${bin} has given out ${this.#number(`bin${bin}`)} of at least ${lastIds.get(bin)}`);
    }
    return tally.finding();
  }

  #pins(): Finding {
    const tally = new Tally('pins');
    const chunks = new Map<number, number>();
    for (const [key] of this.#entries('pinnedChunks')) {
      const collection = decodeNumber(key);
      chunks.set(collection, (chunks.get(collection) ?? 0) + 1);
    }
    const known = new Set(this.#entries('openPins').map(([key]) => decodeNumber(key)));
    let total = 0;
    for (const [reference, record] of this.#entries('pins')) {
      tally.checked++;
      const [collection, expected] = [decodeNumber(record), decodeNumber(record, NUMBER_SIZE)];
      known.add(collection);
      total += expected;
      const found = chunks.get(collection) ?? 0;
      if (found !== expected) tally.wrong(`${toHex(reference)}: ${found} chunks, expected ${expected}`);
    }
    for (const [collection, count] of chunks)
      if (!known.has(collection)) tally.wrong(`${count} chunks belong to collection ${collection}, no pin`);
    tally.counter('pins', { found: this.#number('pinTotals'), expected: tally.checked });
    tally.counter('pinned chunks', { found: this.#number('pinTotals', 1), expected: total });
    return tally.finding();
  }

  #pushes(): Finding {
    const tally = new Tally('push queue');
    const [uploads, pushes, blocks] = [this.#byKey('uploads'), this.#byKey('pushes'), this.#byKey('blocks')];
    for (const [sequence, record] of this.#entries('pushes')) {
      tally.checked++;
      const number = decodeNumber(sequence);
      if (record.length !== ADDRESS_SIZE + NUMBER_SIZE + STAMP_SIZE) {
        tally.wrong(`push ${number}: it is no record of a push`);
        continue;
      }
      const address = record.subarray(0, ADDRESS_SIZE);
      const { batchId } = decodeStamp(record.subarray(ADDRESS_SIZE + NUMBER_SIZE));
      // Previous versions entered only the second of two pushes brought at once.
      if (!uploads.has(idOf(join(address, batchId))))
        tally.wrong(`${toHex(address)}: its upload is not entered`);
      if (!blocks.has(idOf(encodeNumber(blockOf(number)))))
        tally.wrong(`${toHex(address)}: push ${number} is in no block, so that it never begins`);
    }
    for (const [key, record] of this.#entries('uploads'))
      for (const sequence of decodeNumbers(record))
        if (!pushes.has(idOf(encodeNumber(sequence))))
          tally.wrong(`${toHex(key.subarray(0, ADDRESS_SIZE))}: push ${sequence} is not there`);
    tally.counter('pushes that wait', { found: this.#number('uploadTotals', 2), expected: tally.checked });
    return tally.finding();
  }

  #cache(): Finding {
    const tally = new Tally('cache');
    const order = this.#byKey('cacheOrder');
    for (const [address, place] of this.#entries('cache')) {
      tally.checked++;
      const found = order.get(idOf(place));
      if (found === undefined || !equalBytes(found, address))
        tally.wrong(`${toHex(address)}: it is not at place ${decodeNumber(place)}`);
    }
    if (order.size !== tally.checked) tally.wrong(`${order.size} places for ${tally.checked} chunks`);
    tally.counter('cached chunks', { found: this.#number('cacheSize'), expected: tally.checked });
    return tally.finding();
  }

  #tags(): Finding {
    const tally = new Tally('tags');
    const last = this.#number('lastTag');
    for (const [uid] of this.#entries('tags')) {
      tally.checked++;
      if (decodeNumber(uid) > last)
        tally.wrong(`tag ${decodeNumber(uid)}: ${last} was the last one given out`);
    }
    return tally.finding();
  }

  #entries(table: Table): readonly Entry[] {
    return this.#store.tables.get(table) ?? [];
  }

  #byKey(table: Table): Records {
    const known = this.#keys.get(table);
    if (known !== undefined) return known;
    const map = new Map(this.#entries(table).map(([key, value]) => [idOf(key), value]));
    this.#keys.set(table, map);
    return map;
  }

  /** 0 if it was never written. */
  #number(name: string, place = 0): number {
    const record = this.#byKey('meta').get(name);
    return record === undefined ? 0 : decodeNumber(record, place * NUMBER_SIZE);
  }
}

function faultOf(bytes: Uint8Array | undefined, { address, length }: RecordedChunk): string | undefined {
  const content = bytes && decodeSlot(bytes);
  if (bytes === undefined) return 'cannot be read';
  if (content === undefined) return 'does not have the checksum that was written';
  if (!equalBytes(content.address, address)) return `holds ${toHex(content.address)}`;
  if (content.data.length !== length) return `holds ${content.data.length} bytes, expected ${length}`;
  if (!isHeldWhole(bytes)) return 'has a damaged stamp';
  try {
    chunkFrom(content.address, content.data);
    return undefined;
  } catch (error) {
    if (error instanceof ChunkError) return 'holds bytes of another address';
    throw error;
  }
}

function addressIn(table: 'pushes' | 'pinnedChunks' | 'reserve' | 'cache', [key, record]: Entry): Uint8Array {
  if (table === 'pushes') return record.subarray(0, ADDRESS_SIZE);
  if (table === 'pinnedChunks') return key.subarray(NUMBER_SIZE);
  return table === 'reserve' ? key.subarray(ADDRESS_AT, HASH_AT) : key;
}

function idOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function bytesOf(id: string): Uint8Array {
  return new Uint8Array(Buffer.from(id, 'latin1'));
}
