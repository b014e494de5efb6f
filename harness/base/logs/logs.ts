import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { MACHINE_CLOCK } from '../machine/clock.ts';
import { pause } from '../wait.ts';

const TAIL_BYTES = 1024 * 1024;
const FOLLOW_BYTES = 256 * 1024;
const FOLLOW_PAUSE_MS = 100;
/** A pipe would wait for ever. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** @returns oldest first; none: no file */
export function tail(path: string, lines: number): string[] {
  const { complete, unfinished } = linesBefore(path, logSize(path), lines);
  const all = unfinished === '' ? complete : [...complete, unfinished];
  return lines === 0 ? [] : all.slice(-lines);
}

function linesBefore(
  path: string,
  end: number,
  lines: number,
): { readonly complete: string[]; readonly unfinished: string } {
  const pieces: Buffer[] = [];
  let from = end;
  // The line before the first break may be incomplete.
  for (let breaks = 0; from > 0 && breaks <= lines; ) {
    const start = Math.max(0, from - TAIL_BYTES);
    const piece = readRange(path, start, from);
    breaks += breaksIn(piece);
    pieces.unshift(piece);
    from = start;
  }
  const all = Buffer.concat(pieces).toString('utf8').split('\n');
  const unfinished = all.pop() ?? '';
  if (from > 0) all.shift();
  return { complete: lines === 0 ? [] : all.slice(-lines), unfinished };
}

function breaksIn(piece: Buffer): number {
  let count = 0;
  for (let at = piece.indexOf('\n'); at !== -1; at = piece.indexOf('\n', at + 1)) count++;
  return count;
}

export function logSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Since the size `from`; all if moved aside since. */
export function linesSince(path: string, from: number): string[] {
  const size = logSize(path);
  const text = readRange(path, size < from ? 0 : from, size).toString('utf8');
  return text.split('\n').filter((line) => line !== '');
}

/** Last lines, then complete new ones until the signal aborts. A moved file is read from the start. */
export async function* follow(path: string, signal: AbortSignal, lines = 0): AsyncGenerator<string> {
  let at = logSize(path);
  const before = linesBefore(path, at, lines);
  let { unfinished } = before;
  yield* before.complete;
  while (!signal.aborted) {
    const size = logSize(path);
    if (size < at) at = 0;
    if (size === at) {
      await pause(MACHINE_CLOCK, FOLLOW_PAUSE_MS, signal);
      continue;
    }
    const end = Math.min(size, at + FOLLOW_BYTES);
    const parts = (unfinished + readRange(path, at, end).toString('utf8')).split('\n');
    at = end;
    unfinished = parts.pop() ?? '';
    yield* parts;
  }
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
