import { HarnessError } from '../base/errors.ts';
import { oneLine } from '../base/foreign-text.ts';
import { readDefinitionFile } from '../cluster/plan/document/read.ts';
import { bundledScenarios, loadScenario } from '../run/catalogue.ts';
import { readChecks } from '../run/checks-file.ts';
import type { PlannedScenario } from '../run/run-options.ts';
import { planScenarios } from '../run/runner.ts';
import { ParameterError, type Scenario } from '../run/scenario.ts';
import { type Chosen, SUITES, scenariosOfSuite, scenariosWithTag, tagsOfAll } from '../run/suites.ts';
import type { CommandContext } from './context.ts';
import type { RunFlags } from './run-flags.ts';

/** @throws HarnessError `USAGE`, `DEFINITION_INVALID` */
export async function chosenBy(
  names: readonly string[],
  { suite, tag, checks }: RunFlags,
  context: CommandContext,
): Promise<readonly Chosen[]> {
  return [
    ...(await Promise.all(names.map(async (name) => ({ scenario: await scenarioOf(name), set: {} })))),
    ...(suite === undefined ? [] : await scenariosOfSuite(suite)),
    ...(tag === undefined ? [] : await scenariosWithTag(tag)),
    ...(checks === undefined ? [] : await checksOf(checks, context)),
  ];
}

/** @throws HarnessError `USAGE`, naming the option for a suite or tag */
async function scenarioOf(name: string): Promise<Scenario> {
  if (!bundledScenarios().includes(name)) {
    if (Object.hasOwn(SUITES, name))
      throw new HarnessError('USAGE', `no scenario '${name}': it is a suite, run it with --suite ${name}`);
    if ((await tagsOfAll()).includes(name))
      throw new HarnessError('USAGE', `no scenario '${name}': it is a tag, run it with --tag ${name}`);
  }
  return loadScenario(name);
}

/** Notes checks that cannot run. @throws HarnessError `DEFINITION_INVALID` */
async function checksOf(path: string, context: CommandContext): Promise<readonly Chosen[]> {
  const { chosen, unknown } = await readChecks(await readDefinitionFile(path, '--checks'), path);
  for (const line of unknown) context.note(`  ! ${oneLine(`${path}: ${line}`)}\n`);
  return chosen;
}

/** The command line overrides a suite. @throws HarnessError `USAGE` */
export function planChosen(chosen: readonly Chosen[], sets: readonly string[]): PlannedScenario[] {
  // Every name must fit at least one scenario.
  plan(
    chosen.map(({ scenario }) => scenario),
    sets,
  );
  const given = parameters(sets);
  return chosen.flatMap(({ scenario, set }) => {
    const own = [...given].filter(([name]) => Object.hasOwn(scenario.parameters, name));
    return planScenarios([scenario], new Map([...Object.entries(set), ...own]));
  });
}

export function plan(scenarios: readonly Scenario[], sets: readonly string[]): PlannedScenario[] {
  try {
    return planScenarios(scenarios, parameters(sets));
  } catch (error) {
    if (error instanceof ParameterError)
      throw new HarnessError('USAGE', `--set: ${error.message}`, { cause: error });
    throw error;
  }
}

export function parameters(sets: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    sets.map((text) => {
      const equals = text.indexOf('=');
      if (equals < 1) throw new HarnessError('USAGE', `--set: got '${text}', expected name=value`);
      return [text.slice(0, equals), text.slice(equals + 1)] as const;
    }),
  );
}
