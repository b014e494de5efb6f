import { expect, test } from 'vitest';
import { Replays, Said } from '../../../../../../../harness/places/links/tap/faults/replays.ts';
import { ManualClock } from '../../../../../protocols/manual-clock.ts';

test('what waits to be said again is bounded by its number and its bytes, and what is over makes room', async () => {
  const clock = new ManualClock();
  const replays = new Replays(clock);
  const [short, long] = [new Said(), new Said()];
  short.add(Buffer.from('short'));
  long.add(Buffer.alloc(262_144));
  const told: string[] = [];
  for (; replays.canTake(long); replays.later(1000, long, () => told.push('long')));
  await clock.advance(1000);
  expect(told).toHaveLength(64);
  for (; replays.canTake(short); replays.later(1000, short, (said) => told.push(said.toString())));
  short.add(Buffer.from('er'));
  await clock.advance(1000);
  expect(told.slice(64)).toEqual(Array.from({ length: 1000 }, () => 'short'));
  long.add(Buffer.alloc(1));
  expect([replays.canTake(long), replays.canTake(short)]).toEqual([false, true]);
});
