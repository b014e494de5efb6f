import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { partFolder, RECIPE_FILE, REPORT_FILE, SCHEDULE_FILE } from '../../../../../harness/report/folder.ts';
import { type Recipe, readRecipe } from '../../../../../harness/run/recipe.ts';
import { sizeOf } from '../../../../../harness/run/replay/case.ts';
import { plannedOf, rerun } from '../../../../../harness/run/replay/rerun.ts';
import { subjectOf } from '../../../../../harness/run/replay/subject.ts';
import type { PlannedScenario } from '../../../../../harness/run/run-options.ts';
import { readSchedule } from '../../../../../harness/run/schedule/schedule.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let folder: string;
beforeEach(() => void (folder = temporaryFolder('svcnet-subject')));

const rowOf = (name: string, parameters = {}) => ({ name, from: 'package', parameters });
const SCHEDULE = { schema: 1, durationMs: 1234, faults: [], operations: [] };

function lay(where: string, scenarios: readonly object[], of: Readonly<Record<string, unknown>> = {}): void {
  write(where, RECIPE_FILE, {
    schema: 1,
    seed: '1',
    scenarios,
    driver: 'process',
    exactNodes: false,
    definition: {},
    versions: { svcnet: '1', node: '24' },
    command: '',
    ...of,
  });
}

function report(where: string, scenarios: readonly { name: string; folder?: string; failed?: true }[]): void {
  write(where, REPORT_FILE, {
    schema: 2,
    run: '',
    startedAt: '',
    environment: {},
    scenarios: scenarios.map(({ failed, ...rest }) => ({
      ...rest,
      result: failed === true ? 'error' : 'passed',
      error: 'broken',
      assertions: [],
    })),
  });
}

function write(where: string, name: string, document: object): void {
  mkdirSync(join(folder, where), { recursive: true });
  writeFileSync(join(folder, where, name), JSON.stringify(document));
}

test('of clusters side by side, the scenario that failed is taken from its part', async () => {
  lay('', [rowOf('smoke'), rowOf('balances'), rowOf('soc')], { lanes: 2 });
  lay(partFolder(0), [rowOf('smoke'), rowOf('soc')]);
  lay(partFolder(1), [rowOf('balances')]);
  const [first, second] = [partFolder(0), partFolder(1)];
  report('', [
    { name: 'smoke', folder: first },
    { name: 'soc', folder: first, failed: true },
    { name: 'balances', folder: second },
  ]);
  report(first, [{ name: 'smoke' }, { name: 'soc', failed: true }]);
  const subject = await subjectOf(folder, join(folder, 'inputs'));
  expect(subject.scenario.name).toBe('soc');
  expect(subject.given.recipe.scenarios.map(({ name }) => name)).toEqual(['soc']);
  expect(subject.folder).toBe(join(folder, first));
  expect(subject.failures).toEqual(['soc: error: broken']);
});

test.each([
  ['chosen by the scenarios', {}, 8],
  [
    'chosen by the scenarios, beside Bees',
    { nodes: [{ count: 1 }, { flavour: 'bee', count: 2 }], ownCounts: true },
    10,
  ],
  ['as given', { nodes: 3, ownCounts: false }, 3],
])('the cluster has as many nodes as it had with those that shared it: %s', async (_, options, nodes) => {
  lay('', [rowOf('act'), rowOf('churn')], options);
  report('', [{ name: 'act', failed: true }, { name: 'churn' }]);
  const { given, scenario } = await subjectOf(folder, join(folder, 'inputs'));
  expect(scenario.name).toBe('act');
  expect(sizeOf(given, scenario).nodes).toBe(nodes);
});

test('the schedule of a part is repeated with the whole run, and minimised with the part', async () => {
  const storm = rowOf('storm', { duration: 5000 });
  lay('', [rowOf('smoke'), storm], { lanes: 2 });
  lay(partFolder(0), [rowOf('smoke')]);
  lay(partFolder(1), [storm]);
  write(partFolder(1), SCHEDULE_FILE, SCHEDULE);
  const recipe: Recipe = readRecipe(folder);
  const again = { folder, recipe, report: join(folder, 'again') };
  const [, row] = recipe.scenarios;
  if (row === undefined) throw new Error('no storm');
  const planned = await plannedOf(row, again);
  expect(planned.parameters['schedule']).toBe(join(folder, 'again', 'inputs', partFolder(1), SCHEDULE_FILE));

  report('', [
    { name: 'smoke', folder: partFolder(0) },
    { name: 'storm', folder: partFolder(1), failed: true },
  ]);
  report(partFolder(1), [{ name: 'storm', failed: true }]);
  const { given } = await subjectOf(folder, join(folder, 'inputs'));
  expect(given.schedule?.durationMs).toBe(1234);
});

test('scenarios that were asked for alike, each in a part of its own, each repeat their own schedule', async () => {
  const storm = rowOf('storm', { duration: 5000, schedule: '' });
  lay('', [storm, rowOf('smoke'), storm], { lanes: 2 });
  lay(partFolder(0), [rowOf('smoke')]);
  for (const part of [1, 9]) {
    lay(partFolder(part), [storm]);
    write(partFolder(part), SCHEDULE_FILE, { ...SCHEDULE, durationMs: part * 1000 });
  }
  const recipe = readRecipe(folder);
  const again = { folder, recipe, report: join(folder, 'again') };
  const planned: PlannedScenario[] = [];
  for (const row of recipe.scenarios) planned.push(await plannedOf(row, again));
  const durations = planned
    .filter(({ scenario }) => scenario.name === 'storm')
    .map(({ parameters }) => readSchedule(parameters['schedule'] as string).durationMs);
  expect(durations).toEqual([1000, 9000]);
});

test('where several scenarios had a schedule, the one that was kept is repeated for none of them', async () => {
  const storms = [
    rowOf('storm', { duration: 5000, schedule: '' }),
    rowOf('storm', { duration: 6000, schedule: '' }),
  ];
  lay('', [rowOf('smoke'), ...storms]);
  write('', SCHEDULE_FILE, SCHEDULE);
  const why = {
    code: 'RUN_INVALID',
    message: `${folder}: 2 scenarios had a schedule, and only the last one was kept`,
  };
  report('', [{ name: 'smoke' }, { name: 'storm', failed: true }, { name: 'storm' }]);
  await expect(subjectOf(folder, join(folder, 'inputs'))).rejects.toMatchObject(why);
  const recipe = readRecipe(folder);
  const signal = AbortSignal.abort();
  const again = { folder, recipe, report: join(folder, 'again'), stateDir: folder, signal };
  await expect(rerun(again)).rejects.toMatchObject(why);
  // What else failed can still be made smaller.
  report('', [{ name: 'smoke', failed: true }, { name: 'storm' }, { name: 'storm' }]);
  expect((await subjectOf(folder, join(folder, 'inputs'))).scenario.name).toBe('smoke');
});
