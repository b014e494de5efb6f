/** A part's log, wherever it is kept; here in a file. */
import { type HarnessError, logFailure } from '../errors.ts';
import { follow, linesSince, logSize, tail } from './logs.ts';

/** A place in a log. Opaque to everything but the log itself. */
export type LogPosition = number | string;

/** The log of a part of a cluster, oldest line first. */
export interface PartLog {
  /** Path of the file, or the command that prints it. */
  readonly where: string;
  tail(lines: number): Promise<string[]>;
  /** Where it ends now. */
  end(): Promise<LogPosition>;
  /** The lines added since it ended at `position`; undefined: all. */
  since(position: LogPosition | undefined): Promise<string[]>;
  /** Every line added from now on, until the signal aborts; before them the last `lines` (default: none). */
  follow(signal: AbortSignal, lines?: number): AsyncIterable<string>;
  /** Why nothing can be written to it; undefined if it can. */
  failure(): HarnessError | undefined;
}

export function fileLog(path: string): PartLog {
  return {
    where: path,
    tail: (lines) => Promise.resolve(tail(path, lines)),
    end: () => Promise.resolve(logSize(path)),
    since: (position) => Promise.resolve(linesSince(path, Number(position ?? 0))),
    follow: (signal, lines) => follow(path, signal, lines),
    failure: () => logFailure(path),
  };
}
