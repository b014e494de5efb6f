/**
 * The runs of `svcnet compare --flavours`: fresh clusters of each flavour under the same scenario and seed, taking turns,
 * so that what the machine does besides meets them alike.
 */
import { join, resolve } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { plural } from '../base/words.ts';
import { readSide, type Side } from '../compare/sides.ts';
import { turnsOf } from '../compare/turns.ts';
import type { FlavourName } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import type { DefinitionInput } from '../plan/schema.ts';
import { drawSeed } from '../plan/seed.ts';
import { StepDisplay } from '../report/console.ts';
import type { RunResult } from '../report/result.ts';
import { loadScenario, scenarioTitle } from '../run/catalogue.ts';
import type { NodesInput, PlannedScenario, RunOptions } from '../run/run-options.ts';
import { runScenarios } from '../run/runner.ts';
import type { Scenario } from '../run/scenario.ts';
import type { CommandContext } from './context.ts';
import { plan } from './run.ts';
import { quoted } from './run-flags.ts';

export interface FlavoursFlags {
  readonly flavours?: readonly FlavourName[];
  /** Name or path. */
  readonly scenario?: string;
  /** Name of a load, or path of a script, instead. */
  readonly load?: string;
  /** Of the load, as it was given. */
  readonly duration?: string;
  /** Runs of each flavour; default: `ROUNDS_DEFAULT`. */
  readonly rounds?: number;
  /** Nodes of each cluster; default: what the scenario asks for. */
  readonly nodes?: number;
  readonly driver?: DefinitionInput['driver'];
  readonly beeBinary?: string;
  readonly seed?: bigint;
  /** Program of k6. */
  readonly k6?: string;
  /** `key=value` texts. */
  readonly set: readonly string[];
  /** Folder of all runs; default: one of the state directory. */
  readonly report?: string;
}

/** Enough for an interval that a run which the machine has disturbed does not decide alone. */
const ROUNDS_DEFAULT = 6;

const START_LATE: ReadonlySet<HarnessError['code']> = new Set(['WAIT_TIMEOUT', 'START_TIMEOUT']);

/** @throws HarnessError `USAGE`, and what a start throws; a scenario that fails is in its run's report */
export async function runFlavours(
  flags: FlavoursFlags,
  context: CommandContext,
): Promise<[Side, Side, ...Side[]]> {
  const { flavours = [], rounds = ROUNDS_DEFAULT } = flags;
  if (new Set(flavours).size < flavours.length || flavours.length < 2) {
    throw new HarnessError(
      'USAGE',
      `--flavours: got ${flavours.join(',')}, expected two or more different ones`,
    );
  }
  const { named, title: what, set } = workOf(flags);
  const scenario = await loadScenario(named);
  const seed = flags.seed ?? drawSeed();
  const title = `compare-${flavours.join('-')}-${what}`;
  const startedAt = new Date().toISOString().replaceAll(':', '-').slice(0, 19);
  const folder = resolve(flags.report ?? join(context.stateDir, 'runs', `${startedAt}-${title}-${seed}`));
  const planned = plan([scenario], [...set, ...flags.set]);
  const optionsOf = optionsFor(flags, { scenario, planned, folder, title, seed, context });
  const turns = turnsOf(flavours, rounds);
  const say = context.json ? context.note : context.out;
  say(`\n  svcnet compare   ${flavours.join(', ')} · ${title} · ${plural(rounds, 'round')} · seed ${seed}\n`);
  for (const [done, { side, round }] of turns.entries()) {
    say(`\n  round ${round + 1} of ${rounds}, ${side} (run ${done + 1} of ${turns.length})\n\n`);
    const run = await startedTwice(
      () => runScenarios(optionsOf(side, round)),
      (why) => say(`\n  ${why}; once more\n\n`),
    );
    if (!isUsable(run)) throw unusable(run, side);
  }
  const [first, second, ...more] = flavours.map((flavour) => readSide(flavour, join(folder, flavour)));
  return [first as Side, second as Side, ...more];
}

/**
 * Work that starts a cluster, once more when the first start was not over in time. A Bee may miss one of its peers for
 * minutes, and the rounds before it would be lost.
 */
export async function startedTwice<T>(work: () => Promise<T>, onAgain: (why: string) => void): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HarnessError) || !START_LATE.has(error.code)) throw error;
    onAgain(error.message);
    return await work();
  }
}

/** What all of them run. */
function workOf({ scenario, load, duration, k6 }: FlavoursFlags): {
  readonly named: string;
  readonly title: string;
  /** `key=value` texts. */
  readonly set: readonly string[];
} {
  if (scenario !== undefined && load !== undefined) {
    throw new HarnessError('USAGE', `--scenario ${scenario} and --load ${load}: name one of them`);
  }
  if (load === undefined && duration !== undefined) {
    throw new HarnessError('USAGE', '--duration: of a load, but none was named', {
      hint: 'Name one with --load, or give the scenario its parameters with --set.',
    });
  }
  if (load !== undefined) {
    const given = Object.entries({ script: load, duration, k6 }).filter(([, value]) => value !== undefined);
    return { named: 'load', title: `load-${scenarioTitle(load)}`, set: given.map((pair) => pair.join('=')) };
  }
  if (scenario !== undefined) return { named: scenario, title: scenarioTitle(scenario), set: [] };
  throw new HarnessError('USAGE', '--flavours: nothing to run on them', {
    hint: 'Name a load, such as --load mixed, or a scenario, such as --scenario upload.',
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
): (flavour: FlavourName, round: number) => RunOptions {
  const display = context.json ? undefined : new StepDisplay(context.style, context.out);
  return (flavour, round) => ({
    planned,
    nodes: nodesOf(flavour, flags.nodes ?? scenario.cluster.nodes, flags.beeBinary),
    exactNodes: true,
    // A Bee settles as the public network does; to be compared with it, all do.
    definition: { credit: 'network', ...(flags.driver === undefined ? {} : { driver: flags.driver }) },
    // Another network in each round, the same one for all flavours.
    seed: seed + BigInt(round),
    stateDir: context.stateDir,
    report: join(folder, flavour, `round-${round + 1}`),
    name: `${title}-${flavour}-${round + 1}`,
    command: repeatText(flags, seed),
    signal: context.signal,
    ...(display === undefined ? {} : { display }),
  });
}

function nodesOf(flavour: FlavourName, count: number, beeBinary: string | undefined): NodesInput {
  const binary = FLAVOURS[flavour].binaryVariable === undefined ? undefined : beeBinary;
  return [{ flavour, count, ...(binary === undefined ? {} : { binary }) }];
}

/** The command that makes all of the runs again. */
function repeatText(flags: FlavoursFlags, seed: bigint): string {
  const { flavours = [], scenario, load, duration, rounds, nodes, driver, beeBinary, k6, set } = flags;
  const single = { scenario, load, duration, rounds, nodes, driver, 'bee-binary': beeBinary, k6, seed };
  return [
    `npm run svcnet -- compare --flavours ${flavours.join(',')}`,
    ...Object.entries(single).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name} ${quoted(String(value))}`],
    ),
    ...set.map((text) => `--set ${quoted(text)}`),
  ].join(' ');
}

/** A failed condition leaves its measurements; what could not run has none. */
function isUsable({ scenarios }: RunResult): boolean {
  return scenarios.every(({ result }) => result === 'passed' || result === 'failed');
}

function unusable({ scenarios, report }: RunResult, flavour: FlavourName): HarnessError {
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
