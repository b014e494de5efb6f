import { formatMs, grouped } from '../format.ts';

const KNOWN_AFTER_MS = 1500;

/** The part of a step that is done. */
export interface StepProgress {
  readonly done: number;
  readonly total: number;
  /** Such as `chunks`. */
  readonly unit: string;
  /** When `done` last changed, ms since the step's beginning. */
  readonly atMs: number;
}

/** `1,234 of 18,944 chunks, 2,310/s, 7.7 s left`, as known; the estimate only falls while nothing is done. */
export function paceText({ done, total, unit, atMs }: StepProgress, elapsedMs: number): string {
  const counts = `${grouped(done)} of ${grouped(total)} ${unit}`;
  if (done === 0 || done >= total || atMs < KNOWN_AFTER_MS) return counts;
  const leftMs = ((total - done) * atMs) / done - (elapsedMs - atMs);
  return `${counts}, ${rateText((done * 1000) / atMs)}${leftMs > 0 ? `, ${formatMs(leftMs)} left` : ''}`;
}

function rateText(perSecond: number): string {
  if (perSecond < 1) return `${(perSecond * 60).toFixed(1)}/min`;
  return `${perSecond >= 100 ? grouped(Math.round(perSecond)) : perSecond.toFixed(1)}/s`;
}
