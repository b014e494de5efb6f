/**
 * The highest rate at which an objective holds: the rate is doubled until it does not hold, then the gap is halved, and what
 * is found must hold twice more. A rate fails only when it has failed twice in a row: a machine that paused for a moment
 * must not decide.
 */

/** What a load at one rate has shown. `generator`: k6 was the bottleneck, and nothing is known of the cluster. */
export type StepOutcome = 'holds' | 'fails' | 'generator';

export interface LimitStep {
  /** Iterations per second. */
  readonly rate: number;
  readonly outcome: StepOutcome;
  /** Part of the search that it belongs to. */
  readonly stage: 'double' | 'halve' | 'bisect' | 'confirm';
}

export interface Limit {
  /** Highest rate that held; undefined when none did. */
  readonly rate: number | undefined;
  /** Lowest rate that failed; undefined when none did. */
  readonly failedRate: number | undefined;
  /** `found`: confirmed. `generator`: k6 could not make more. `none`: not even the lowest rate held. `open`: the highest held. */
  readonly end: 'found' | 'generator' | 'none' | 'open';
  readonly steps: readonly LimitStep[];
}

export interface LimitRange {
  /** Where the search begins. */
  readonly first: number;
  readonly min: number;
  readonly max: number;
}

/** Rates as far apart as this are the same limit. */
const PRECISION = 1.1;
/** Loads at the rate that was found, which must all hold. */
const CONFIRMATIONS = 2;

/** @param load puts a load of that rate on the cluster */
export async function findLimit(
  { first, min, max }: LimitRange,
  load: (rate: number, stage: LimitStep['stage']) => Promise<StepOutcome>,
): Promise<Limit> {
  const steps: LimitStep[] = [];
  const known: { held?: number | undefined; failed?: number | undefined } = {};
  const once = async (rate: number, stage: LimitStep['stage']): Promise<StepOutcome> => {
    const outcome = await load(rate, stage);
    steps.push({ rate, outcome, stage });
    return outcome;
  };
  const tried = async (rate: number, stage: LimitStep['stage']): Promise<StepOutcome> => {
    const outcome = await once(rate, stage);
    const final = outcome === 'fails' ? await once(rate, stage) : outcome;
    if (final === 'holds') known.held = rate;
    if (final === 'fails') known.failed = rate;
    return final;
  };
  const ended = (end: Limit['end']): Limit => ({
    rate: known.held,
    failedRate: known.failed,
    end,
    steps,
  });

  for (let rate = first; known.failed === undefined; rate = Math.min(max, rate * 2)) {
    if ((await tried(rate, 'double')) === 'generator') return ended('generator');
    if (rate >= max && known.failed === undefined) return ended('open');
  }
  for (let rate = known.failed / 2; known.held === undefined; rate /= 2) {
    if (rate < min) return ended('none');
    if ((await tried(rate, 'halve')) === 'generator') return ended('generator');
  }
  for (;;) {
    while (known.failed / known.held > PRECISION) {
      // Half-way of the ratio: as many steps from 10 to 20 as from 100 to 200.
      const middle = Math.sqrt(known.failed * known.held);
      if ((await tried(middle, 'bisect')) === 'generator') return ended('generator');
    }
    let confirmed = 0;
    while (confirmed < CONFIRMATIONS && (await once(known.held, 'confirm')) === 'holds') confirmed++;
    if (confirmed === CONFIRMATIONS) return ended('found');
    if (steps.at(-1)?.outcome === 'generator') return ended('generator');
    known.failed = known.held;
    known.held /= PRECISION;
    if (known.held < min) {
      delete known.held;
      return ended('none');
    }
  }
}
