/**
 * The rate is doubled until the objective fails, then the gap is halved. Near the limit the best of three decides, so that
 * single disturbances do not lower the result.
 */

/** `generator`: k6 was the limit; the cluster's is unknown. */
export type StepOutcome = 'holds' | 'fails' | 'generator';

/** A load of the search, and its outcome. */
export interface LimitStep {
  readonly rate: number;
  readonly outcome: StepOutcome;
  readonly stage: 'double' | 'halve' | 'bisect' | 'confirm';
}

/** The highest rate that holds, in operations per second, and how the search ended. */
export interface Limit {
  readonly rate: number | undefined;
  readonly failedRate: number | undefined;
  /** `found`: confirmed. `generator`: k6 could not make more. `none`: not even the lowest. `open`: the highest held. */
  readonly end: 'found' | 'generator' | 'none' | 'open';
  readonly steps: readonly LimitStep[];
}

export interface LimitRange {
  readonly first: number;
  readonly min: number;
  readonly max: number;
}

/** Rates as far apart as this are the same limit. */
const PRECISION = 1.1;
const DECISIVE = 2;

export async function findLimit(
  { first, min, max }: LimitRange,
  load: (rate: number, stage: LimitStep['stage']) => Promise<StepOutcome>,
): Promise<Limit> {
  const steps: LimitStep[] = [];
  const bounds: { held?: number | undefined; failed?: number | undefined } = {};
  const count = (rate: number, outcome: StepOutcome) =>
    steps.filter((step) => step.rate === rate && step.outcome === outcome).length;
  const tried = async (rate: number, stage: LimitStep['stage'], enough = DECISIVE): Promise<StepOutcome> => {
    while (count(rate, 'fails') < DECISIVE) {
      if (count(rate, 'holds') >= enough) {
        bounds.held = rate;
        return 'holds';
      }
      const outcome = await load(rate, stage);
      steps.push({ rate, outcome, stage });
      if (outcome === 'generator') return outcome;
    }
    bounds.failed = rate;
    return 'fails';
  };
  const ended = (end: Limit['end']): Limit => ({
    // After a rate that could not be confirmed, the next lower one may not have been tried yet.
    rate: bounds.held !== undefined && count(bounds.held, 'holds') > 0 ? bounds.held : undefined,
    failedRate: bounds.failed,
    end,
    steps,
  });

  for (let rate = first; bounds.failed === undefined; rate = Math.min(max, rate * 2)) {
    if ((await tried(rate, 'double', 1)) === 'generator') return ended('generator');
    if (rate >= max && bounds.failed === undefined) return ended('open');
  }
  for (let rate = bounds.failed / 2; bounds.held === undefined; rate /= 2) {
    if (rate < min) return ended('none');
    if ((await tried(rate, 'halve', 1)) === 'generator') return ended('generator');
  }
  for (;;) {
    while (bounds.failed / bounds.held > PRECISION) {
      // Geometric: as many steps from 10 to 20 as from 100 to 200.
      const middle = Math.sqrt(bounds.failed * bounds.held);
      if ((await tried(middle, 'bisect')) === 'generator') return ended('generator');
    }
    const confirmed = await tried(bounds.held, 'confirm');
    if (confirmed === 'holds') return ended('found');
    if (confirmed === 'generator') return ended('generator');
    bounds.held /= PRECISION;
    if (bounds.held < min) {
      delete bounds.held;
      return ended('none');
    }
  }
}
