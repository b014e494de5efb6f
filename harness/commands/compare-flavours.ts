/** Fresh clusters of each flavour with the same scenario and seed, in turns: other activity affects all alike. */

import { join } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { plural } from '../base/format.ts';
import { drawSeed } from '../cluster/plan/seed.ts';
import { markedPath } from '../cluster/state/state-folder.ts';
import { alternatingRuns } from '../report/compare/run-order.ts';
import { readSide, type Side } from '../report/compare/sides.ts';
import { StepDisplay } from '../report/console.ts';
import { newRunFolder, runMoment } from '../report/new-run-folder.ts';
import type { RunResult } from '../report/result.ts';
import { loadScenario, scenarioTitle } from '../run/catalogue.ts';
import { findK6 } from '../run/load/k6/find-k6.ts';
import type { PlannedScenario, RunOptions } from '../run/run-options.ts';
import { runScenarios } from '../run/runner.ts';
import type { Scenario } from '../run/scenario.ts';
import type { ClusterFlags } from './cluster-flags.ts';
import type { CommandContext } from './context.ts';
import { nodesOf, sidesOf, type Side as Wanted } from './diff-sides.ts';
import { compare as takes } from './options/compare.ts';
import { repeatLine } from './repeat-line.ts';
import { reportFolder } from './report-folder.ts';
import { plan } from './run-choice.ts';

export interface FlavoursFlags extends Pick<ClusterFlags, 'nodes' | 'driver' | 'beeBinary' | 'seed'> {
  /** Flavours or files, perhaps with `@PROGRAM`, separated by commas. */
  readonly flavours: string;
  readonly scenario?: string;
  /** Load or script, instead of a scenario. */
  readonly load?: string;
  readonly duration?: string;
  readonly rounds?: number;
  readonly k6?: string;
  /** `key=value` texts. */
  readonly set: readonly string[];
  readonly report?: string;
}

/** One disturbed run does not decide. */
const ROUNDS_DEFAULT = 6;

const START_LATE: ReadonlySet<HarnessError['code']> = new Set(['WAIT_TIMEOUT', 'START_TIMEOUT']);

/** Failed scenarios are in their reports. @throws HarnessError `USAGE`, and what a start throws */
export async function runFlavours(
  flags: FlavoursFlags,
  context: CommandContext,
): Promise<[Side, Side, ...Side[]]> {
  const { rounds = ROUNDS_DEFAULT } = flags;
  const wanted = await sidesOf(flags);
  const names = wanted.map(({ name }) => name);
  const { named, title: what, set } = await workOf(flags);
  const scenario = await loadScenario(named);
  const seed = flags.seed ?? drawSeed();
  const title = ['compare', ...wanted.map(({ flavour }) => flavour), what].join('-');
  const planned = plan([scenario], [...set, ...flags.set]);
  const runs = markedPath(context.stateDir, 'runs');
  using report = reportFolder(flags.report, () => newRunFolder(runs, `${runMoment()}-${title}-${seed}`));
  const { folder } = report;
  const optionsOf = optionsFor(flags, { scenario, planned, folder, title, seed, context });
  const turns = alternatingRuns(wanted, rounds);
  const say = context.json ? context.note : context.out;
  say(`\n  svcnet compare   ${names.join(', ')} · ${title} · ${plural(rounds, 'round')} · seed ${seed}\n`);
  for (const [done, { side, round }] of turns.entries()) {
    say(`\n  round ${round + 1} of ${rounds}, ${side.name} (run ${done + 1} of ${turns.length})\n\n`);
    const run = await startedTwice(
      () => runScenarios(optionsOf(side, round)),
      (why) => say(`\n  ${why}; retrying once\n\n`),
    );
    if (!isUsable(run)) throw unusable(run, side.name);
  }
  const [first, second, ...more] = wanted.map((side) => readSide(side.name, join(folder, side.folder)));
  return [first as Side, second as Side, ...more];
}

/** Starts again after a timeout: a Bee may miss a peer for minutes, and all earlier rounds would be lost. */
export async function startedTwice<T>(work: () => Promise<T>, onAgain: (why: string) => void): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HarnessError) || !START_LATE.has(error.code)) throw error;
    onAgain(error.message);
    return await work();
  }
}

/**
 * What all flavours run.
 * @throws HarnessError `USAGE`, `BINARY_INVALID` without k6 for a load
 */
async function workOf({ scenario, load, duration, k6 }: FlavoursFlags): Promise<{
  readonly named: string;
  readonly title: string;
  readonly set: readonly string[];
}> {
  if (scenario !== undefined && load !== undefined) {
    throw new HarnessError('USAGE', `--scenario ${scenario} and --load ${load}: expected only one of them`);
  }
  if (load === undefined && duration !== undefined) {
    throw new HarnessError('USAGE', '--duration: only valid with --load', {
      hint: 'Name a load with --load, or set parameters of the scenario with --set.',
    });
  }
  if (load !== undefined) {
    await findK6(k6);
    const given = Object.entries({ script: load, duration, k6 }).filter(([, value]) => value !== undefined);
    return { named: 'load', title: `load-${scenarioTitle(load)}`, set: given.map((pair) => pair.join('=')) };
  }
  if (scenario !== undefined) return { named: scenario, title: scenarioTitle(scenario), set: [] };
  throw new HarnessError('USAGE', '--flavours: no load or scenario to run', {
    hint: 'Name a load, for example --load mixed, or a scenario, for example --scenario upload.',
  });
}

interface Plan {
  readonly planned: readonly PlannedScenario[];
  readonly scenario: Scenario;
  readonly folder: string;
  readonly title: string;
  readonly seed: bigint;
  readonly context: CommandContext;
}

function optionsFor(
  flags: FlavoursFlags,
  { scenario, planned, folder, title, seed, context }: Plan,
): (side: Wanted, round: number) => RunOptions {
  const display = context.json ? undefined : new StepDisplay(context.style, context.out);
  return (side, round) => ({
    planned,
    nodes: nodesOf(side, flags.nodes ?? scenario.cluster.nodes),
    exactNodes: true,
    // A Bee settles as the public network does; all must do the same.
    definition: {
      credit: 'network',
      driver: flags.driver,
      flavours: side.declared === undefined ? [] : [side.declared],
    },
    source: '--flavours',
    seed: seed + BigInt(round),
    stateDir: context.stateDir,
    report: join(folder, side.folder, `round-${round + 1}`),
    name: `${title}-${side.folder}-${round + 1}`,
    command: repeatLine(['compare'], takes.options ?? {}, { ...flags, seed }),
    signal: context.signal,
    display,
  });
}

/** A failed condition leaves measurements; a scenario that could not run does not. */
export function isUsable({ scenarios }: RunResult): boolean {
  return scenarios.every(({ result }) => result === 'passed' || result === 'failed');
}

export function unusable({ scenarios, report }: RunResult, flavour: string): HarnessError {
  const [first] = scenarios.filter(({ result }) => result === 'error' || result === 'skipped');
  const why = first?.error ?? first?.skipReason ?? '';
  return new HarnessError(
    'RUN_INVALID',
    `${first?.name} on ${flavour}: ${first?.result}: ${why.split('\n')[0]}`,
    {
      hint: `Its report and logs: ${report}`,
    },
  );
}
