/** Reading the logs of nodes and of the chain: their last lines, and lines added later. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The tail is sought in this much of the end of a file; log lines are some hundred bytes. */
const TAIL_BYTES = 1024 * 1024;
const FOLLOW_BYTES = 256 * 1024;
const FOLLOW_PAUSE_MS = 100;

/** @returns the last lines, oldest first; none when there is no such file */
export function tail(path: string, lines: number): string[] {
  const size = logSize(path);
  const from = Math.max(0, size - TAIL_BYTES);
  const all = readRange(path, from, size).toString('utf8').split('\n');
  // The first line may be incomplete.
  if (from > 0) all.shift();
  if (all.at(-1) === '') all.pop();
  return all.slice(-lines);
}

/** Current size of the file, to continue reading from later. */
export function logSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The lines added since the file had the size `from`, or all of a file that was moved aside since. */
export function linesSince(path: string, from: number): string[] {
  const size = logSize(path);
  const text = readRange(path, size < from ? 0 : from, size).toString('utf8');
  return text.split('\n').filter((line) => line !== '');
}

/**
 * Every line added from now on, until the signal aborts. A file that was moved aside is read from the start.
 */
export async function* follow(path: string, signal: AbortSignal): AsyncGenerator<string> {
  let at = logSize(path);
  let unfinished = '';
  while (!signal.aborted) {
    const size = logSize(path);
    if (size < at) at = 0;
    if (size === at) {
      await sleep(FOLLOW_PAUSE_MS, undefined, { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
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
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(to - from);
    const length = readSync(file, buffer, 0, buffer.length, from);
    return buffer.subarray(0, length);
  } finally {
    closeSync(file);
  }
}
