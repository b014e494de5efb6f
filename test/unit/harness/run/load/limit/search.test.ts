import { expect, test } from 'vitest';
import { findLimit, type StepOutcome } from '../../../../../../harness/run/load/limit/search.ts';

const RANGE = { first: 10, min: 1, max: 1000 } as const;

const upTo =
  (capacity: number) =>
  (rate: number): Promise<StepOutcome> =>
    Promise.resolve(rate <= capacity ? 'holds' : 'fails');

test.each([1.5, 9, 10, 43, 333])(
  'a capacity of %d is found to within a tenth, and confirmed twice',
  async (capacity) => {
    const { rate, failedRate, end, steps } = await findLimit(RANGE, upTo(capacity));
    expect(end).toBe('found');
    expect(rate).toBeLessThanOrEqual(capacity);
    expect(failedRate).toBeGreaterThan(capacity);
    expect((failedRate as number) / (rate as number)).toBeLessThanOrEqual(1.1);
    expect(steps.filter((step) => step.rate === rate && step.outcome === 'holds')).toHaveLength(2);
  },
);

test('the rate is doubled first, then the interval is halved', async () => {
  const { steps } = await findLimit(RANGE, upTo(43));
  expect(steps.slice(0, 5).map(({ rate, stage }) => [Math.round(rate), stage])).toEqual([
    [10, 'double'],
    [20, 'double'],
    [40, 'double'],
    [80, 'double'],
    [80, 'double'],
  ]);
});

test('one failure at a sustainable rate does not decide', async () => {
  let disturbed = false;
  const { rate } = await findLimit(RANGE, (at) => {
    if (at !== 20 || disturbed) return upTo(43)(at);
    disturbed = true;
    return Promise.resolve('fails');
  });
  expect(rate).toBeGreaterThan(38);
});

test('a rate that is not confirmed is replaced by a lower one', async () => {
  const seen = new Map<number, number>();
  const { rate, end } = await findLimit(RANGE, (at) => {
    const times = (seen.get(at) ?? 0) + 1;
    seen.set(at, times);
    // Above 36 only the first load of each rate holds.
    return Promise.resolve(at <= 36 || (at <= 43 && times === 1) ? 'holds' : 'fails');
  });
  expect(end).toBe('found');
  expect(rate).toBeLessThanOrEqual(36);
  expect(rate).toBeGreaterThan(30);
});

test('a rate that was never tried is not reported as held', async () => {
  const seen = new Map<number, number>();
  const { rate, end, steps } = await findLimit(RANGE, (at) => {
    const times = (seen.get(at) ?? 0) + 1;
    seen.set(at, times);
    // 10 holds once and is refuted; k6 cannot make the rate below.
    if (at < 10) return Promise.resolve('generator');
    return Promise.resolve(at === 10 && times === 1 ? 'holds' : 'fails');
  });
  expect(end).toBe('generator');
  expect(steps.at(-1)?.rate).toBeLessThan(10);
  expect(rate).toBeUndefined();
});

test('two searches of a capacity that varies by a tenth agree to within a fifth, without bias to either side', async () => {
  const random = congruential(5);
  const rates: number[] = [];
  for (let search = 0; search < 600; search++) {
    const { rate = 0 } = await findLimit(RANGE, (at) =>
      Promise.resolve(at <= 40 * Math.exp(0.1 * normal(random)) ? 'holds' : 'fails'),
    );
    rates.push(rate);
  }
  const apart = rates.filter(
    (rate, i) => i % 2 === 0 && Math.abs(Math.log(rate / (rates[i + 1] ?? 0))) > Math.log(1.2),
  );
  expect(apart.length / (rates.length / 2)).toBeLessThan(0.05);
  const sorted = rates.toSorted((a, b) => a - b);
  // A search ends when a rate a tenth above has failed.
  expect((sorted[rates.length / 2] ?? 0) * Math.sqrt(1.1)).toBeGreaterThan(38);
  expect((sorted[rates.length / 2] ?? 0) * Math.sqrt(1.1)).toBeLessThan(42);
});

test('a load that k6 could not generate ends the search, with what held until then', async () => {
  const found = await findLimit(RANGE, (at) => Promise.resolve(at > 50 ? 'generator' : 'holds'));
  expect(found).toMatchObject({ end: 'generator', rate: 40, failedRate: undefined });
});

test('there is no limit where nothing holds, or where everything does', async () => {
  expect(await findLimit(RANGE, upTo(0.5))).toMatchObject({ end: 'none', rate: undefined });
  expect(await findLimit(RANGE, upTo(5000))).toMatchObject({
    end: 'open',
    rate: 1000,
    failedRate: undefined,
  });
});

/** Numbers from 0 to below 1. */
function congruential(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
