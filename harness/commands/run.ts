import { basename, dirname, join, resolve } from 'node:path';
import { EXIT, HarnessError } from '../base/errors.ts';
import { oneLine } from '../base/foreign-text.ts';
import { markedPath } from '../cluster/state/state-folder.ts';
import { DRIVER_DEFAULT, DRIVER_FACTS } from '../places/facts.ts';
import { renderRun, StepDisplay } from '../report/console.ts';
import { newRunFolder, runMoment } from '../report/new-run-folder.ts';
import type { RunResult } from '../report/result.ts';
import { ScenarioDisplay } from '../report/scenario-display.ts';
import { bundledScenarios, scenarioTitle } from '../run/catalogue.ts';
import { partsOf, runInParallel } from '../run/parallel.ts';
import { differences, readRecipeFile } from '../run/recipe.ts';
import { rerun } from '../run/replay/rerun.ts';
import { expectTrustedRun } from '../run/replay/trust.ts';
import { checkNodeParameters, driverNameOf } from '../run/run-clusters.ts';
import type { PlannedScenario, RunOptions } from '../run/run-options.ts';
import { runScenarios } from '../run/runner.ts';
import type { Chosen } from '../run/suites.ts';
import { vary } from '../run/vary.ts';
import { answer, type CommandContext } from './context.ts';
import { run as takes } from './options/run.ts';
import { repeatFlags, repeatLine } from './repeat-line.ts';
import { reportFolder } from './report-folder.ts';
import { chosenBy, parameters, planChosen } from './run-choice.ts';
import { chooseClusters, freshFlags, lanesOf, type RunFlags } from './run-flags.ts';
import { listScenarios } from './run-list.ts';
import { expectSimulated, openRunPage } from './run-page.ts';
import { runRepeated } from './run-repeated.ts';
import { runSeeds } from './run-seeds.ts';
import { expectRepeatable, runTwice } from './run-twice.ts';

const SEED_END = 2n ** 64n;
/** In a folder's name, of at most 255 bytes. */
const TITLE_MAX = 100;

/** @returns success: all passed or were skipped; else whether a condition failed or a scenario could not run */
export async function run(
  names: readonly string[],
  flags: RunFlags,
  context: CommandContext,
): Promise<number> {
  if (flags.list === true) {
    await listScenarios(await chosenBy(names, flags, context), context);
    return EXIT.success;
  }
  const { suite, tag, checks } = flags;
  if (names.length === 0 && suite === undefined && tag === undefined && checks === undefined)
    throw new HarnessError(
      'USAGE',
      `no scenario given; name scenarios, a suite with --suite or a tag with --tag (known: ${bundledScenarios().join(', ')})`,
    );
  const [first] = names;
  if (first?.endsWith('.json') === true) return runRecipe(names, flags, context);
  const chosen = await chosenBy(names, flags, context);
  if (chosen.length === 0) throw new HarnessError('USAGE', `${checks}: none of its checks can run`);
  const titles = [
    ...names.map(scenarioTitle),
    ...(suite === undefined ? [] : [suite]),
    ...(tag === undefined ? [] : [tag]),
    ...(checks === undefined ? [] : ['checks']),
  ];
  const flagsOf = (seed: bigint) => ({ ...flags, ...variedFlags(seed, chosen, flags), seed });
  return runPlanned(
    {
      planned: planChosen(chosen, flags.set),
      title: titleOf(titles),
      command: (seed) => repeatLine(['run', ...names], takes.options ?? {}, flagsOf(seed)),
      words: (seed) => [
        'run',
        ...names,
        ...repeatFlags(takes.options ?? {}, flagsOf(seed)),
        ...(flags.trust === true ? ['--trust'] : []),
      ],
    },
    flags,
    context,
  );
}

/** `--vary` as flags for this seed: the repeating line needs nothing else. */
function variedFlags(seed: bigint, chosen: readonly Chosen[], flags: RunFlags): Partial<RunFlags> {
  if (flags.vary !== true) return {};
  const { simulated } = DRIVER_FACTS[flags.driver ?? DRIVER_DEFAULT];
  const given = new Set([
    ...Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [name])),
    ...(simulated ? [] : ['network', 'odd']),
    ...parameters(flags.set).keys(),
    ...chosen.flatMap(({ set }) => Object.keys(set)),
  ]);
  const { options, set } = vary(seed, {
    scenarios: chosen.map(({ scenario }) => scenario),
    simulated,
    given,
  });
  return { ...options, set: [...flags.set, ...set] };
}

/** First name and count where all would be too long. */
export function titleOf(names: readonly string[]): string {
  const title = names.join('-');
  if (title.length <= TITLE_MAX) return title;
  const more = names.length > 1 ? `-and-${names.length - 1}-more` : '';
  return `${names[0]?.slice(0, TITLE_MAX - more.length)}${more}`;
}

/**
 * A recipe describes all but name and report folder.
 * @returns as `run` @throws HarnessError `USAGE`, `RUN_INVALID`
 */
async function runRecipe(
  [file, ...others]: readonly string[],
  flags: RunFlags,
  context: CommandContext,
): Promise<number> {
  if (file === undefined || others.length > 0) {
    throw new HarnessError(
      'USAGE',
      `${file} describes a whole run and cannot be combined with other scenarios`,
    );
  }
  const chosen = [
    ...freshFlags(flags),
    ...(flags.suite === undefined ? [] : ['--suite']),
    ...(flags.tag === undefined ? [] : ['--tag']),
    ...(flags.checks === undefined ? [] : ['--checks']),
    ...(flags.set.length > 0 ? ['--set'] : []),
    ...(flags.name === undefined ? [] : ['--name']),
    ...(flags.repeat === undefined ? [] : ['--repeat']),
    ...(flags.untilFailure === undefined ? [] : ['--until-failure']),
    ...(flags.checkDeterminism === undefined ? [] : ['--check-determinism']),
    ...(flags.seeds === undefined ? [] : ['--seeds']),
    ...(flags.parallel === undefined ? [] : ['--parallel']),
    ...(flags.metricsPort === undefined ? [] : ['--metrics-port']),
    ...(flags.ui === true ? ['--ui'] : []),
  ];
  if (chosen.length > 0) {
    throw new HarnessError(
      'USAGE',
      `${chosen.join(' and ')}: not allowed with ${file}, which describes the whole run; edit the file instead`,
    );
  }
  const path = resolve(file);
  const recipe = readRecipeFile(path);
  expectTrustedRun({ folder: dirname(path), recipe, trust: flags.trust });
  const title = titleOf(recipe.scenarios.map(({ name }) => name));
  const seed = flags.seed?.toString() ?? recipe.seed;
  for (const warning of await differences(recipe)) context.note(`  ! ${oneLine(warning)}\n`);
  if (!context.json)
    context.out(`\n${oneLine(`  svcnet ${title}   ${path} · ${recipe.driver} driver · seed ${seed}`)}\n\n`);
  const isWatched = !context.json;
  using scenarios =
    isWatched && recipe.lanes !== undefined
      ? new ScenarioDisplay(recipe.scenarios.length, context.style, context.out)
      : undefined;
  using report = reportFolder(flags.report, () => newFolder(`${runMoment()}-${title}-${seed}`, context));
  const result = await rerun({
    folder: dirname(path),
    recipe: { ...recipe, seed },
    report: report.folder,
    stateDir: context.stateDir,
    signal: context.signal,
    ...(isWatched ? { display: new StepDisplay(context.style, context.out) } : {}),
    onScenario: scenarios && ((news) => scenarios.update(news)),
  });
  answer(context, result, renderRun(result, context.style).split('\n'));
  return exitCodeOf(result);
}

function newFolder(name: string, { stateDir }: CommandContext): string {
  return newRunFolder(markedPath(stateDir, 'runs'), name);
}

export interface PlannedRun {
  readonly planned: readonly PlannedScenario[];
  readonly title: string;
  /** Repeats a seed. */
  readonly command: (seed: bigint) => string;
  readonly words?: (seed: bigint) => readonly string[];
}

/** @returns as `run` */
export async function runPlanned(
  { planned, title, command, words }: PlannedRun,
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
  const startedAt = runMoment();
  const display = context.json ? undefined : new StepDisplay(context.style, context.out);
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
      frames: flags.checkDeterminism === true,
      metricsPort: flags.metricsPort,
      display,
      // JSON has one document: the interruption's.
      ...(context.json ? {} : { onInterrupted: (run) => context.out(`${renderRun(run, context.style)}\n`) }),
    };
  };
  checkNodeParameters(optionsOf(seed));
  if (flags.checkDeterminism === true) expectRepeatable(driverNameOf(optionsOf(seed)));
  if (flags.ui === true) expectSimulated(driverNameOf(optionsOf(seed)));
  const { together } = partsOf(planned);
  const lanes = Math.min(lanesOf(flags), together.length);
  const once = async (options: RunOptions): Promise<RunResult> => {
    const atOnce = lanes > 1 ? ` · ${lanes} clusters at once` : '';
    const header = `${where} · ${driverNameOf(options)} driver · seed ${options.seed}${atOnce}`;
    if (!context.json) context.out(`\n${oneLine(`  svcnet ${title}   ${header}`)}\n\n`);
    if (lanes <= 1) return runScenarios(options);
    const { display: _steps, ...parallel } = options;
    if (context.json) return runInParallel(parallel, lanes);
    using scenarios = new ScenarioDisplay(planned.length, context.style, context.out);
    return await runInParallel({ ...parallel, onScenario: (news) => scenarios.update(news) }, lanes);
  };
  if (flags.untilFailure === true && flags.repeat === undefined)
    throw new HarnessError('USAGE', '--until-failure goes with --repeat, which says how many runs at most');
  if (flags.seeds !== undefined && words !== undefined) {
    const { seeds, jobs, keepGoing, minimise, trust, seedLimit } = flags;
    using report = reportFolder(flags.report, () => newFolder(`${startedAt}-${title}-seeds`, context));
    return await runSeeds(
      {
        ...seeds,
        jobs,
        keepGoing,
        minimise,
        trust,
        limitMs: seedLimit,
        folder: report.folder,
        words,
        command,
      },
      context,
    );
  }
  if (flags.checkDeterminism === true) {
    using report = reportFolder(flags.report, () =>
      newFolder(`${startedAt}-${title}-${seed}-twice`, context),
    );
    const { folder } = report;
    return await runTwice((name) => once(optionsOf(seed, join(folder, name))), context);
  }
  if (flags.repeat === undefined) {
    const options = optionsOf(seed, flags.report);
    using report = reportFolder(flags.report, () => newFolder(options.name, context));
    const name = flags.report === undefined ? basename(report.folder) : options.name;
    await using page = flags.ui === true ? await openRunPage(report.folder, context) : undefined;
    const result = await once({ ...options, report: report.folder, name, watcher: page?.watcher });
    answer(context, result, renderRun(result, context.style).split('\n'));
    return exitCodeOf(result);
  }
  using report = reportFolder(flags.report, () =>
    newFolder(`${startedAt}-${title}-${seed}-${flags.repeat}-times`, context),
  );
  const { folder } = report;
  const repetition = {
    seeds: seedsFrom(seed, flags.repeat),
    folder,
    untilFailure: flags.untilFailure === true,
    once: (runSeed: bigint) => once(optionsOf(runSeed, join(folder, `seed-${runSeed}`))),
  };
  // Until then no other run may write there.
  return await runRepeated(repetition, context);
}

/** @throws HarnessError `USAGE` when too few seeds remain below 2^64 */
function seedsFrom(first: bigint, count: number): bigint[] {
  if (first + BigInt(count) > SEED_END) {
    throw new HarnessError(
      'USAGE',
      `--repeat: got ${count} from seed ${first}, expected the last seed to be below 2^64`,
    );
  }
  return Array.from({ length: count }, (_, index) => first + BigInt(index));
}

/** A failed threshold's code only when nothing else failed. */
export function exitCodeOf({ passed, scenarios }: Pick<RunResult, 'passed' | 'scenarios'>): number {
  if (passed) return EXIT.success;
  if (!scenarios.some(({ result }) => result === 'failed')) return EXIT.usage;
  const failed = scenarios.flatMap(({ assertions }) => assertions.filter((assertion) => !assertion.passed));
  const onlyThresholds = failed.every(({ threshold }) => threshold === true);
  return onlyThresholds && scenarios.every(({ result }) => result !== 'error')
    ? EXIT.thresholdBreached
    : EXIT.checkFailed;
}
