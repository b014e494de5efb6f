import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LONG, LongestFirst, rankOf } from '../suite/order.ts';
import { ROOT } from '../suite/vitest.ts';
import config from '../vitest.config.ts';

test('the files that take longest begin first, in the order of their list, and all others after them', () => {
  expect(LONG.map((file) => rankOf(join(ROOT, file)))).toEqual([...LONG.keys()]);
  expect(rankOf(join(ROOT, 'test/cluster/api/server.test.ts'))).toBe(LONG.length);
  expect(config).toMatchObject({ test: { sequence: { sequencer: LongestFirst } } });
});

test('each of them exists', () => {
  expect(LONG.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});
