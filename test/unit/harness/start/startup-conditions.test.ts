import { expect, test } from 'vitest';
import { meshTimeoutFor } from '../../../../harness/start/startup-conditions.ts';

const nodes = (flavour: 'svc' | 'bee', count: number) => Array.from({ length: count }, () => ({ flavour }));

test('a start with Bees has time for dials that a Bee repeats 35 s later', () => {
  expect(meshTimeoutFor(nodes('svc', 5))).toBe(37_500);
  expect(meshTimeoutFor(nodes('bee', 5))).toBe(72_500);
  expect(meshTimeoutFor([...nodes('svc', 3), ...nodes('bee', 2)])).toBe(72_500);
});
