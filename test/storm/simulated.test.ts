/** A minute of a storm in virtual time. */
import { test } from 'vitest';
import { losesNothing } from './stormy.ts';

test('a storm of sixty virtual seconds loses nothing and is recorded', async () => {
  await losesNothing(
    'simulated',
    { duration: '60s', reserve: '12000', 'fault-every': '2s', lanes: '1', sample: '200' },
    { chunks: 2000, faults: 20, begun: 10, operations: 100, beforeKills: 2 },
  );
});
