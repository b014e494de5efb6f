import { gzipSync } from 'node:zlib';

export type Entry =
  | { readonly mined: number }
  | { readonly method: string; readonly params: readonly unknown[] };

export class Journal {
  #entries: Entry[];

  constructor(entries: readonly Entry[] = []) {
    this.#entries = [...entries];
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** Undefined: there is no such block. */
  lengthAt(block: number): number | undefined {
    if (block === 0) return 0;
    let mined = 0;
    const index = this.#entries.findIndex((entry) => 'mined' in entry && ++mined === block);
    return index === -1 ? undefined : index + 1;
  }

  dump(): Uint8Array {
    return gzipSync(JSON.stringify(this.#entries));
  }
}

export function entriesIn(text: Uint8Array): readonly Entry[] {
  return JSON.parse(Buffer.from(text).toString('utf8')) as readonly Entry[];
}
