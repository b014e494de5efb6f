/**
 * Sorted keys in memory. Latin-1 text compares as its bytes do and takes one byte per byte, a small array two hundred.
 * Entries lie in short runs, so that an insertion moves few.
 */
import type { Entry } from './backend.ts';

const RUN_MAX = 128;

interface Run {
  readonly keys: string[];
  readonly values: string[];
}

export class SortedTable {
  /** Ascending; only a single one may be empty. */
  readonly #runs: Run[] = [{ keys: [], values: [] }];

  get(key: Uint8Array): Uint8Array | undefined {
    const { run, at, found } = this.#find(textOf(key));
    return found ? bytesOf(run.values[at] as string) : undefined;
  }

  has(key: Uint8Array): boolean {
    return this.#find(textOf(key)).found;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    const text = textOf(key);
    const { run, index, at, found } = this.#find(text);
    if (found) {
      run.values[at] = textOf(value);
      return;
    }
    run.keys.splice(at, 0, text);
    run.values.splice(at, 0, textOf(value));
    if (run.keys.length > RUN_MAX) this.#divide(index, at);
  }

  remove(key: Uint8Array): void {
    const { run, index, at, found } = this.#find(textOf(key));
    if (!found) return;
    run.keys.splice(at, 1);
    run.values.splice(at, 1);
    if (run.keys.length === 0 && this.#runs.length > 1) this.#runs.splice(index, 1);
  }

  *entries(): Iterable<Entry> {
    for (const { keys, values } of this.#runs) {
      for (const [at, key] of keys.entries()) yield [bytesOf(key), bytesOf(values[at] as string)];
    }
  }

  scan(from: Uint8Array, to: Uint8Array, limit: number): Entry[] {
    const entries: Entry[] = [];
    const end = textOf(to);
    let { index, at } = this.#find(textOf(from));
    for (; index < this.#runs.length; index++, at = 0) {
      const { keys, values } = this.#runs[index] as Run;
      for (; at < keys.length; at++) {
        const key = keys[at] as string;
        if (entries.length === limit || key >= end) return entries;
        entries.push([bytesOf(key), bytesOf(values[at] as string)]);
      }
    }
    return entries;
  }

  last(from: Uint8Array, to: Uint8Array): Uint8Array | undefined {
    const { index, at } = this.#find(textOf(to));
    const text = at > 0 ? this.#runs[index]?.keys[at - 1] : this.#runs[index - 1]?.keys.at(-1);
    return text === undefined || text < textOf(from) ? undefined : bytesOf(text);
  }

  /** Where the key is or would be. */
  #find(text: string): { run: Run; index: number; at: number; found: boolean } {
    let low = 0;
    let high = this.#runs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#runs[middle] as Run).keys[0]! <= text) low = middle;
      else high = middle - 1;
    }
    const run = this.#runs[low] as Run;
    const at = position(run.keys, text);
    return { run, index: low, at, found: run.keys[at] === text };
  }

  /** Splits in halves; ascending insertions leave full runs. */
  #divide(index: number, added: number): void {
    const { keys, values } = this.#runs[index] as Run;
    const isLast = index === this.#runs.length - 1 && added === keys.length - 1;
    const half = isLast ? keys.length - 1 : keys.length >>> 1;
    this.#runs.splice(index + 1, 0, { keys: keys.splice(half), values: values.splice(half) });
  }
}

function position(keys: readonly string[], text: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Buffer's method for any byte array: a buffer per key would cost as much as its text. */
const { latin1Slice } = Buffer.prototype as unknown as {
  readonly latin1Slice: (this: Uint8Array, start: number, end: number) => string;
};
/** Longer arrays live outside the heap, at a cost above their bytes. */
const OWN_MAX = 64;

function textOf(bytes: Uint8Array): string {
  return latin1Slice.call(bytes, 0, bytes.length);
}

function bytesOf(text: string): Uint8Array {
  if (text.length > OWN_MAX) {
    const { buffer, byteOffset, length } = Buffer.from(text, 'latin1');
    return new Uint8Array(buffer, byteOffset, length);
  }
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}
