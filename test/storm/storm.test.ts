/** Half a minute of a storm: ten processes, radius above 0, a fault every second. Nothing acknowledged may be lost. */
import { test } from 'vitest';
import { losesNothing } from './stormy.ts';

test('a storm on ten processes loses nothing and is recorded', async () => {
  await losesNothing(
    'process',
    { duration: '30s', reserve: '12000', 'fault-every': '1s', 'fault-for': '2s', pace: '1500ms' },
    // Far below what a slow machine does in this time: a storm without load or faults would find nothing.
    { chunks: 200, faults: 20, begun: 3, operations: 20, beforeKills: 0 },
  );
});
