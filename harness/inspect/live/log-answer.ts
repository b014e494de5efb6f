import type { PartLog } from '../../base/logs/file-log.ts';
import { logEntry } from '../../base/logs/log-entry.ts';
import type { LogAnswer, LogLine } from '../../web/picture/live.ts';

export const LINES_MAX = 400;
export const LINES_AT_FIRST = 150;
const LINE_LENGTH_MAX = 600;

/** @param after end of the last answer; undefined: the last lines */
export async function logAnswer(log: PartLog, after: string | undefined): Promise<LogAnswer> {
  // Lines added between the two calls are shown twice rather than never.
  const end = await log.end();
  const lines = after === undefined ? await log.tail(LINES_AT_FIRST) : await log.since(positionOf(after));
  const shown = lines.filter((line) => line !== '').slice(-LINES_MAX);
  return {
    where: log.where,
    lines: shown.map(lineOf),
    leftOut: Math.max(0, lines.length - LINES_MAX),
    position: `${typeof end === 'number' ? 'n' : 't'}${end}`,
  };
}

/** A number in a file, or text if an engine keeps the log. */
function positionOf(text: string): number | string {
  return text.startsWith('n') ? Number(text.slice(1)) : text.slice(1);
}

export function lineOf(line: string): LogLine {
  const entry = logEntry(line);
  if (entry === undefined) return { level: '', text: clipped(line) };
  const fields = Object.entries(entry.fields).map(([name, value]) => `${name}=${textOf(value)}`);
  const time = entry.time.slice(11, 23);
  return {
    level: entry.level,
    text: clipped([time, entry.level.padEnd(5), entry.module, entry.message, ...fields].join(' ')),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function clipped(text: string): string {
  return text.length > LINE_LENGTH_MAX ? `${text.slice(0, LINE_LENGTH_MAX)}…` : text;
}
