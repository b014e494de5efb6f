import { expect, test } from 'vitest';
import { HandedOver } from '../../../../node/store/uploads/handed-over.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { chunk } from '../stores.ts';

const BATCH = new Uint8Array(32).fill(1);
const OTHER = new Uint8Array(32).fill(2);

const numbered = (n: number) => {
  const address = new Uint8Array(32);
  new DataView(address.buffer).setUint32(0, n);
  return { ...chunk(1), address };
};

test('chunks are kept for ten seconds', async () => {
  const clock = new ManualClock();
  const handedOver = new HandedOver(clock);
  handedOver.add(chunk(1), BATCH);
  await clock.advance(9_999);
  expect(handedOver.get(chunk(1).address)).toEqual(chunk(1));
  await clock.advance(1);
  expect(handedOver.get(chunk(1).address)).toBeUndefined();
});

test('a chunk that is handed over again is kept from then on', async () => {
  const clock = new ManualClock();
  const handedOver = new HandedOver(clock);
  handedOver.add(chunk(1), BATCH);
  await clock.advance(9_000);
  handedOver.add(chunk(1), BATCH);
  await clock.advance(9_000);
  expect(handedOver.get(chunk(1).address)).toEqual(chunk(1));
});

test('the last 1,024 chunks are kept', () => {
  const handedOver = new HandedOver(new ManualClock());
  for (let n = 0; n < 1025; n++) handedOver.add(numbered(n), BATCH);
  expect(handedOver.get(numbered(0).address)).toBeUndefined();
  expect(handedOver.get(numbered(1).address)).toBeDefined();
  expect(handedOver.get(numbered(1024).address)).toBeDefined();
});

test('chunks stamped by a batch that no longer exists are forgotten', () => {
  const handedOver = new HandedOver(new ManualClock());
  handedOver.add(numbered(1), BATCH);
  handedOver.add(numbered(2), OTHER);
  handedOver.forget((batchId) => batchId === BATCH);
  expect(handedOver.get(numbered(1).address)).toBeUndefined();
  expect(handedOver.get(numbered(2).address)).toBeDefined();
});

test('a chunk does not keep alive what was read together with it', () => {
  const handedOver = new HandedOver(new ManualClock());
  const { data } = chunk(1);
  const together = new Uint8Array(131_072);
  together.set(data, 100);
  const view = (bytes: Uint8Array) => {
    const at = together.length - bytes.length;
    together.set(bytes, at);
    return together.slice().subarray(at);
  };
  const { address, identity } = chunk(1);
  const read = { ...chunk(1), address: view(address), identity: view(identity) };
  const batches: Uint8Array[] = [];
  handedOver.add({ ...read, data: together.subarray(100, 100 + data.length) }, view(BATCH));
  handedOver.forget((batchId) => (batches.push(batchId), false));
  const kept = handedOver.get(address);
  expect(kept).toEqual(chunk(1));
  const parts = [kept?.data, kept?.address, kept?.identity, ...batches];
  expect(parts.map((bytes) => bytes?.buffer.byteLength)).toEqual([data.length, 32, 32, 32]);
});
