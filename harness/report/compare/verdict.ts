import type { Estimate, Interval } from './statistics.ts';

const VERDICTS = ['worse', 'better', 'same', 'too few samples'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Of the ratio: short runs on a busy machine vary as much. */
export const TOLERANCE_DEFAULT = 0.1;

export const CONFIDENCE = 0.95;

export interface Judgement {
  /** Still the same, in the estimate's measure. */
  readonly tolerance: number;
  readonly beyond: number;
  readonly better: 'higher' | 'lower';
  /** Judged together. */
  readonly figures: number;
}

/**
 * Worse, better: the 95 % interval lies beyond the limit, and excludes zero when widened for all figures judged
 * (Bonferroni). Same: it lies within the tolerance.
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

/** Worse decides, then better; undecided only where nothing else is known. */
export function verdictOfAll(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('worse')) return 'worse';
  if (verdicts.includes('better')) return 'better';
  return verdicts.includes('same') ? 'same' : 'too few samples';
}
