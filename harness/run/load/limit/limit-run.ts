import { join } from 'node:path';
import { HarnessError } from '../../../base/errors.ts';
import { until } from '../../../base/wait.ts';
import type { Cluster } from '../../../cluster/cluster.ts';
import { runLoadStep } from '../load-run.ts';
import type { LoadOptions, LoadPlan, LoadStep, PreparedLoad } from '../plan.ts';
import { prepareLoad } from '../prepare.ts';
import type { Threshold } from '../thresholds.ts';
import { generatorOf, type Limiter, type LoadObservation, limitersOf, othersOf } from './limiter.ts';
import { busyNodes, observationBetween, sampleOf } from './observation.ts';
import { findLimit, type Limit, type LimitStep, type StepOutcome } from './search.ts';

const STEP_MIN_MS = 5000;
const REST_SAMPLE_MS = 500;
const REST_TIMEOUT_MS = 120_000;
/** So that the percentile does not depend on a single sample. */
const SAMPLES_ABOVE = 5;
const PERCENT_DEFAULT = 95;
const RATE_MIN = 1;
const RATE_MAX = 10_000;
/** Repeated loads: other programs used the machine. */
const DISTURBED_MAX = 6;
/** A rate that k6 could not sustain does not hold. */
const DROPPED_SHARE_MAX = 0.01;

/** A load, and how to look for its uploads. */
export interface LimitLoad {
  readonly plan: LoadPlan;
  readonly prepared: PreparedLoad;
  readonly load: LoadStep;
  readonly stage: LimitStep['stage'];
  /** `disturbed`: other programs used the machine, so the load was repeated. */
  readonly outcome: StepOutcome | 'disturbed';
}

/** The highest rate that holds, what limits it, and every load of the search. */
export interface LimitResult {
  readonly limit: Limit;
  readonly limiters: readonly Limiter[];
  readonly loads: readonly LimitLoad[];
}

/** Options of the search for the highest rate. */
export interface LimitOptions extends Pick<LoadOptions, 'signal' | 'folder' | 'k6'> {
  readonly around: (
    title: string,
    work: (onProgress: NonNullable<LoadOptions['onProgress']>) => Promise<LimitLoad>,
  ) => Promise<LimitLoad>;
}

/**
 * @param plan its rate begins the search, its thresholds are the objective
 * @throws HarnessError as `runLoadStep`, and `LOAD_FAILED` without metrics
 */
export async function runLimit(
  cluster: Cluster,
  plan: LoadPlan,
  { signal, folder, k6, around }: LimitOptions,
): Promise<LimitResult> {
  await checkMeasurable(cluster);
  const loads: LimitLoad[] = [];
  const limitersAt = new Map<number, readonly Limiter[]>();
  const first = plan.model.model === 'open' ? plan.model.rate : RATE_MIN;
  let disturbances = 0;
  const loadAt = async (rate: number, stage: LimitStep['stage']): Promise<LimitLoad> => {
    const rounded = Math.round(rate * 60) / 60;
    const step: LoadPlan = {
      ...plan,
      profile: 'constant',
      model: { model: 'open', rate: rounded },
      durationMs: stepMs(rounded, plan.thresholds),
      label: `limit-${loads.length}`,
    };
    return await around(`${rounded.toFixed(1)}/s`, async (onProgress) => {
      await atRest(cluster, signal);
      const prepared = await prepareLoad(cluster, step, { signal });
      const before = await sampleOf(cluster);
      const load = await runLoadStep(cluster, step, {
        signal,
        folder: join(folder, step.label),
        prepared,
        planned: true,
        onProgress,
        k6,
      });
      const after = await sampleOf(cluster);
      const observation = await observationBetween(cluster, {
        before,
        after,
        loadMs: load.endMs - load.startMs + step.warmupMs,
        k6Cores: load.k6Cpu,
      });
      const outcome = outcomeOf(load, observation, disturbances < DISTURBED_MAX);
      if (outcome !== 'holds') limitersAt.set(rate, limitersOf(observation));
      return { plan: step, prepared, load, stage, outcome };
    });
  };
  const limit = await findLimit({ first, min: RATE_MIN, max: RATE_MAX }, async (rate, stage) => {
    for (;;) {
      const done = await loadAt(rate, stage);
      loads.push(done);
      if (done.outcome !== 'disturbed') return done.outcome;
      disturbances++;
    }
  });
  const decisive = limit.end === 'generator' ? limit.steps.at(-1)?.rate : limit.failedRate;
  return { limit, limiters: (decisive === undefined ? undefined : limitersAt.get(decisive)) ?? [], loads };
}

/** Nodes' metrics say when one is at rest and what limits it. @throws HarnessError `LOAD_FAILED` */
async function checkMeasurable(cluster: Cluster): Promise<void> {
  const { nodes } = await sampleOf(cluster);
  const silent = [...nodes].filter(([, { counters }]) => counters === undefined).map(([name]) => name);
  if (silent.length === 0) return;
  throw new HarnessError(
    'LOAD_FAILED',
    `--find-limit reads the metrics of all nodes, and there are none of ${silent.join(', ')}`,
    {
      hint: 'svcnet metrics says why. Of an attached network, `debug` in its file names where a node has them.',
    },
  );
}

/** Overloaded nodes keep working, and the next load would measure the one before. */
async function atRest(cluster: Cluster, signal: AbortSignal): Promise<void> {
  let before = await sampleOf(cluster);
  await until(
    'the nodes are not at rest after a load',
    async () => {
      await cluster.clock.sleep(REST_SAMPLE_MS, signal);
      const now = await sampleOf(cluster);
      const busy = busyNodes(before, now);
      before = now;
      return busy.length === 0 ? { done: true } : { missing: `${busy.join(', ')} still at work` };
    },
    { clock: cluster.clock, timeoutMs: REST_TIMEOUT_MS, signal },
  );
}

/** Long enough for the percentile that the objective names. */
export function stepMs(rate: number, thresholds: readonly Threshold[]): number {
  const percents = thresholds.flatMap(({ figure }) =>
    typeof figure === 'object' ? figure.percentile : PERCENT_DEFAULT,
  );
  const highest = Math.max(PERCENT_DEFAULT, ...percents);
  const samples = (SAMPLES_ABOVE * 100) / (100 - highest);
  return Math.max(STEP_MIN_MS, Math.ceil((1000 * samples) / rate));
}

export function metObjective({
  thresholds,
  dropped,
  operations,
  startedRate,
  startMs,
  endMs,
  exceptions,
  markedFailed,
}: LoadStep): boolean {
  const started = (startedRate * Math.max(0, endMs - startMs)) / 1000;
  const kept = dropped <= DROPPED_SHARE_MAX * Math.max(1, started + dropped);
  const sound = exceptions.count === 0 && !markedFailed;
  return kept && sound && operations.length > 0 && thresholds.every(({ passed }) => passed);
}

export function outcomeOf(
  load: LoadStep,
  observation: LoadObservation,
  mayRepeat: boolean,
): LimitLoad['outcome'] {
  if (metObjective(load)) return 'holds';
  if (generatorOf(observation) !== undefined) return 'generator';
  return mayRepeat && othersOf(observation) !== undefined ? 'disturbed' : 'fails';
}

/** In one line. */
export function limitText({ limit, limiters }: Pick<LimitResult, 'limit' | 'limiters'>): string {
  const { rate, failedRate, end } = limit;
  const perSecond = (value: number | undefined) => `${(value ?? 0).toFixed(1)}/s`;
  const why =
    limiters.length === 0
      ? 'nothing that was measured stood out'
      : limiters.map(({ text }) => text).join('; ');
  switch (end) {
    case 'found':
      return `${perSecond(rate)} holds, ${perSecond(failedRate)} does not; limited by ${why}`;
    case 'none':
      return `not even ${perSecond(failedRate)} holds; limited by ${why}`;
    case 'open':
      return `${perSecond(rate)} holds, which is the highest rate that is tried`;
    case 'generator':
      return `no limit of the cluster: ${why}${rate === undefined ? '' : `; ${perSecond(rate)} still held`}`;
  }
}
