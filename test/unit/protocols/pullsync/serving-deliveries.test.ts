import { expect, test } from 'vitest';
import { decodeStamp } from '../../../../formats/chunk/stamp.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import type { MessageStream } from '../../../../node/p2p/host.ts';
import { CURSORS, Delivery, Get, Offer, PULLSYNC, Want } from '../../../../node/protocols/pullsync/wire.ts';
import { never } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import { chunksInBin, delivered, fill, metric, outcome, stampNo } from './pull-nodes.ts';
import { another, served } from './serving-kit.ts';

/** Want for the indexes below `count`. */
function bits(count: number): Uint8Array {
  const vector = new Uint8Array(32);
  for (let i = 0; i < count; i++) vector[i >> 3]! |= 1 << (i & 7);
  return vector;
}

test('one delivery is sent for each bit, in the order of the offer, and the stream ends', async () => {
  const { clock, node, chunks, ask } = await served({ filled: 4 });
  const stream = await ask(1n);
  await clock.advance(1000);
  await stream.read(Offer);
  await stream.write(Want, { bitVector: Uint8Array.of(0b1011) });
  const answers = [await stream.read(Delivery), await stream.read(Delivery), await stream.read(Delivery)];
  expect(answers).toEqual([0, 1, 3].map((i) => delivered(chunks[i]!)));
  await stream.close();
  expect(await metric(node, 'pullsync_chunks_sent_wanted')).toBe(3);
  expect(await metric(node, 'pullsync_chunks_sent')).toBe(3);
});

test('a Want without bits is answered with the end of the stream', async () => {
  const { clock, ask } = await served({ filled: 1 });
  const stream = await ask(1n);
  await clock.advance(1000);
  await stream.read(Offer);
  await stream.write(Want, { bitVector: new Uint8Array(1) });
  await expect(stream.close()).resolves.toBeUndefined();
});

test('a chunk that was removed after the offer is delivered empty, the others are delivered in full', async () => {
  const { clock, node, chunks, ask } = await served({ filled: 3 });
  const stream = await ask(1n);
  await clock.advance(1000);
  await stream.read(Offer);
  const [, second] = chunks;
  const newer = { ...second!, stamp: stampNo(1, 2) };
  await fill(node, [newer]);
  await stream.write(Want, { bitVector: Uint8Array.of(0b111) });
  expect(await stream.read(Delivery)).toEqual(delivered(chunks[0]!));
  expect(await stream.read(Delivery)).toEqual({
    address: new Uint8Array(0),
    data: new Uint8Array(0),
    stamp: new Uint8Array(0),
  });
  expect(await stream.read(Delivery)).toEqual(delivered(chunks[2]!));
  expect(await metric(node, 'pullsync_missing_chunks')).toBe(1);
});

test('a peer gets 250 chunks at once and 250 per second after that, independently of other peers', async () => {
  const context = await served({ filled: 250 });
  const { clock, node, ask } = context;
  const want = async (stream: MessageStream) => {
    await stream.read(Offer);
    await stream.write(Want, { bitVector: bits(250) });
    return outcome(stream.read(Delivery));
  };
  const first = await want(await ask(1n));
  await clock.settle();
  expect(first.value).toBeDefined();
  const second = await want(await ask(1n));
  await clock.advance(990);
  expect(second).toEqual({});
  const { client, peer } = await another(3, node, context);
  const other = await client.host.open(peer, PULLSYNC.id, { signal: never });
  await other.write(Get, { bin: 0, start: 1n });
  const third = await want(other);
  await clock.settle();
  expect(third.value).toBeDefined();
  await clock.advance(10);
  expect(second.value).toBeDefined();
});

test('a page from which nothing is wanted costs one chunk of the rate', async () => {
  const { clock, ask } = await served({ filled: 250 });
  const page = async (wanted: number) => {
    const stream = await ask(1n);
    await stream.read(Offer);
    await stream.write(Want, { bitVector: bits(wanted) });
    return wanted === 0 ? outcome(stream.close()) : outcome(stream.read(Delivery));
  };
  await page(249);
  const empty = await page(0);
  await clock.settle();
  expect(empty).toHaveProperty('value');
  const late = await page(1);
  await clock.settle();
  expect(late).toEqual({});
  await clock.advance(4);
  expect(late.value).toBeDefined();
});

test.each([-1, 32])('bin %i is refused', async (bin) => {
  const { ask } = await served();
  const stream = await ask(1n, bin);
  await expect(stream.read(Offer)).rejects.toMatchObject({ code: 'STREAM_RESET' });
});

test('the highest possible start waits like any other', async () => {
  const { clock, node, ask } = await served({ filled: 1 });
  const offer = outcome((await ask(2n ** 64n - 1n)).read(Offer));
  await fill(node, chunksInBin(node.overlay, 0, 2));
  await clock.advance(5000);
  expect(offer).toEqual({});
});

test.each([
  ['with too few bits', Uint8Array.of(255)],
  ['that is empty', new Uint8Array(0)],
])('a Want %s is refused', async (_what, bitVector) => {
  const { clock, ask } = await served({ filled: 9 });
  const stream = await ask(1n);
  await clock.advance(1000);
  await stream.read(Offer);
  await stream.write(Want, { bitVector });
  await expect(stream.read(Delivery)).rejects.toMatchObject({ code: 'STREAM_RESET' });
});

test('a Want that comes before the offer ends the stream', async () => {
  const { clock, ask } = await served();
  const stream = await ask(1n);
  await stream.write(Want, { bitVector: Uint8Array.of(1) });
  const read = outcome(stream.read(Offer));
  await clock.settle();
  expect(read.error).toMatchObject({ code: 'STREAM_RESET' });
});

test.each([
  ['Get', PULLSYNC.id, async () => undefined],
  ['Syn', CURSORS.id, async () => undefined],
  [
    'Want',
    PULLSYNC.id,
    async (stream: MessageStream, clock: ManualClock) => {
      await stream.write(Get, { bin: 0, start: 1n });
      await clock.advance(1000);
      await stream.read(Offer);
    },
  ],
])('a peer that does not send its %s within 30 seconds is not waited for', async (_name, protocol, begin) => {
  const { clock, client, peer } = await served({ filled: 1 });
  const stream = await client.host.open(peer, protocol, { signal: never });
  await clock.settle();
  await begin(stream, clock);
  const read = outcome(stream.read(Delivery));
  await clock.advance(29_000);
  expect(read).toEqual({});
  await clock.advance(1_000);
  expect(read.error).toMatchObject({ code: 'STREAM_RESET' });
});

test('a peer that does not read its deliveries is given up after three minutes', async () => {
  const { clock, node, ask } = await served({ filled: 250 });
  // The transport has no room for all of them.
  node.reserve.load = (...given) => {
    const held = node.store.reserve.load(...given);
    return held && { ...held, chunk: { ...held.chunk, data: new Uint8Array(4104) } };
  };
  const stream = await ask(1n);
  await stream.read(Offer);
  await stream.write(Want, { bitVector: bits(250) });
  await clock.advance(179_000);
  expect(await metric(node, 'pullsync_chunks_sent')).toBeLessThan(250);
  await clock.advance(1_000);
  const reading = async () => {
    for (let i = 0; i < 250; i++) await stream.read(Delivery);
  };
  await expect(reading()).rejects.toMatchObject({ code: 'STREAM_RESET' });
});

test('the delivered chunk carries the stamp that was offered', async () => {
  const { clock, ask, node } = await served();
  const [one] = chunksInBin(node.overlay, 0, 1);
  const twice = [
    { ...one!, stamp: stampNo(1) },
    { ...one!, stamp: stampNo(2) },
  ];
  await fill(node, twice);
  const stream = await ask(1n);
  await clock.advance(1000);
  await stream.read(Offer);
  await stream.write(Want, { bitVector: Uint8Array.of(0b10) });
  const { stamp } = await stream.read(Delivery);
  expect(toHex(decodeStamp(stamp).index)).toBe(toHex(stampNo(2).index));
});

test('malformed messages are refused', async () => {
  const { client, peer, clock } = await served({ filled: 1 });
  const stream = await client.host.open(peer, PULLSYNC.id, { signal: never });
  await stream.write({ bin: [1, 'bytes'] }, { bin: Uint8Array.of(1, 2, 3) });
  const read = outcome(stream.read(Offer));
  await clock.settle();
  expect(read.error).toMatchObject({ code: 'STREAM_RESET' });
});
