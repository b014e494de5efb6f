/** Lines of a file that a program writes. */
import { closeSync, openSync, readSync } from 'node:fs';

const PIECE_BYTES = 1 << 20;

/** Lines appended to a file, which need not exist yet. */
export class LineTail {
  readonly #path: string;
  readonly #piece = Buffer.alloc(PIECE_BYTES);
  #file: number | undefined;
  #rest = '';
  readonly #decoder = new TextDecoder();

  constructor(path: string) {
    this.#path = path;
  }

  /** @returns those that have ended since the last call */
  read(): string[] {
    this.#file ??= this.#open();
    if (this.#file === undefined) return [];
    const lines: string[] = [];
    for (let size = 1; size > 0; ) {
      size = readSync(this.#file, this.#piece, 0, PIECE_BYTES, null);
      const text = this.#rest + this.#decoder.decode(this.#piece.subarray(0, size), { stream: true });
      const all = text.split('\n');
      this.#rest = all.pop() ?? '';
      lines.push(...all);
    }
    return lines;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(): number | undefined {
    try {
      return openSync(this.#path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}
