import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { decodeMessage, encodeFrame } from '../../../../node/p2p/codec/codec.ts';
import { FrameReader } from '../../../../node/p2p/stream/framing.ts';
import { createPullsync } from '../../../../node/protocols/pullsync/pullsync.ts';
import { CURSORS, Delivery, Get, Offer, PULLSYNC, Want } from '../../../../node/protocols/pullsync/wire.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import vectors from '../../../vectors/pullsync.json' with { type: 'json' };
import { fakePeer } from '../../topology/fake-peer.ts';
import { never } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import { chunksInBin, delivered, offered, outcome } from './pull-nodes.ts';
import { type RawEnd, rawHost, rawStream } from './raw-streams.ts';

const OWN = new Uint8Array(32);
const PEER = new Uint8Array(32).fill(0xff);
const LONG_MS = 3_600_000;

const [RECORDED] = vectors.cases;
const RECEIVED = fromHex(RECORDED!.pulled.received.join(''));
const STAMPS = offeredStamps(RECORDED!.pulled.received[0]!);

function offeredStamps(frame: string): string[] {
  const reader = new FrameReader();
  reader.push(fromHex(frame));
  return decodeMessage(Offer, reader.next()!.bytes).chunks.map(({ stampHash }) => toHex(stampHash));
}

async function node() {
  const clock = new ManualClock();
  const log = silentLogger();
  const end = rawStream(fakePeer(PEER, { direction: 'outbound' }), clock);
  const { host, serve } = rawHost(OWN, () => end);
  const options = { cacheCapacity: 0, reserveCapacity: 1000, radius: 0 };
  const { reserve } = await createMemoryStore(options, { clock, log, overlay: OWN });
  const metrics = createMetrics({ prefix: 'svc' });
  const postage = { validate: () => undefined };
  const pullsync = createPullsync(
    { bySum: false },
    { host, reserve, postage, onDelivered: () => undefined, clock, log, metrics },
  );
  return { clock, end, serve, reserve, pullsync, peer: end.stream.peer };
}

function arrive(end: RawEnd, bytes: Uint8Array, size: number): void {
  for (let at = 0; at < bytes.length; at += size) end.push(bytes.subarray(at, at + size));
}

const bytes = fc.uint8Array({ maxLength: 400 });
const pieces = fc.integer({ min: 1, max: 64 });

property.prop([bytes, pieces])(
  'a peer that answers with any bytes and ends is done with',
  async (given, size) => {
    const { end, pullsync, peer, reserve } = await node();
    arrive(end, given, size);
    end.end();
    const page = await pullsync.sync(peer, 0, 1n, never).catch((error: unknown) => error);
    if (page instanceof Error) expect(page).toHaveProperty('code');
    expect(reserve.size()).toBe(0);
  },
);

property.prop([bytes, pieces])(
  'a peer that lists with any bytes and ends is done with',
  async (given, size) => {
    const { end, pullsync, peer } = await node();
    arrive(end, given, size);
    end.end();
    const listed = await pullsync.list(peer, 0, 1n, never).catch((error: unknown) => error);
    if (listed instanceof Error) expect(listed).toHaveProperty('code');
    else expect(listed).toMatchObject({ topmost: expect.any(BigInt), entries: expect.any(Array) });
  },
);

property.prop([fc.nat(RECEIVED.length - 1), pieces])(
  'an answer cut anywhere fails the page',
  async (cut, size) => {
    const { end, pullsync, peer } = await node();
    arrive(end, RECEIVED.subarray(0, cut), size);
    end.end();
    await expect(pullsync.sync(peer, 0, 1n, never)).rejects.toMatchObject({ code: 'STREAM_ENDED' });
  },
);

property.prop([fc.nat(RECEIVED.length - 1), fc.integer({ min: 1, max: 255 })])(
  'an answer with one byte changed stores nothing that is not a chunk',
  async (at, change) => {
    const { end, pullsync, peer, reserve } = await node();
    const changed = Uint8Array.from(RECEIVED);
    changed[at]! ^= change;
    arrive(end, changed, 64);
    end.end();
    await pullsync.sync(peer, 0, 1n, never).catch((error: unknown) => expect(error).toHaveProperty('code'));
    const known = new Set(STAMPS);
    const bins = Array.from({ length: 32 }, (_, bin) => reserve.items(bin, 1n, 100)).flat();
    expect(bins.filter(({ stampHash }) => !known.has(toHex(stampHash)))).toEqual([]);
  },
);

property.prop([fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }), pieces])(
  'deliveries in any order are all stored',
  async (order, size) => {
    const { end, pullsync, peer, reserve } = await node();
    const chunks = chunksInBin(PEER, 0, 5);
    arrive(end, encodeFrame(Offer, { topmost: 5n, chunks: chunks.map(offered) }), size);
    for (const index of order) arrive(end, encodeFrame(Delivery, delivered(chunks[index]!)), size);
    end.end();
    expect(await pullsync.sync(peer, 0, 1n, never)).toMatchObject({ topmost: 5n, count: 5, errors: [] });
    expect(reserve.size()).toBe(5);
  },
);

test('messages in the wrong order fail the page', async () => {
  const { end, pullsync, peer, reserve } = await node();
  const [one] = chunksInBin(PEER, 0, 1);
  end.push(encodeFrame(Delivery, delivered(one!)));
  end.push(encodeFrame(Offer, { topmost: 1n, chunks: [offered(one!)] }));
  end.end();
  await expect(pullsync.sync(peer, 0, 1n, never)).rejects.toHaveProperty('code');
  expect(reserve.size()).toBe(0);
});

test('a message longer than 128 KiB fails the page at its first bytes', async () => {
  const { end, pullsync, peer } = await node();
  end.push(Uint8Array.of(0x81, 0x80, 0x08));
  await expect(pullsync.sync(peer, 0, 1n, never)).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
});

test('deliveries that never end their message are given up after three minutes', async () => {
  const { clock, end, pullsync, peer } = await node();
  const [one] = chunksInBin(PEER, 0, 1);
  end.push(encodeFrame(Offer, { topmost: 1n, chunks: [offered(one!)] }));
  const page = outcome(pullsync.sync(peer, 0, 1n, never));
  const frame = encodeFrame(Delivery, delivered(one!));
  for (let at = 0; at < frame.length - 1 && at < 17; at++) {
    end.push(frame.subarray(at, at + 1));
    await clock.advance(10_000);
  }
  expect(page).toEqual({});
  await clock.advance(10_000);
  expect(page.error).toMatchObject({ code: 'TIMEOUT' });
});

property.prop([bytes, pieces])(
  'a peer that asks with any bytes and ends is done with',
  async (given, size) => {
    for (const id of [PULLSYNC.id, CURSORS.id]) {
      const { clock, end, serve } = await node();
      const served = outcome(serve(id, end));
      arrive(end, given, size);
      end.end();
      await clock.settle();
      expect(Object.keys(served)).toHaveLength(1);
    }
  },
);

property.prop([bytes, pieces])(
  'a peer that asks with any bytes and stays is done with in time',
  async (given, size) => {
    const { clock, end, serve, reserve } = await node();
    const [one] = chunksInBin(OWN, 0, 1);
    await reserve.put(one!.chunk, one!.stamp);
    const served = outcome(serve(PULLSYNC.id, end));
    arrive(end, given, size);
    await clock.advance(LONG_MS);
    const waits = given.length > 0 && end.written.length === 0 && Object.keys(served).length === 0;
    // A whole Get for what is not there is waited for.
    if (!waits) expect(Object.keys(served)).toHaveLength(1);
  },
);

property.prop([bytes, pieces])('a Want of any bytes ends the conversation', async (given, size) => {
  const { clock, end, serve, reserve } = await node();
  const [one] = chunksInBin(OWN, 0, 1);
  await reserve.put(one!.chunk, one!.stamp);
  const served = outcome(serve(PULLSYNC.id, end));
  end.push(encodeFrame(Get, { bin: 0, start: 1n }));
  await clock.advance(1000);
  arrive(end, given, size);
  await clock.advance(LONG_MS);
  expect(Object.keys(served)).toHaveLength(1);
  expect(end.written.length).toBeLessThanOrEqual(2);
});

property.prop([fc.uint8Array({ minLength: 1, maxLength: 40 })])(
  'any bit vector gets as many deliveries as it has bits',
  async (vector) => {
    const { clock, end, serve, reserve } = await node();
    const chunks = chunksInBin(OWN, 0, 5);
    for (const { chunk, stamp } of chunks) await reserve.put(chunk, stamp);
    const served = outcome(serve(PULLSYNC.id, end));
    end.push(encodeFrame(Get, { bin: 0, start: 1n }));
    await clock.advance(1000);
    end.push(encodeFrame(Want, { bitVector: vector }));
    await clock.advance(LONG_MS);
    expect(served).toHaveProperty('value');
    const bits = [0, 1, 2, 3, 4].filter((bit) => (vector[0]! & (1 << bit)) !== 0);
    expect(end.written).toHaveLength(1 + bits.length);
  },
);
