/** The verdict on a figure: better, the same, worse, or too few samples to say. */
import type { Estimate, Interval } from './statistics.ts';

const VERDICTS = ['worse', 'better', 'same', 'too few samples'] as const;
export type Verdict = (typeof VERDICTS)[number];

/**
 * By how much a ratio may differ and still count as the same: short runs on a busy machine vary that much for
 * no reason.
 */
export const TOLERANCE_DEFAULT = 0.1;

/** Confidence of the intervals that are shown and judged. */
export const CONFIDENCE = 0.95;

export interface Judgement {
  /** By how much it may differ and still count as the same; in the estimate's own measure. */
  readonly tolerance: number;
  /** By how much it must differ to be worse or better; usually the tolerance. */
  readonly beyond: number;
  readonly better: 'higher' | 'lower';
  /** How many figures are judged together. */
  readonly figures: number;
}

/**
 * Worse and better: the whole 95 % interval lies beyond the limit, and not merely by chance because many
 * figures are judged: even when widened to hold for all of them at once (Bonferroni), the interval excludes
 * zero difference. Same: the whole 95 % interval lies within the tolerance. Everything else is undecided.
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
 * One word for many: one that is worse decides, then one that is better. What cannot be told, as of single nodes,
 * decides only where nothing can be: its number is beside the word.
 */
export function verdictOfAll(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('worse')) return 'worse';
  if (verdicts.includes('better')) return 'better';
  return verdicts.includes('same') ? 'same' : 'too few samples';
}
