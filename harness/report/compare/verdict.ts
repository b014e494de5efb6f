/** The verdict on a figure: better, the same, worse, or too few samples to say. */
import type { Estimate, Interval } from './statistics.ts';

const VERDICTS = ['worse', 'better', 'same', 'too few samples'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Ratio difference that still counts as the same: short runs on a busy machine vary as much. */
export const TOLERANCE_DEFAULT = 0.1;

/** Confidence of the intervals that are shown and judged. */
export const CONFIDENCE = 0.95;

export interface Judgement {
  /** Difference that still counts as the same, in the estimate's measure. */
  readonly tolerance: number;
  /** By how much it must differ to be worse or better; usually the tolerance. */
  readonly beyond: number;
  readonly better: 'higher' | 'lower';
  /** How many figures are judged together. */
  readonly figures: number;
}

/**
 * Worse, better: the 95 % interval lies beyond the limit, and still excludes zero when widened for all figures judged
 * (Bonferroni). Same: it lies within the tolerance. Else undecided.
 */
export function judge(estimate: Estimate | undefined, judgement: Judgement): Verdict {
  if (estimate === undefined) return 'too few samples';
  const { tolerance, beyond, better, figures } = judgement;
  const loss = (interval: Interval): Interval =>
    better === 'lower' ? interval : [-interval[1], -interval[0]];
  const [low, high] = loss(estimate.interval(CONFIDENCE));
  const [surelyLow, surelyHigh] = loss(estimate.interval(1 - (1 - CONFIDENCE) / figures));
  if (low > beyond && surelyLow > 0) return 'worse';
  if (high < -beyond && surelyHigh < 0) return 'better';
  return low >= -tolerance && high <= tolerance ? 'same' : 'too few samples';
}

/**
 * One word for many verdicts: one that is worse decides, then one that is better. Undecided ones decide only
 * where nothing else can be told.
 */
export function verdictOfAll(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('worse')) return 'worse';
  if (verdicts.includes('better')) return 'better';
  return verdicts.includes('same') ? 'same' : 'too few samples';
}
