/** Undoes the newest pages when the chain replaces their blocks. A record per page holds its keys' previous content. */
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import type { Anchor } from './batch-store.ts';

const UNDO = 'undo/';
/** Keys sort like blocks. */
const BLOCK_DIGITS = 12;
/** Twice what chains in use replace at most (two epochs of 32 blocks). Beyond, everything is read again. */
export const UNDO_BLOCKS = 128;

interface StoredUndo {
  readonly anchor: Anchor | null;
  /** Previous content in hex; null: none. */
  readonly before: readonly (readonly [key: string, value: string | null])[];
}

interface Remembered {
  readonly block: number;
  readonly anchor: Anchor | undefined;
}

export class PageHistory {
  readonly #state: KeyValueStore;
  /** Oldest first. */
  #pages: Remembered[] = [];

  constructor(state: KeyValueStore) {
    this.#state = state;
    for (const [key, value] of state.entries(UNDO)) {
      this.#pages.push({ block: blockOf(key), anchor: decode(value).anchor ?? undefined });
    }
  }

  /** Newest first, restorable; undefined before the first page. */
  anchors(): (Anchor | undefined)[] {
    return this.#pages.map(({ anchor }) => anchor).reverse();
  }

  /** @param before end of the state that it changes @returns changes to write with it */
  record(block: number, changes: readonly KeyValueChange[], before: Anchor | undefined): KeyValueChange[] {
    const stored: StoredUndo = {
      anchor: before ?? null,
      before: changes.map((change) => {
        const key = keyOf(change);
        const value = this.#state.get(key);
        return [key, value === undefined ? null : toHex(value)];
      }),
    };
    const forgotten = this.#pages.filter((page) => page.block <= block - UNDO_BLOCKS);
    this.#pages = [
      ...this.#pages.filter((page) => page.block > block - UNDO_BLOCKS),
      { block, anchor: before },
    ];
    return [
      ...forgotten.map((page) => ({ remove: undoKey(page.block) })),
      { put: undoKey(block), value: Buffer.from(JSON.stringify(stored)) },
    ];
  }

  /** @returns what restores the state before the newest pages */
  revert(pages: number): KeyValueChange[] {
    const taken = this.#pages.splice(this.#pages.length - pages, pages);
    const restored = new Map<string, KeyValueChange>();
    for (const { block } of taken.reverse()) {
      const value = this.#state.get(undoKey(block));
      if (value === undefined) throw new Error(`page ${block} is remembered without a record`);
      for (const [key, held] of decode(value).before) {
        restored.set(key, held === null ? { remove: key } : { put: key, value: fromHex(held) });
      }
      restored.set(undoKey(block), { remove: undoKey(block) });
    }
    return [...restored.values()];
  }

  /** @returns changes to write */
  clear(): KeyValueChange[] {
    return this.#pages.splice(0).map(({ block }) => ({ remove: undoKey(block) }));
  }
}

export function keyOf(change: KeyValueChange): string {
  return 'put' in change ? change.put : change.remove;
}

function undoKey(block: number): string {
  return UNDO + block.toString(16).padStart(BLOCK_DIGITS, '0');
}

function blockOf(key: string): number {
  return Number.parseInt(key.slice(UNDO.length), 16);
}

function decode(value: Uint8Array): StoredUndo {
  return JSON.parse(Buffer.from(value).toString('utf8')) as StoredUndo;
}
