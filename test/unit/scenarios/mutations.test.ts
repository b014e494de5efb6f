/**
 * A test shows each condition something wrong and sees it turn red. Sources are counted, so that a condition without such a
 * test is noticed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MUTATIONS } from '../../cluster/scenarios/mutations/grounds.ts';
import { WITHOUT_MUTATION } from './without-mutation.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCENARIOS = join(ROOT, 'scenarios');
/** A name, or a variable that has it. */
const CONDITION =
  /[^\w](?<check>expect|expectSuccess|expectNone|expectRefusal|rule)\(\s*(?:context,\s*)?(?:(?<quote>['`])(?<text>(?:(?!\k<quote>)[^\\]|\\.)*)\k<quote>|(?<variable>\w+)(?=,))/g;
/** A condition of a list of them, or one that always holds. */
const RULE = /\{\s*name: '(?<text>[^']+)',\s*(?:expected|everyMs):|condition: '(?<condition>[^']+)'/g;
/** Functions whose name of a condition comes from their caller, which is where it is counted. */
const PASSED_ON = [
  'mixed.ts: (name)',
  'radius-growth.ts: (condition)',
  'steps/storm/checks.ts: (name)',
  'steps/traffic.ts: (name)',
];

interface Condition {
  readonly file: string;
  /** With … for what a run fills in; in parentheses the variable that has the name. */
  readonly name: string;
}

/** The values that a constant has in a file, by their source. */
function valuesOf(variable: string, source: string): string[] {
  const constant = new RegExp(`const ${variable} =\\s*(?<quote>['\`])(?<text>.*?)\\k<quote>`, 'g');
  return [...source.matchAll(constant)].map(({ groups }) => groups?.['text'] ?? '');
}

function conditionsOf(file: string): Condition[] {
  const source = readFileSync(join(SCENARIOS, file), 'utf8');
  const checked = [...source.matchAll(CONDITION)].flatMap(({ groups = {} }) => {
    const { check, text, variable = '' } = groups;
    const values = text === undefined ? valuesOf(variable, source) : [text];
    const names = values.length === 0 ? [`(${variable})`] : values;
    return check === 'expectRefusal' ? names.map((name) => `${name} is refused`) : names;
  });
  const listed = [...source.matchAll(RULE)].map(
    ({ groups = {} }) => groups['text'] ?? groups['condition'] ?? '',
  );
  return [...checked, ...listed].map((name) => ({ file, name: name.replaceAll(/\$\{[^}]*\}/g, '…') }));
}

const conditions = readdirSync(SCENARIOS, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('k6'))
  .toSorted()
  .flatMap(conditionsOf)
  .filter((condition) => !PASSED_ON.includes(keyOf(condition)));
function keyOf({ file, name }: Condition): string {
  return `${file}: ${name}`;
}

/** Steps belong to the scenarios that take them, or have their folder. */
function imports(scenario: string, file: string): boolean {
  if (file.startsWith(`steps/${scenario}/`)) return true;
  return (
    file.startsWith('steps/') && readFileSync(join(SCENARIOS, `${scenario}.ts`), 'utf8').includes(`/${file}'`)
  );
}

/** Whether the name at the time the scenario runs is one that a mutation turns red. */
function turnsRed({ file, name }: Condition): boolean {
  const rows = MUTATIONS.filter(([scenario]) => file === `${scenario}.ts` || imports(scenario, file));
  const parts = name.split(/ *… */).filter((part) => part !== '');
  const filledIn = new RegExp(parts.map((part) => RegExp.escape(part)).join('.*'));
  return rows.some(([, , , ...red]) =>
    red.some((condition) => condition.test(name) || filledIn.test(condition.source)),
  );
}

test('every condition has a mutation that turns it red, or is listed as one without', () => {
  const without = conditions.filter((condition) => !turnsRed(condition)).map(keyOf);
  expect([...new Set(without)].toSorted()).toEqual([...WITHOUT_MUTATION].toSorted());
});

test('every mutation belongs to an existing scenario', () => {
  const files = new Set(conditions.map(({ file }) => file));
  expect(MUTATIONS.map(([scenario]) => scenario).filter((name) => !hasConditions(name, files))).toEqual([]);
});

/** Its own, or those of its steps. */
function hasConditions(scenario: string, files: ReadonlySet<string>): boolean {
  return (
    files.has(`${scenario}.ts`) ||
    readFileSync(join(SCENARIOS, `${scenario}.ts`), 'utf8').includes('./steps/')
  );
}
