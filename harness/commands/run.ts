/** `svcnet run SCENARIO…`: run scenarios on fresh clusters or a running one, once or with several seeds, and report. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, HarnessError, messageOf } from '../base/errors.ts';
import { seedToJson } from '../plan/seed.ts';
import { renderRepeated, renderRun, StepDisplay } from '../report/console.ts';
import type { FailedStart, RepeatedRun, RunResult } from '../report/result.ts';
import { bundledScenarios, loadScenario, scenarioTitle } from '../run/catalogue.ts';
import { checkNodeParameters, driverNameOf } from '../run/run-clusters.ts';
import type { PlannedScenario, RunOptions } from '../run/run-options.ts';
import { planScenarios, runScenarios } from '../run/runner.ts';
import { ParameterError, type Scenario } from '../run/scenario.ts';
import { answer, type CommandContext } from './context.ts';
import { chooseClusters, type RunFlags, repeatCommand } from './run-flags.ts';
import { listScenarios } from './run-list.ts';

const SEED_END = 2n ** 64n;

/** @returns the exit code: success when everything passed or was skipped, else whether a condition was false or a scenario could not run */
export async function run(
  names: readonly string[],
  flags: RunFlags,
  context: CommandContext,
): Promise<number> {
  if (flags.list === true) {
    await listScenarios(context);
    return EXIT.success;
  }
  if (names.length === 0)
    throw new HarnessError('USAGE', `name at least one scenario (known: ${bundledScenarios().join(', ')})`);
  const scenarios = await Promise.all(names.map(loadScenario));
  return runPlanned(
    {
      planned: plan(scenarios, flags.set),
      title: names.map(scenarioTitle).join('-'),
      command: (seed) => repeatCommand(names, flags, seed),
    },
    flags,
    context,
  );
}

/** What is run, and how it is called. */
export interface PlannedRun {
  readonly planned: readonly PlannedScenario[];
  readonly title: string;
  /** Repeats the run with that seed. */
  readonly command: (seed: bigint) => string;
}

/** @returns the exit code, as `run` */
export async function runPlanned(
  { planned, title, command }: PlannedRun,
  flags: RunFlags,
  context: CommandContext,
): Promise<number> {
  const {
    seed,
    options: clusters,
    where,
  } = await chooseClusters(
    flags,
    planned.map(({ scenario }) => scenario),
  );
  const startedAt = new Date().toISOString().replaceAll(':', '-').slice(0, 19);
  const display = context.json ? undefined : new StepDisplay(context.style, context.out);
  /** @param folder default: one among those of all runs */
  const optionsOf = (runSeed: bigint, folder?: string): RunOptions => {
    const name = `${startedAt}-${title}-${runSeed}`;
    return {
      ...clusters,
      planned,
      seed: runSeed,
      stateDir: context.stateDir,
      report: resolve(folder ?? join(context.stateDir, 'runs', name)),
      name,
      command: command(runSeed),
      signal: context.signal,
      ...(flags.metricsPort === undefined ? {} : { metricsPort: flags.metricsPort }),
      ...(display === undefined ? {} : { display }),
    };
  };
  checkNodeParameters(optionsOf(seed));
  const once = (options: RunOptions): Promise<RunResult> => {
    const header = `${where} · ${driverNameOf(options)} driver · seed ${options.seed}`;
    if (!context.json) context.out(`\n  svcnet ${title}   ${header}\n\n`);
    return runScenarios(options);
  };
  if (flags.repeat === undefined) {
    const result = await once(optionsOf(seed, flags.report));
    answer(context, result, renderRun(result, context.style).split('\n'));
    return exitCodeOf(result);
  }
  const folder = resolve(
    flags.report ?? join(context.stateDir, 'runs', `${startedAt}-${title}-${seed}-${flags.repeat}-times`),
  );
  const runs: (RunResult | FailedStart)[] = [];
  for (const runSeed of seedsFrom(seed, flags.repeat)) {
    const result = await runOrFailure(runSeed, () =>
      once(optionsOf(runSeed, join(folder, `seed-${runSeed}`))),
    );
    runs.push(result);
    if (!context.json)
      context.out('scenarios' in result ? renderRun(result, context.style) : `${result.error}\n`);
  }
  const failedSeeds = runs.filter(({ passed }) => !passed).map((result) => result.seed);
  const repeated: RepeatedRun = { passed: failedSeeds.length === 0, failedSeeds, runs };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'repeat.json'), `${JSON.stringify(repeated, undefined, 2)}\n`);
  answer(context, repeated, renderRepeated(repeated, context.style).split('\n'));
  return repeated.passed ? EXIT.success : EXIT.checkFailed;
}

/** @throws HarnessError `USAGE` when there are not as many */
function seedsFrom(first: bigint, count: number): bigint[] {
  if (first + BigInt(count) > SEED_END) {
    throw new HarnessError(
      'USAGE',
      `--repeat: got ${count} from seed ${first}, expected the last seed to be below 2^64`,
    );
  }
  return Array.from({ length: count }, (_, index) => first + BigInt(index));
}

/** A cluster that does not start with one seed is a finding, and the other seeds are still to be tried. */
async function runOrFailure(seed: bigint, work: () => Promise<RunResult>): Promise<RunResult | FailedStart> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code === 'INTERRUPTED') throw error;
    return { seed: seedToJson(seed), passed: false, error: messageOf(error) };
  }
}

/** That of a breached threshold only when nothing else has failed. */
export function exitCodeOf({ passed, scenarios }: Pick<RunResult, 'passed' | 'scenarios'>): number {
  if (passed) return EXIT.success;
  if (!scenarios.some(({ result }) => result === 'failed')) return EXIT.usage;
  const failed = scenarios.flatMap(({ assertions }) => assertions.filter((assertion) => !assertion.passed));
  const onlyThresholds = failed.every(({ threshold }) => threshold === true);
  return onlyThresholds && scenarios.every(({ result }) => result !== 'error')
    ? EXIT.thresholdBreached
    : EXIT.checkFailed;
}

/** A parameter that is not one is a mistake of usage. @throws HarnessError `USAGE` */
export function plan(scenarios: readonly Scenario[], sets: readonly string[]): PlannedScenario[] {
  try {
    return planScenarios(scenarios, parameters(sets));
  } catch (error) {
    if (error instanceof ParameterError)
      throw new HarnessError('USAGE', `--set: ${error.message}`, { cause: error });
    throw error;
  }
}

function parameters(sets: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    sets.map((text) => {
      const equals = text.indexOf('=');
      if (equals < 1) throw new HarnessError('USAGE', `--set: got '${text}', expected name=value`);
      return [text.slice(0, equals), text.slice(equals + 1)] as const;
    }),
  );
}
