import { expect, test } from 'vitest';
import { duration } from '../../../../../harness/cluster/faults/fields.ts';

test.each(['24d', '500ms', 0, 2 ** 31 - 1])('a fault may take %j', (time) => {
  expect(duration.safeParse(time).success).toBe(true);
});

test.each(['25d', 2 ** 31, '5', -1])('a fault cannot take %j', (time) => {
  const [issue] = duration.safeParse(time).error?.issues ?? [];
  expect(issue?.message).toBe('a duration such as 500ms, 15s or 1m30s, at most 24d, or milliseconds');
});
