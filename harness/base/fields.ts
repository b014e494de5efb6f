import { z } from 'zod';
import {
  DURATION_EXPECTED,
  parseDurationMs,
  parseSizeBytes,
  parseWaitMs,
  SIZE_EXPECTED,
  WAIT_EXPECTED,
} from '../../formats/units.ts';

export function textAs<T>(expected: string, parse: (text: string) => T | undefined) {
  return z.string({ error: expected }).transform((text, context): T => {
    const value = parse(text);
    if (value === undefined) context.addIssue({ code: 'custom', message: expected });
    return value ?? z.NEVER;
  });
}

export const durationMs = textAs(DURATION_EXPECTED, parseDurationMs);

export const waitMs = textAs(WAIT_EXPECTED, parseWaitMs);

export const sizeBytes = textAs(SIZE_EXPECTED, parseSizeBytes);
