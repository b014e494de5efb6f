/** Written values as schemas whose errors name the expectation. */
import { z } from 'zod';
import {
  DURATION_EXPECTED,
  parseDurationMs,
  parseSizeBytes,
  parseWaitMs,
  SIZE_EXPECTED,
  WAIT_EXPECTED,
} from '../../formats/units.ts';

/** Text that a function reads. @param parse returns undefined when the text is not what was expected */
export function textAs<T>(expected: string, parse: (text: string) => T | undefined) {
  return z.string({ error: expected }).transform((text, context): T => {
    const value = parse(text);
    if (value === undefined) context.addIssue({ code: 'custom', message: expected });
    return value ?? z.NEVER;
  });
}

/** Text such as `1m30s`; becomes milliseconds. */
export const durationMs = textAs(DURATION_EXPECTED, parseDurationMs);

/** Text such as `1m30s` for a timer; becomes ms. */
export const waitMs = textAs(WAIT_EXPECTED, parseWaitMs);

/** Text such as `64KiB`; becomes bytes. */
export const sizeBytes = textAs(SIZE_EXPECTED, parseSizeBytes);
