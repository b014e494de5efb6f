import { expect, test } from 'vitest';
import { CHAIN_STALL } from '../../../../../harness/cluster/faults/chain-blocks.ts';
import type { FaultContext, FaultStart } from '../../../../../harness/cluster/faults/fault.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

test('a block that comes just before a stall is none of those that the stall withholds', async () => {
  let height = 7;
  const held: object[] = [];
  const chain = {
    blockTimeMs: 1000,
    height: () => Promise.resolve(height),
    pause() {
      height++;
      return Promise.resolve();
    },
  };
  const context = { chain, clock: new ManualClock() } as unknown as FaultContext;
  const start: FaultStart = {
    signal: new AbortController().signal,
    hold: (handle) => void held.push(handle),
    key: 'f1',
  };
  const handle = await CHAIN_STALL.begin(context, {}, start);
  expect(held).toMatchObject([{ height: 7 }]);
  expect(handle).toMatchObject({ height: 8 });
  const earlier = { ...handle, at: Number(handle['at']) - 1000 };
  expect(await CHAIN_STALL.effect(context, earlier)).toEqual({ 'blocks withheld': 1 });
});
