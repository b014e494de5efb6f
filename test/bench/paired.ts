import { crossoverMean, TRIMMED } from '../../harness/report/compare/statistics.ts';
import type { BenchResult } from './result.ts';

export interface PairRatio {
  readonly ratio: number;
  /** The pair began with the other one. */
  readonly turned: boolean;
}

/** Geometric mean with its 95 % interval, percent, without what coming second costs. */
export function paired(what: string, pairs: readonly PairRatio[]): BenchResult[] {
  const { value, interval } = crossoverMean(
    pairs.map(({ ratio }) => Math.log(ratio)),
    pairs.map(({ turned }) => turned),
    TRIMMED,
  );
  const [low, high] = interval(0.95);
  return [
    [what, value],
    [`${what}, at least`, low],
    [`${what}, at most`, high],
  ].map(([name, log]) => ({ name: name as string, value: Math.exp(log as number) * 100, unit: '%' }));
}
