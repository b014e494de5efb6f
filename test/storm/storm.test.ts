/** Five processes, radius above 0, a fault every second. Nothing acknowledged may be lost. */
import { test } from 'vitest';
import { losesNothing } from './stormy.ts';

test('a storm on five processes loses nothing and is recorded', async () => {
  await losesNothing(
    { driver: 'process', nodes: 5 },
    { duration: '15s', reserve: '12000', 'fault-every': '1s', 'fault-for': '2s', pace: '1500ms' },
    // The machine decides what begins in fifteen seconds; `simulated.test.ts` asks for more.
    { chunks: 100, faults: 9, begun: 0, operations: 20 },
  );
});
