import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, HarnessError } from '../base/errors.ts';
import { oneLine } from '../base/foreign-text.ts';
import { drawSeed, seedToJson } from '../cluster/plan/seed.ts';
import { markedPath } from '../cluster/state/state-folder.ts';
import { KNOWN_DIFFERENCES } from '../conformance/known-differences.ts';
import type { Fact } from '../inspect/differences/canonical.ts';
import { compareObservations, type Observation } from '../inspect/differences/compare.ts';
import { priceFacts } from '../inspect/differences/prices.ts';
import { ScenarioWatch } from '../inspect/differences/watch.ts';
import { StepDisplay } from '../report/console.ts';
import { DIFFERENCES_FILE } from '../report/folder.ts';
import { newRunFolder, runMoment } from '../report/new-run-folder.ts';
import { scenarioTitle } from '../run/catalogue.ts';
import { unmetNeed } from '../run/needs.ts';
import { plannedFor } from '../run/run-clusters.ts';
import type { PlannedScenario, RunOptions } from '../run/run-options.ts';
import { runScenarios } from '../run/runner.ts';
import type { ClusterFlags } from './cluster-flags.ts';
import { isUsable, startedTwice, unusable } from './compare-flavours.ts';
import { answer, type CommandContext } from './context.ts';
import { linesOf } from './diff-lines.ts';
import { nodesOf, type Side, sidesOf } from './diff-sides.ts';
import { diff as takes } from './options/diff.ts';
import { repeatLine } from './repeat-line.ts';
import { reportFolder } from './report-folder.ts';
import { titleOf } from './run.ts';
import { chosenBy, planChosen } from './run-choice.ts';

export interface DiffFlags extends Pick<ClusterFlags, 'nodes' | 'driver' | 'beeBinary' | 'seed'> {
  readonly flavours: string;
  /** `key=value` texts. */
  readonly set: readonly string[];
  readonly report?: string;
}

/** In the run's folder. */
const FACTS_FILE = 'facts.json';

/** @returns failed check: an unknown difference */
export async function diff(
  words: readonly string[],
  flags: DiffFlags,
  context: CommandContext,
): Promise<number> {
  const names = scenariosOf(words);
  const sides = await sidesOf(flags);
  const planned = planChosen(await chosenBy(names, { set: [], with: [] }, context), flags.set);
  const seed = flags.seed ?? drawSeed();
  const title = titleOf(['diff', ...names.map(scenarioTitle)]);
  const count = flags.nodes ?? Math.max(...planned.map(({ scenario }) => scenario.cluster.nodes));
  const optionsOf = (side: Side, folder: string): RunOptions => ({
    planned,
    nodes: nodesOf(side, count),
    exactNodes: true,
    definition: {
      // As a Bee has it: others take both.
      dialect: 'swarm',
      credit: 'network',
      driver: flags.driver,
      flavours: side.declared === undefined ? [] : [side.declared],
    },
    source: '--flavours',
    seed,
    stateDir: context.stateDir,
    report: join(folder, side.folder),
    name: `${title}-${side.folder}`,
    command: repeatLine(['diff'], takes.options ?? {}, { ...flags, seed }).concat(` -- ${words.join(' ')}`),
    signal: context.signal,
    display: context.json ? undefined : new StepDisplay(context.style, context.out),
  });
  expectAlike(planned, sides);
  for (const side of sides) expectAble(planned, side, optionsOf(side, ''));
  const runs = markedPath(context.stateDir, 'runs');
  using report = reportFolder(flags.report, () => newRunFolder(runs, `${runMoment()}-${title}-${seed}`));
  const { folder } = report;
  // An earlier run's must not stay.
  rmSync(join(folder, DIFFERENCES_FILE), { force: true });
  const say = context.json ? context.note : context.out;
  const told = [sides.map(({ name }) => name).join(', '), names.join(', '), `seed ${seed}`].join(' · ');
  say(`\n  svcnet diff   ${oneLine(told)}\n`);
  const seen: Observation[] = [];
  for (const side of sides) {
    say(`\n  ${oneLine(side.name)}\n\n`);
    seen.push(await observe(side, optionsOf(side, folder), say));
  }
  const compared = compareObservations(seen as [Observation, ...Observation[]], KNOWN_DIFFERENCES);
  const result = { seed: seedToJson(seed), reference: seen[0]?.name, compared, report: folder };
  writeFileSync(join(folder, DIFFERENCES_FILE), `${JSON.stringify(result, undefined, 2)}\n`);
  answer(context, result, [...compared.flatMap((one) => linesOf(one, context.style)), `  ${folder}`]);
  return compared.every(({ counts }) => Object.keys(counts).length === 0) ? EXIT.success : EXIT.checkFailed;
}

/** @throws HarnessError `USAGE` */
function scenariosOf([first, ...names]: readonly string[]): readonly string[] {
  const hint = 'For example: svcnet diff --flavours svc,bee -- run upload retrieval';
  if (first !== 'run')
    throw new HarnessError('USAGE', `got '${first}', expected run and names of scenarios`, { hint });
  if (names.length === 0) throw new HarnessError('USAGE', 'run: expected names of scenarios', { hint });
  const option = names.find((name) => name.startsWith('-'));
  if (option !== undefined)
    throw new HarnessError('USAGE', `got '${option}' after --, expected options before it`, { hint });
  const again = names.find((name, index) => names.indexOf(name) !== index);
  if (again !== undefined) throw new HarnessError('USAGE', `got ${again} twice, expected each scenario once`);
  return names;
}

/** @throws HarnessError `USAGE` when networks would differ by more than their programs */
function expectAlike(planned: readonly PlannedScenario[], sides: readonly Side[]): void {
  const other = sides.find(({ flavour }) => flavour !== 'svc');
  if (other === undefined || sides.every(({ flavour }) => flavour !== 'svc')) return;
  for (const { scenario, parameters } of planned) {
    const { cluster } = scenario;
    const { neighbourhoods } = cluster;
    const ours = Object.keys({
      ...cluster.options,
      ...cluster.optionsFor?.(parameters),
      ...(neighbourhoods && { neighbourhoods }),
    });
    if (ours.length === 0) continue;
    throw new HarnessError(
      'USAGE',
      `${scenario.name} cannot compare svc with ${other.name}: it sets ${ours.join(', ')} of nodes of flavour svc alone`,
    );
  }
}

/** @throws HarnessError `USAGE` when the flavour could not run it */
function expectAble(planned: readonly PlannedScenario[], { name }: Side, options: RunOptions): void {
  for (const asking of planned) {
    const unmet = unmetNeed(asking.scenario, plannedFor(asking, options));
    if (unmet !== undefined)
      throw new HarnessError('USAGE', `${asking.scenario.name} cannot run on ${name}: it ${unmet}`);
  }
}

/** @throws HarnessError `RUN_INVALID` for an unfinished scenario, and what a start throws */
async function observe(side: Side, options: RunOptions, say: (text: string) => void): Promise<Observation> {
  rmSync(join(options.report, FACTS_FILE), { force: true });
  const facts: Fact[] = [];
  const prices: Fact[] = [];
  const ended = new Set<string>();
  let version = '';
  const run = await startedTwice(
    () => {
      facts.length = 0;
      prices.length = 0;
      ended.clear();
      return runScenarios({
        ...options,
        observe: (context, name) => {
          const watch = new ScenarioWatch(context, name);
          return async () => {
            facts.push(...(await watch.facts()));
            // Its chunks and stamps change nothing that is compared later.
            if (ended.size === options.planned.length - 1)
              prices.push(...(await priceFacts(context.cluster, context.signal)));
            ended.add(name);
            const node = context.cluster.nodes.find(({ running }) => running);
            version = (await node?.client.health(context.signal))?.version ?? '';
          };
        },
      });
    },
    (why) => say(`\n  ${why}; retrying once\n\n`),
  );
  if (!isUsable(run)) throw unusable(run, side.name);
  const cut = run.scenarios.find(({ name }) => !ended.has(name));
  if (cut !== undefined)
    throw new HarnessError('RUN_INVALID', `${cut.name} on ${side.name}: ${cut.result} before its end`, {
      hint: `Its report and logs: ${run.report}`,
    });
  if (prices.length === 0)
    say(`  ! no prices of ${side.name}: only running full nodes with a process of their own have them\n`);
  for (const { name, result } of run.scenarios)
    facts.push({ kind: 'result', what: `${name}: ends as`, seen: result });
  for (const { name } of run.scenarios.filter(({ result }) => result === 'failed'))
    say(`  ! ${name} failed on ${side.name}: ${run.report}\n`);
  const all = [...prices, ...facts];
  writeFileSync(join(options.report, FACTS_FILE), `${JSON.stringify(all, undefined, 2)}\n`);
  return { name: side.name, version, facts: all };
}
