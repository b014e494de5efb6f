import { crossoverMean, TRIMMED } from '../../harness/report/compare/statistics.ts';
import type { BenchResult } from './result.ts';

/** One pair of turns: what one cost, of the other. */
export interface PairRatio {
  readonly ratio: number;
  /** The pair began with the other one. */
  readonly turned: boolean;
}

/** Geometric mean of the ratios with its 95 % interval, percent; what coming second costs is taken out. */
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
