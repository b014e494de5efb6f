/** A log that is a file: what every driver has whose parts write to this machine's disk. */
import { follow, linesSince, logSize, tail } from './logs.ts';

/** What was said by a part of a cluster, oldest line first. */
export interface PartLog {
  tail(lines: number): string[];
  /** Where it ends now. */
  end(): number;
  /** The lines added since it ended at `position`. */
  since(position: number): string[];
  /** Every line added from now on, until the signal aborts. */
  follow(signal: AbortSignal): AsyncIterable<string>;
}

export function fileLog(path: string): PartLog {
  return {
    tail: (lines) => tail(path, lines),
    end: () => logSize(path),
    since: (position) => linesSince(path, position),
    follow: (signal) => follow(path, signal),
  };
}
