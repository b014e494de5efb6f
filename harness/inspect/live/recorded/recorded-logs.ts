/** A run's logs, up to where its record is played. */
import { join } from 'node:path';
import { HarnessError } from '../../../base/errors.ts';
import { logEntry } from '../../../base/logs/log-entry.ts';
import { expectFile, NAME_PATTERN } from '../../../base/own-folder.ts';
import { readFileLimited } from '../../../base/read-limited.ts';
import type { LogAnswer } from '../../../web/picture/live.ts';
import { LINES_AT_FIRST, LINES_MAX, lineOf } from '../log-answer.ts';

const LOG_MAX = 256 * 2 ** 20;

interface DatedLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly line: string;
}

export class RecordedLogs {
  readonly #folder: string;
  /** The last one that was asked for. */
  #read: { readonly part: string; readonly lines: readonly DatedLine[] } | undefined;

  /** @param folder of the run */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * @param after position of the last answer; undefined: the last lines
   * @throws HarnessError `NODE_NOT_FOUND`: the record has no log of it
   */
  answer(part: string, after: string | undefined, nowMs: number): LogAnswer {
    const where = join(this.#folder, 'logs', `${part}.log`);
    const past = this.#linesOf(part, where).filter(({ at }) => at <= nowMs);
    const told = after === undefined ? undefined : Number(after);
    const isBack = told !== undefined && told > nowMs;
    const lines =
      told === undefined || isBack ? past.slice(-LINES_AT_FIRST) : past.filter(({ at }) => at > told);
    return {
      where,
      lines: lines.slice(-LINES_MAX).map(({ line }) => lineOf(line)),
      leftOut: Math.max(0, lines.length - LINES_MAX),
      position: String(nowMs),
      ...(isBack && { renewed: true }),
    };
  }

  #linesOf(part: string, path: string): readonly DatedLine[] {
    if (this.#read?.part === part) return this.#read.lines;
    if (!NAME_PATTERN.test(part)) throw notRecorded(part, path);
    expectFile(this.#folder, path);
    let text: string;
    try {
      text = readFileLimited(path, LOG_MAX);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notRecorded(part, path);
      throw error;
    }
    let last = 0;
    const lines = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const at = Date.parse(logEntry(line)?.time ?? '');
        // What has no time of its own continues the line before.
        if (!Number.isNaN(at)) last = at;
        return { at: last, line };
      });
    this.#read = { part, lines };
    return lines;
  }
}

function notRecorded(part: string, path: string): HarnessError {
  return new HarnessError('NODE_NOT_FOUND', `the record has no log of ${part}, expected ${path}`);
}
