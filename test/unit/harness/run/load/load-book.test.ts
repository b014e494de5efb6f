import { expect, test } from 'vitest';
import { LoadBook } from '../../../../../harness/run/load/load-book.ts';
import { LOAD_PARAMETERS, loadPlan } from '../../../../../harness/run/load/parameters.ts';

const defaults = Object.entries(LOAD_PARAMETERS).map(([name, { default: value }]) => [name, value]);
const plan = loadPlan(Object.fromEntries(defaults) as never, 1n);

test('a load with thousands of names has a bounded table, and every operation is in it', () => {
  const book = new LoadBook([], { ownMs: undefined, totalMs: 1000, warmupMs: 0, recorder: undefined });
  for (let i = 0; i < 5000; i++) {
    const record = {
      operation: `GET /x${i}`,
      node: `h${i}`,
      scenarioMs: 1,
      endMs: 2,
      iteration: i,
      latencyMs: 1,
    };
    book.take(`svcnet ${JSON.stringify(record)}`, true);
  }
  const { operations } = book.step(plan, {
    metrics: {},
    helper: true,
    ended: { exitCode: 0, cpu: undefined },
  });
  expect(operations).toHaveLength(201);
  expect(operations.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
  expect(operations.find(({ operation }) => operation === 'other')).toMatchObject({
    node: 'other',
    count: 4800,
  });
});
