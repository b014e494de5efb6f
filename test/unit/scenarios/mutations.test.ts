/**
 * Every condition of every scenario can be false: a test shows it something wrong and sees it turn red. Counted from the
 * sources, so that a condition without such a test is noticed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MUTATIONS } from '../../cluster/scenarios/mutations.ts';
import { WITHOUT_MUTATION } from './without-mutation.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCENARIOS = join(ROOT, 'scenarios');
/** Tests that turn conditions red one by one, and name them. */
const OTHER_TESTS = ['money', 'checks', 'radius-growth', 'redistribution'];
/** A condition is a name, or a variable that has it. */
const CONDITION =
  /[^\w]expect\(\s*(?:(?<quote>['`])(?<text>(?:(?!\k<quote>)[^\\]|\\.)*)\k<quote>|(?<variable>\w+))/g;
/** Shorter texts occur in any source. */
const NAMED_MIN = 12;

const conditions = readdirSync(SCENARIOS, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('k6'))
  .toSorted()
  .flatMap((file) =>
    [...readFileSync(join(SCENARIOS, file), 'utf8').matchAll(CONDITION)].map(({ groups = {} }) => {
      const { text, variable = '' } = groups;
      return { file, name: text === undefined ? `(${variable})` : text.replaceAll(/\$\{[^}]*\}/g, '…') };
    }),
  );
const keyOf = ({ file, name }: (typeof conditions)[number]) => `${file}: ${name}`;

const others = OTHER_TESTS.map((name) =>
  readFileSync(join(ROOT, `test/cluster/scenarios/${name}.test.ts`), 'utf8'),
).join('\n');

/** The name at the time the scenario runs, as far as the source shows it. */
function turnsRed({ file, name }: (typeof conditions)[number]): boolean {
  const shared = file.startsWith('steps/');
  const seen = name.replaceAll('…', 'abcdef12');
  const rows = MUTATIONS.filter(([scenario]) => shared || file === `${scenario}.ts`);
  if (rows.some(([, , , ...red]) => red.some((condition) => condition.test(seen)))) return true;
  const parts = name.split('…').map((part) => part.trim());
  return parts.some((part) => part.length >= NAMED_MIN && others.includes(part));
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
