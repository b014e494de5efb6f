import { expect, test } from 'vitest';
import { kindWanted } from '../../../../harness/run/kinds.ts';
import { partsOf } from '../../../../harness/run/parallel.ts';
import { planScenarios } from '../../../../harness/run/runner.ts';
import { scenariosOfSuite } from '../../../../harness/run/suites.ts';

const planned = (await scenariosOfSuite('ci')).flatMap(({ scenario, set }) =>
  planScenarios([scenario], new Map(Object.entries(set))),
);
const { together, alone } = partsOf(planned);

test('every scenario is in exactly one part, and those of a part want the same kind of cluster', () => {
  const all = [...together, ...alone].flat();
  expect(new Set(all)).toEqual(new Set(planned));
  expect(all).toHaveLength(planned.length);
  for (const part of together) {
    const kinds = part.map(({ scenario, parameters }) => kindWanted(scenario, parameters));
    expect(new Set(kinds).size).toBe(1);
  }
});

test('scenarios that want the same kind of cluster are divided into parts of similar length when there are many', () => {
  const lengths = together.map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(6);
  const divided = together.filter(
    ([first], index) =>
      first !== undefined &&
      together.some(
        ([other], i) =>
          i !== index &&
          other !== undefined &&
          kindWanted(other.scenario, other.parameters) === kindWanted(first.scenario, first.parameters),
      ),
  );
  expect(divided.length).toBeGreaterThan(1);
  for (const { length } of divided) expect(length).toBeGreaterThan(2);
});

test('a scenario that depends on the rest of the machine gets its own part, after the others', () => {
  expect(alone.map((part) => part.map(({ scenario }) => scenario.name))).toEqual([['slow-link'], ['storm']]);
});
