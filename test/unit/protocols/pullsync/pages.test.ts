/** What a server offers at once. */
import { expect, test } from 'vitest';
import { Pages } from '../../../../node/protocols/pullsync/pages.ts';
import { never } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const bytes = new Uint8Array(32);
const ITEMS = [1n, 2n, 3n, 4n, 5n].map((binId) => ({
  binId,
  address: bytes,
  batchId: bytes,
  stampHash: bytes,
}));
const reserve = {
  items: (_bin: number, from: bigint, limit: number) =>
    ITEMS.filter(({ binId }) => binId >= from).slice(0, limit),
  onPut: () => () => undefined,
};

test('a page has as many entries as the platform allows, and the next one the others', async () => {
  const clock = new ManualClock();
  const pages = new Pages({ reserve, clock, offeredEntries: 2 });
  const idsFrom = async (start: bigint) => (await pages.page(0, start, never)).map(({ binId }) => binId);
  expect(await idsFrom(1n)).toEqual([1n, 2n]);
  expect(await idsFrom(3n)).toEqual([3n, 4n]);
  const last = idsFrom(5n);
  await clock.advance(500);
  expect(await last).toEqual([5n]);
});
