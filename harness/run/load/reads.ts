import { HarnessError } from '../../base/errors.ts';
import type { ReadPattern } from './k6/config.ts';

const EXPONENT_MAX = 5;

/** @throws HarnessError `USAGE` */
export function parseReads(text: string): ReadPattern {
  if (text === 'cold') return { kind: 'cold' };
  const [, exponent] = /^zipf:(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (exponent !== undefined && Number(exponent) > 0 && Number(exponent) <= EXPONENT_MAX) {
    return { kind: 'zipf', exponent: Number(exponent) };
  }
  throw new HarnessError(
    'USAGE',
    `--reads: got '${text}', expected 'cold' or 'zipf:EXPONENT' with an exponent above 0 and at most ${EXPONENT_MAX}, such as zipf:1.1`,
  );
}
