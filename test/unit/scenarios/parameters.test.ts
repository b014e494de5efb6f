import { expect, test } from 'vitest';
import { bundledScenarios, loadScenario } from '../../../harness/run/catalogue.ts';

const ALLOWANCE =
  /within$|^deadline|retr(y|ies)|max-(attempts|rtt|p99)|^backoff$|^growth$|^memory$|^handles$/;
const NUMBERS: readonly string[] = ['integer', 'size', 'duration'];

test('parameters that say how much nodes are allowed are marked, so that minimise leaves them', async () => {
  const scenarios = await Promise.all(bundledScenarios().map(loadScenario));
  const rows = scenarios.flatMap(({ name: of, parameters }) =>
    Object.entries(parameters)
      .filter(([name, { kind }]) => NUMBERS.includes(kind) && ALLOWANCE.test(name))
      .map(([name, { allowance }]) => ({ name: `${of} ${name}`, allowance })),
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter(({ allowance }) => allowance !== true)).toEqual([]);
});
