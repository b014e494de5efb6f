import { expect, test } from 'vitest';
import { faultsOf } from '../../../../harness/run/faults.ts';

test('a fault lasts until the node runs again, or has no end; what was done before is not of this scenario', () => {
  const nodes = [
    {
      name: 'node-0',
      deeds: [
        { state: 'killed', at: 5 },
        { state: 'running', at: 10 },
        { state: 'paused', at: 20 },
        { state: 'running', at: 30 },
      ],
    },
    {
      name: 'node-1',
      deeds: [
        { state: 'running', at: 1 },
        { state: 'killed', at: 25 },
      ],
    },
  ] as const;
  expect(faultsOf(nodes, 8)).toEqual([
    { kind: 'fault', at: 20, endAt: 30, part: 'node-0', text: 'node-0 was paused' },
    { kind: 'fault', at: 25, part: 'node-1', text: 'node-1 was killed' },
  ]);
});
