import { closeSync, openSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder, ownPath } from '../../base/own-folder.ts';

export const FRAMES_FILE = 'frames.log';

/** @param folder of the cluster */
export function framesFile(folder: string): string {
  return ownPath(folder, ['logs', FRAMES_FILE], 'file');
}
/** Some 300 MB are enough to look for the first difference; a simulation that sends more is compared by its digest. */
const LINES_MAX = 3_000_000;
const BUFFERED_MAX = 65_536;

/** Writes in this turn: a watched simulation must take the same course as one that is not. */
export class FrameLog implements Disposable {
  readonly #file: number;
  #buffered = '';
  #lines = 0;

  constructor(path: string) {
    makeFolder(dirname(path), 0o700);
    this.#file = openSync(path, 'w', 0o600);
  }

  write(line: string): void {
    if (++this.#lines > LINES_MAX) return;
    this.#buffered += `${line}\n`;
    if (this.#buffered.length >= BUFFERED_MAX) this.flush();
  }

  [Symbol.dispose](): void {
    this.flush();
    closeSync(this.#file);
  }

  flush(): void {
    writeFileSync(this.#file, this.#buffered);
    this.#buffered = '';
  }
}
