/**
 * A power cut loses all or part of what a disk has not synced. Of the index, the first transactions survive; slots reach the
 * disk in any order, by sector. With `durability: disk` only the current transaction is not synced. Otherwise the system
 * writes back what is half a minute old. What was written before the last start counts as synced.
 */
import type { Clock } from '../../../formats/clock.ts';
import type { Random } from '../../../formats/random.ts';
import type { Backend, Table, Transaction } from '../../../node/store/backend.ts';
import { SLOTS_HEAD_SIZE } from '../../../node/store/disk/identity.ts';
import { SLOT_SIZE } from '../../../node/store/disk/slot.ts';
import type { MemoryDisk } from '../../../node/store/memory-store.ts';
import { readsOf } from './disk.ts';
import type { Counts } from './settings.ts';

const WRITTEN_BACK_MS = 30_000;
/** Bytes that a disk writes wholly or not at all. */
export const SECTOR = 512;

interface Step {
  readonly at: number;
  readonly replaced: {
    readonly table: Table;
    readonly key: Uint8Array;
    readonly value: Uint8Array | undefined;
  }[];
}

interface Slot {
  readonly at: number;
  readonly bytes: Uint8Array;
}

type Change = (tx: Transaction) => unknown;

export class Unsynced {
  readonly #disk: MemoryDisk;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #isDurable: boolean;
  readonly #pending = new Set<Change>();
  readonly #steps: Step[] = [];
  readonly #slots = new Map<number, Slot>();

  /** @param isDurable each transaction is synced before it is confirmed */
  constructor(
    disk: MemoryDisk,
    { clock, isDurable }: { readonly clock: Pick<Clock, 'monotonic'>; readonly isDurable: boolean },
  ) {
    this.#disk = disk;
    this.#clock = clock;
    this.#isDurable = isDurable;
  }

  watched(base: Backend): Backend {
    return {
      ...readsOf(base),
      available: () => base.available(),
      close: () => base.close(),
      slots: {
        read: (...asked) => base.slots.read(...asked),
        write: (slot, bytes) => {
          this.#keep(slot, base.slots);
          base.slots.write(slot, bytes);
        },
      },
      change: (change) => {
        this.#pending.add(change);
        return base.change((tx) => {
          this.#pending.delete(change);
          const result = change(this.#recorded(tx));
          if (this.#isDurable) this.#sync(Number.POSITIVE_INFINITY);
          else this.#writeBack();
          return result;
        });
      },
    };
  }

  /** Call it when the node is off. */
  lose(random: Random): Counts {
    const disk = this.#disk;
    this.#writeBack();
    this.#beginNext();
    const kept = random.below(this.#steps.length + 1);
    const lost = this.#steps.slice(kept);
    for (const { replaced } of lost.toReversed()) {
      for (const { table, key, value } of replaced.toReversed()) {
        if (value === undefined) disk.tables[table].remove(key);
        else disk.tables[table].put(key, value);
      }
    }
    const counts = { 'transactions lost': lost.length, 'slots lost': 0, 'slots torn': 0 };
    // A surviving transaction has its slots, which were synced first.
    const isWhole = this.#isDurable && this.#steps.length > 0 && lost.length === 0;
    for (const [slot, { bytes }] of isWhole ? [] : this.#slots) {
      const outcome = random.below(3);
      if (outcome === 0) continue;
      counts[outcome === 1 ? 'slots lost' : 'slots torn']++;
      const now = disk.slots.read(slot, WHOLE) ?? bytes;
      disk.slots.write(slot, outcome === 1 ? bytes : torn(slot, { before: bytes, now, random }));
    }
    return counts;
  }

  #beginNext(): void {
    const tx = this.#recorded(this.#disk.transaction());
    for (const change of this.#pending) {
      try {
        change(tx);
      } catch {
        // It fails alone; the node that would be told is off.
      }
    }
  }

  #recorded(tx: Transaction): Transaction {
    const replaced: Step['replaced'] = [];
    const note = (table: Table, key: Uint8Array) => {
      if (replaced.length === 0) this.#steps.push({ at: this.#clock.monotonic(), replaced });
      replaced.push({ table, key: key.slice(), value: tx.get(table, key)?.slice() });
    };
    return {
      ...readsOf(tx),
      id: tx.id,
      put(table, key, value) {
        note(table, key);
        tx.put(table, key, value);
      },
      remove(table, key) {
        note(table, key);
        tx.remove(table, key);
      },
    };
  }

  #keep(slot: number, slots: Backend['slots']): void {
    this.#writeBack();
    if (this.#slots.has(slot)) return;
    const bytes = slots.read(slot, WHOLE)?.slice() ?? new Uint8Array(SLOT_SIZE);
    this.#slots.set(slot, { at: this.#clock.monotonic(), bytes });
  }

  #writeBack(): void {
    this.#sync(this.#clock.monotonic() - WRITTEN_BACK_MS);
  }

  #sync(until: number): void {
    const young = this.#steps.findIndex(({ at }) => at >= until);
    this.#steps.splice(0, young === -1 ? this.#steps.length : young);
    for (const [slot, { at }] of this.#slots) {
      if (at >= until) break;
      this.#slots.delete(slot);
    }
  }
}

const WHOLE = { offset: 0, length: SLOT_SIZE };

function torn(
  slot: number,
  { before, now, random }: { readonly before: Uint8Array; readonly now: Uint8Array; readonly random: Random },
): Uint8Array {
  const bytes = before.slice();
  const start = SLOTS_HEAD_SIZE + slot * SLOT_SIZE;
  for (let from = 0; from < SLOT_SIZE; ) {
    const to = from + SECTOR - ((start + from) % SECTOR);
    if (random.below(2) === 0) bytes.set(now.subarray(from, to), from);
    from = to;
  }
  return bytes;
}
