import type { LoadPlan } from '../plan.ts';

/** The scenario of k6 that is measured. No script has one by this name. */
export const MEASURED = 'svcnet_load';
export const WARMUP = 'svcnet_warmup';

/** `ramp` and `spike` begin with this part of their rate or number. */
const BASE_SHARE = 0.1;
const SPIKE_REST_SHARE = 0.4;
/** `soak` rises to its rate in this part of its time. */
const SOAK_RISE_SHARE = 0.1;
/** k6 takes whole numbers as rates: per minute they are fine enough. */
const UNIT_S = 60;
/** An iteration under way at the end may still end well. */
const GRACE = '60s';
/** Kept ready: as many as iterations start in the five seconds that a stalled node may take. */
const USERS_PER_RATE = 5;
const USERS = { min: 20, max: 1000 } as const;

type K6Scenario = Readonly<Record<string, unknown>> & { readonly executor: string };
interface Stage {
  readonly ms: number;
  readonly share: number;
}
interface Shape {
  readonly share: number;
  readonly stages: readonly Stage[];
}

function shapeOf({ profile, durationMs: ms }: LoadPlan): Shape {
  switch (profile) {
    case 'constant':
      return { share: 1, stages: [{ ms, share: 1 }] };
    case 'ramp':
      return { share: BASE_SHARE, stages: [{ ms, share: 1 }] };
    case 'spike': {
      const rest = Math.round(ms * SPIKE_REST_SHARE);
      return {
        share: BASE_SHARE,
        stages: [
          { ms: rest, share: BASE_SHARE },
          { ms: 0, share: 1 },
          { ms: ms - 2 * rest, share: 1 },
          { ms: 0, share: BASE_SHARE },
          { ms: rest, share: BASE_SHARE },
        ],
      };
    }
    case 'soak': {
      const rise = Math.round(ms * SOAK_RISE_SHARE);
      return {
        share: BASE_SHARE,
        stages: [
          { ms: rise, share: 1 },
          { ms: ms - rise, share: 1 },
        ],
      };
    }
  }
}

export function scenariosOf(plan: LoadPlan): Readonly<Record<string, K6Scenario>> {
  const shape = shapeOf(plan);
  const measured = { ...executorOf(plan, shape), gracefulStop: GRACE };
  if (plan.warmupMs === 0) return { [MEASURED]: measured };
  const flat = { share: shape.share, stages: [{ ms: plan.warmupMs, share: shape.share }] };
  return {
    [WARMUP]: { ...executorOf(plan, flat), gracefulStop: GRACE },
    [MEASURED]: { ...measured, startTime: `${plan.warmupMs}ms` },
  };
}

function executorOf({ model }: LoadPlan, { share, stages }: Shape): K6Scenario {
  const [first] = stages;
  const isFlat = stages.length === 1 && first !== undefined && first.share === share;
  if (model.model === 'closed') {
    const users = (part: number) => Math.max(1, Math.round(model.vus * part));
    if (isFlat) return { executor: 'constant-vus', vus: users(share), duration: `${first.ms}ms` };
    return {
      executor: 'ramping-vus',
      startVUs: users(share),
      stages: stages.map((stage) => ({ duration: `${stage.ms}ms`, target: users(stage.share) })),
      gracefulRampDown: GRACE,
    };
  }
  const perUnit = (part: number) => Math.max(1, Math.round(model.rate * part * UNIT_S));
  const peak = Math.max(share, ...stages.map((stage) => stage.share)) * model.rate;
  const ready = Math.min(USERS.max, Math.max(USERS.min, Math.ceil(peak * USERS_PER_RATE)));
  const users = { timeUnit: `${UNIT_S}s`, preAllocatedVUs: ready, maxVUs: ready };
  if (isFlat) {
    return { executor: 'constant-arrival-rate', rate: perUnit(share), duration: `${first.ms}ms`, ...users };
  }
  return {
    executor: 'ramping-arrival-rate',
    startRate: perUnit(share),
    stages: stages.map((stage) => ({ duration: `${stage.ms}ms`, target: perUnit(stage.share) })),
    ...users,
  };
}

/** For a closed model: a user of a network on one machine does no more. */
const ITERATIONS_PER_USER_S = 20;

/** At most this many iterations start. */
export function expectedIterations(plan: LoadPlan): { readonly warmup: number; readonly measured: number } {
  const { model } = plan;
  const { share, stages } = shapeOf(plan);
  const perSecond = model.model === 'open' ? model.rate : model.vus * ITERATIONS_PER_USER_S;
  let area = 0;
  let before = share;
  for (const stage of stages) {
    area += ((before + stage.share) / 2) * stage.ms;
    before = stage.share;
  }
  const count = (shareMs: number) => Math.ceil((shareMs / 1000) * perSecond) + 1;
  return { warmup: plan.warmupMs === 0 ? 0 : count(share * plan.warmupMs), measured: count(area) };
}
