/** Half a minute of a storm: ten processes, radius above 0, a fault every second. Nothing acknowledged may be lost. */
import { test } from 'vitest';
import { losesNothing } from './stormy.ts';

test('a storm on ten processes loses nothing and is recorded', async () => {
  await losesNothing(
    'process',
    { duration: '30s', reserve: '12000', 'fault-every': '1s', 'fault-for': '2s', pace: '1500ms' },
    // What begins in half a minute is the machine's affair; in virtual time, `simulated.test.ts` asks for more.
    { chunks: 50, faults: 20, begun: 0, operations: 5 },
  );
});
