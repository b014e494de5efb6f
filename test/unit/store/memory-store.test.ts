import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import type { Backend } from '../../../node/store/backend.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import { OVERLAY } from './stores.ts';

test('other work has its turn after as many changes as the platform allows', async () => {
  const turns: (() => void)[] = [];
  let defer: (flush: () => void) => unknown = setImmediate;
  let disk: Backend | undefined;
  await createMemoryStore(
    { cacheCapacity: 1, reserveCapacity: 1, radius: 0 },
    {
      clock: systemClock(),
      log: silentLogger(),
      overlay: OVERLAY,
      defer: (flush) => void defer(flush),
      group: 2,
      through: (backend) => (disk = backend),
    },
  );
  defer = (flush) => turns.push(flush);
  const made: number[] = [];
  for (let n = 0; n < 5; n++) void disk?.change(() => made.push(n));
  const afterTurns: number[] = [];
  for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
    turn();
    afterTurns.push(made.length);
  }
  expect(afterTurns).toEqual([2, 4, 5]);
});
