import { z } from 'zod';
import {
  parseRate,
  parseSizeBytes,
  parseWaitMs,
  RATE_EXPECTED,
  SIZE_EXPECTED,
  TIMER_MAX_MS,
  WAIT_EXPECTED,
} from '../../../formats/units.ts';
import { textAs } from '../../base/fields.ts';
import { parsePercent } from '../../base/format.ts';

/** A field of a request of `svcnet fault`. */
export interface FaultField {
  readonly field: string;
  /** `<node>`, `[to]`, `<groups...>`, or an option, `--latency <duration>`, `--one-way`. */
  readonly flag: string;
  readonly about: string;
  /** Turns the words, joined by blanks, into schema input. Default: the text; true for a bare option. */
  readonly parse?: (text: string) => unknown;
}

export const NODE_FIELD: FaultField = { field: 'node', flag: '<node>', about: 'name of the node' };

export const nodeName = z.string({ error: 'the name of a node' }).min(1, { error: 'the name of a node' });

const FAULT_TIME_EXPECTED = `${WAIT_EXPECTED}, or milliseconds`;

/** Milliseconds, or text such as `200ms`. */
export const duration = textOr(FAULT_TIME_EXPECTED, parseWaitMs).refine((value) => value <= TIMER_MAX_MS, {
  error: FAULT_TIME_EXPECTED,
});

export const delay = duration.refine((value) => value > 0, { error: `${FAULT_TIME_EXPECTED}, above 0` });

export const size = textOr(SIZE_EXPECTED, parseSizeBytes);

/** Text such as `10%`, or a number from 0 to 1. */
export const share = textOr('a share such as 10%, or a number from 0 to 1', parsePercent).refine(
  (value) => value <= 1,
  { error: 'a share such as 10%, or a number from 0 to 1' },
);

/** Text such as `1MB/s` or `2Mbit/s`; becomes bytes per second. */
export const bandwidth = textOr(`${RATE_EXPECTED}, or bytes per second`, parseRate).refine(
  (value) => value > 0,
  { error: 'a rate above 0' },
);

export function parseNames(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function textOr(expected: string, parse: (text: string) => number | undefined) {
  return signedTextOr(expected, parse).refine((value) => value >= 0, { error: expected });
}

export function signedTextOr(expected: string, parse: (text: string) => number | undefined) {
  return z.union([z.number(), textAs(expected, parse)], { error: expected });
}
