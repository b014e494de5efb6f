import { expect, test } from 'vitest';
import { expectedIterations, scenariosOf } from '../../../../../../harness/run/load/k6/executors.ts';
import { LOAD_PARAMETERS, loadPlan } from '../../../../../../harness/run/load/parameters.ts';
import type { LoadPlan } from '../../../../../../harness/run/load/plan.ts';
import { intendedStartMs } from '../../../../../../scenarios/k6/lib/arrivals.js';

const base = loadPlan(
  Object.fromEntries(
    Object.entries(LOAD_PARAMETERS).map(([name, { default: value }]) => [name, value]),
  ) as never,
  1n,
);
const plan = (more: Partial<LoadPlan>): LoadPlan => ({ ...base, durationMs: 10_000, warmupMs: 0, ...more });

test('a constant rate is one executor, with users ready for five seconds of it', () => {
  expect(scenariosOf(plan({ model: { model: 'open', rate: 20 } }))).toEqual({
    svcnet_load: {
      executor: 'constant-arrival-rate',
      rate: 1200,
      timeUnit: '60s',
      duration: '10000ms',
      preAllocatedVUs: 100,
      maxVUs: 100,
      gracefulStop: '60s',
    },
  });
});

test('a warm-up runs first, in its own scenario', () => {
  const { svcnet_warmup: warmup, svcnet_load: load } = scenariosOf(plan({ warmupMs: 2000, profile: 'ramp' }));
  expect(warmup).toMatchObject({ executor: 'constant-arrival-rate', rate: 60, duration: '2000ms' });
  expect(load).toMatchObject({
    startTime: '2000ms',
    startRate: 60,
    stages: [{ duration: '10000ms', target: 600 }],
  });
});

test('a spike rises at once and falls back', () => {
  const { svcnet_load: load } = scenariosOf(plan({ profile: 'spike', model: { model: 'open', rate: 100 } }));
  expect(load?.['stages']).toEqual([
    { duration: '4000ms', target: 600 },
    { duration: '0ms', target: 6000 },
    { duration: '2000ms', target: 6000 },
    { duration: '0ms', target: 600 },
    { duration: '4000ms', target: 600 },
  ]);
});

test('closed models have users instead of rates', () => {
  const model = { model: 'closed', vus: 10 } as const;
  expect(scenariosOf(plan({ model }))['svcnet_load']).toMatchObject({ executor: 'constant-vus', vus: 10 });
  expect(scenariosOf(plan({ model, profile: 'ramp' }))['svcnet_load']).toMatchObject({
    executor: 'ramping-vus',
    startVUs: 1,
    stages: [{ duration: '10000ms', target: 10 }],
  });
});

test.each(['constant', 'ramp', 'spike', 'soak'] as const)(
  'as many iterations of %s are expected as k6 starts',
  (profile) => {
    const shaped = plan({ profile, model: { model: 'open', rate: 20 } });
    const { svcnet_load: load } = scenariosOf(shaped);
    let started = 0;
    while (started < 1000 && (intendedStartMs(load as never, started) ?? 0) < 10_000) started++;
    const { measured, warmup } = expectedIterations(shaped);
    expect(warmup).toBe(0);
    expect(Math.abs(measured - started)).toBeLessThanOrEqual(2);
  },
);
