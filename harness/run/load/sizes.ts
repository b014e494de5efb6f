/**
 * Sizes as text: one size (`4KiB`), any size between two (`4KiB..1MiB`), a lognormal distribution by its median and spread
 * (`lognormal:64KiB`, `lognormal:64KiB:1.5`), or several of these with weights (`4KiB*9,1MiB..4MiB`).
 */

import { parseSizeBytes } from '../../../formats/units.ts';
import { HarnessError } from '../../base/errors.ts';
import type { SizeDistribution, SizeRange } from './k6/config.ts';

/** Standard deviation of the logarithm: two thirds of all sizes lie between a third of the median and its triple. */
const SIGMA_DEFAULT = 1;
const SIGMA_MAX = 3;
/** Larger draws count as this many medians. */
const MEDIANS_MAX = 64;
const SIZE_MAX = 2 ** 30;

const EXPECTED =
  "sizes such as '4KiB', '4KiB..1MiB', 'lognormal:64KiB', or several with weights: '4KiB*9,1MiB'";

/** @throws HarnessError `USAGE` naming the invalid part */
export function parseSizes(text: string): SizeDistribution {
  const parts = text.split(',').map((part) => {
    const [, range = '', weight = '1'] = /^\s*([^*]*?)\s*(?:\*\s*(\S+))?\s*$/.exec(part) ?? [];
    if (!/^\d{1,6}$/.test(weight) || Number(weight) === 0) {
      throw sizesError(
        text,
        `a weight is a whole number from 1 to 999999, but '${part.trim()}' has '${weight}'`,
      );
    }
    return { weight: Number(weight), of: parseRange(text, range) };
  });
  return { text, parts };
}

function parseRange(text: string, range: string): SizeRange {
  const [, median, sigma = String(SIGMA_DEFAULT)] = /^lognormal:([^:]+)(?::(.+))?$/.exec(range) ?? [];
  if (median !== undefined) {
    const bytes = sizeOf(text, median);
    if (!/^\d+(\.\d+)?$/.test(sigma) || Number(sigma) === 0 || Number(sigma) > SIGMA_MAX) {
      throw sizesError(
        text,
        `the spread of a lognormal distribution is above 0 and at most ${SIGMA_MAX}, got '${sigma}'`,
      );
    }
    return {
      kind: 'lognormal',
      median: bytes,
      sigma: Number(sigma),
      max: Math.min(SIZE_MAX, bytes * MEDIANS_MAX),
    };
  }
  const [first = '', last = first, ...more] = range.split('..');
  const [min, max] = [sizeOf(text, first), sizeOf(text, last)];
  if (more.length > 0) throw sizesError(text, `expected ${EXPECTED}`);
  if (max < min) throw sizesError(text, `'${range}' ends below its begin`);
  return { kind: 'uniform', min, max };
}

function sizeOf(text: string, size: string): number {
  const bytes = parseSizeBytes(size.trim());
  if (bytes === undefined) throw sizesError(text, `'${size.trim()}' is no size; expected ${EXPECTED}`);
  if (bytes >= 1 && bytes <= SIZE_MAX) return bytes;
  throw sizesError(text, `'${size.trim()}' is not between 1B and 1GiB`);
}

function sizesError(text: string, why: string): HarnessError {
  return new HarnessError('USAGE', `--sizes: got '${text}': ${why}`);
}

/** Bytes; for a lognormal distribution without its cut-off, so slightly too high. */
export function meanSize({ parts }: SizeDistribution): number {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  return parts.reduce((sum, { weight, of }) => sum + (weight / total) * meanOf(of), 0);
}

function meanOf(range: SizeRange): number {
  return range.kind === 'uniform'
    ? (range.min + range.max) / 2
    : Math.min(range.max, range.median * Math.exp(range.sigma ** 2 / 2));
}
