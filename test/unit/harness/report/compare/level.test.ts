/**
 * How often a comparison is wrong, by thousands of made-up figures: repeats take turns on a machine that drifts, favours
 * whatever comes first, and disturbs a run now and then; noise with heavy tails, more of it in high percentiles.
 */
import { expect, test } from 'vitest';
import { estimateOf } from '../../../../../harness/report/compare/estimate.ts';
import type { FigureKey } from '../../../../../harness/report/compare/figures.ts';
import { judge, TOLERANCE_DEFAULT, type Verdict } from '../../../../../harness/report/compare/verdict.ts';

/** Of five nodes: throughput, p50, p90, p99. */
const NOISE = [0.02, 0.02, 0.05, 0.1];
const FIGURES = 20;
const ORDER = 0.1;
const DISTURBED = 0.03;
const TRIALS = 400;
const KEY: FigureKey = { scenario: 'made', what: 'push', figure: 'p50', unit: 'ms', better: 'lower' };

function compared(rounds: number, effect: number, draw: Draws): Verdict[] {
  const turned = Array.from({ length: rounds }, (_, round) => round % 2 === 1);
  const weather = turned.map((_, round) => 0.05 * round + 0.3 * draw.heavy());
  const disturbed = () => turned.map(() => (draw.uniform() < DISTURBED ? Math.log(1.5) : 0));
  const [baseDisturbed, otherDisturbed] = [disturbed(), disturbed()];
  return Array.from({ length: FIGURES }, (_, figure) => {
    const noise = NOISE[figure % NOISE.length] as number;
    const reading = (log: number) => ({ value: 50 * Math.exp(log + noise * draw.heavy()) });
    const base = turned.map((isTurned, i) =>
      reading((weather[i] as number) + (baseDisturbed[i] as number) + (isTurned ? ORDER : 0)),
    );
    const other = turned.map((isTurned, i) =>
      reading(
        (weather[i] as number) +
          (otherDisturbed[i] as number) +
          (isTurned ? 0 : ORDER) +
          (figure < NOISE.length ? effect : 0),
      ),
    );
    const limit = Math.log1p(TOLERANCE_DEFAULT);
    const estimate = estimateOf(KEY, { base, other, turned });
    return judge(estimate, { tolerance: limit, beyond: limit, better: 'lower', figures: FIGURES });
  });
}

test.each([4, 6, 12])(
  'when a thing is compared with itself in %d rounds, at most one comparison in twenty sees a difference in any figure',
  (rounds) => {
    const draw = new Draws(rounds);
    const wrong = Array.from({ length: TRIALS }, () => compared(rounds, 0, draw)).filter(
      (verdicts) => verdicts.includes('worse') || verdicts.includes('better'),
    );
    expect(wrong.length / TRIALS).toBeLessThanOrEqual(0.05);
  },
);

test('a slowdown by a fifth on one node is found nine times out of ten in twelve rounds, and on no other node', () => {
  const draw = new Draws(99);
  const trials = Array.from({ length: TRIALS }, () => compared(12, Math.log(1.2), draw));
  const found = trials.filter(([throughput, p50]) => throughput === 'worse' || p50 === 'worse');
  const elsewhere = trials.filter((verdicts) => verdicts.slice(NOISE.length).some((one) => one === 'worse'));
  expect(found.length / TRIALS).toBeGreaterThanOrEqual(0.9);
  expect(elsewhere.length / TRIALS).toBeLessThanOrEqual(0.05);
});

/** Draws that follow from a seed. */
class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  uniform(): number {
    this.#state = (this.#state * 48_271) % 0x7fffffff;
    return this.#state / 0x7fffffff;
  }

  /** Student's t, three degrees of freedom, variance 1: one in fifty is beyond three times the usual. */
  heavy(): number {
    const spread = Math.hypot(this.#normal(), this.#normal(), this.#normal());
    return this.#normal() / spread;
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}
