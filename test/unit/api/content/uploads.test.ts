import { expect, test } from 'vitest';
import { systemClock } from '../../../../formats/clock.ts';
import { paced } from '../../../../node/api/content/uploads.ts';
import { TurnAllowance } from '../../../../node/env/turns/turn-allowance.ts';
import { inParts } from '../../files/chunk-map.ts';

const PART = 64 * 1024;

test('bodies that share turns are read side by side, however much of one has arrived', async () => {
  const turns = new TurnAllowance(2 * PART, systemClock());
  const order: string[] = [];
  const read = async (name: string, parts: number) => {
    for await (const part of paced(inParts(new Uint8Array(parts * PART), PART), turns)) {
      order.push(name);
      expect(part).toHaveLength(PART);
    }
  };
  await Promise.all([read('long', 50), read('short', 1)]);
  expect(order.indexOf('short')).toBeLessThanOrEqual(3);
  expect(order).toHaveLength(51);
});
