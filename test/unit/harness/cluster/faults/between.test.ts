import { expect, test } from 'vitest';
import { betweenText } from '../../../../../harness/cluster/faults/links/rule-fault.ts';

test('links of a list of nodes with itself are named once', () => {
  const three = ['node-2', 'node-3', 'node-4'];
  expect(betweenText(three, three)).toBe('among node-2, node-3 and node-4');
  expect(betweenText(three, ['node-0'])).toBe('between node-2, node-3, node-4 and node-0');
  expect(betweenText(['node-0'], ['node-1'])).toBe('between node-0 and node-1');
});
