import { formatMs, grouped } from '../format.ts';

const KNOWN_AFTER_MS = 1500;

/** The part of a step that is done. */
export interface StepProgress {
  readonly done: number;
  readonly total: number;
  /** Such as `chunks`. */
  readonly unit: string;
}

/** `1,234 of 18,944 chunks, 2,310/s, 7.7 s left`, as known. */
export function paceText({ done, total, unit }: StepProgress, elapsedMs: number): string {
  const counts = `${grouped(done)} of ${grouped(total)} ${unit}`;
  if (done === 0 || done >= total || elapsedMs < KNOWN_AFTER_MS) return counts;
  const perSecond = (done * 1000) / elapsedMs;
  return `${counts}, ${rateText(perSecond)}/s, ${formatMs(((total - done) * 1000) / perSecond)} left`;
}

function rateText(perSecond: number): string {
  return perSecond >= 100 ? grouped(Math.round(perSecond)) : perSecond.toFixed(1);
}
