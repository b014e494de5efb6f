import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { MACHINE_CLOCK } from '../machine/clock.ts';
import { pause } from '../wait.ts';

const PIECE_BYTES = 1024 * 1024;
const FOLLOW_BYTES = 256 * 1024;
const FOLLOW_PAUSE_MS = 100;
/** Of one line; the rest of a longer one is not kept. */
const LINE_BYTES_MAX = 256 * 1024;
const BREAK = 0x0a;
/** A pipe would wait for ever. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** Bytes to lines. A long line's end is cut while it is read: a log may be one line of gigabytes. */
class Lines {
  readonly #kept: Buffer[] = [];
  #length = 0;
  #isCut = false;

  *complete(pieces: Iterable<Buffer>): Generator<string> {
    for (const piece of pieces) {
      let from = 0;
      for (let at = piece.indexOf(BREAK); at !== -1; at = piece.indexOf(BREAK, from)) {
        this.#keep(piece.subarray(from, at));
        yield this.end();
        from = at + 1;
      }
      this.#keep(piece.subarray(from));
    }
  }

  /** The line so far. */
  end(): string {
    const text = Buffer.concat(this.#kept).toString('utf8');
    const line = this.#isCut ? `${text.replace(/\ufffd+$/, '')}…` : text;
    this.#kept.length = 0;
    this.#length = 0;
    this.#isCut = false;
    return line;
  }

  #keep(bytes: Buffer): void {
    const kept = bytes.subarray(0, LINE_BYTES_MAX - this.#length);
    if (kept.length < bytes.length) this.#isCut = true;
    if (kept.length === 0) return;
    this.#kept.push(kept);
    this.#length += kept.length;
  }
}

/** @returns oldest first, long ones cut; none: no file */
export function tail(path: string, lines: number): string[] {
  if (lines === 0) return [];
  const end = logSize(path);
  return allLines(piecesOf(path, startOf(path, end, lines), end)).slice(-lines);
}

/** Long ones cut. */
export function* linesOf(path: string): Generator<string> {
  const lines = new Lines();
  yield* lines.complete(piecesOf(path, 0, logSize(path)));
  const unfinished = lines.end();
  if (unfinished !== '') yield unfinished;
}

function allLines(pieces: Iterable<Buffer>): string[] {
  const lines = new Lines();
  const complete = [...lines.complete(pieces)];
  const unfinished = lines.end();
  return unfinished === '' ? complete : [...complete, unfinished];
}

/** Where the last complete lines begin. */
function startOf(path: string, end: number, lines: number): number {
  let breaks = 0;
  for (let to = end; to > 0; to -= PIECE_BYTES) {
    const from = Math.max(0, to - PIECE_BYTES);
    const piece = readRange(path, from, to);
    for (
      let at = piece.lastIndexOf(BREAK);
      at !== -1;
      at = at === 0 ? -1 : piece.lastIndexOf(BREAK, at - 1)
    ) {
      breaks++;
      if (breaks > lines) return from + at + 1;
    }
  }
  return 0;
}

export function logSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Since the size `from`, long ones cut; all if moved aside since. */
export function linesSince(path: string, from: number): string[] {
  const size = logSize(path);
  return allLines(piecesOf(path, size < from ? 0 : from, size)).filter((line) => line !== '');
}

/** Last lines, then complete new ones until the signal aborts, long ones cut. A moved file is read from the start. */
export async function* follow(path: string, signal: AbortSignal, lines = 0): AsyncGenerator<string> {
  let at = logSize(path);
  const reading = new Lines();
  yield* reading.complete(piecesOf(path, startOf(path, at, lines), at));
  while (!signal.aborted) {
    const size = logSize(path);
    if (size < at) at = 0;
    if (size === at) {
      await pause(MACHINE_CLOCK, FOLLOW_PAUSE_MS, signal);
      continue;
    }
    const end = Math.min(size, at + FOLLOW_BYTES);
    const piece = readRange(path, at, end);
    at = end;
    yield* reading.complete([piece]);
  }
}

function* piecesOf(path: string, from: number, to: number): Generator<Buffer> {
  for (let at = from; at < to; at += PIECE_BYTES) yield readRange(path, at, Math.min(to, at + PIECE_BYTES));
}

function readRange(path: string, from: number, to: number): Buffer {
  if (to <= from) return Buffer.alloc(0);
  const file = openSync(path, READ);
  try {
    const buffer = Buffer.alloc(to - from);
    const length = readSync(file, buffer, 0, buffer.length, from);
    return buffer.subarray(0, length);
  } finally {
    closeSync(file);
  }
}
