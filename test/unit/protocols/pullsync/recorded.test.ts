import { expect, test } from 'vitest';
import { decodeStamp, stampHash } from '../../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../../formats/chunk/validate.ts';
import { fromHex } from '../../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { decodeMessage } from '../../../../node/p2p/codec/codec.ts';
import type { MessageTable } from '../../../../node/p2p/codec/message.ts';
import { FrameReader } from '../../../../node/p2p/stream/framing.ts';
import { validateStamp } from '../../../../node/postage/validation.ts';
import { createPullsync } from '../../../../node/protocols/pullsync/pullsync.ts';
import { CURSORS, Delivery, Get, Offer, PULLSYNC } from '../../../../node/protocols/pullsync/wire.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import vectors from '../../../vectors/pullsync.json' with { type: 'json' };
import { fakePeer } from '../../topology/fake-peer.ts';
import { never } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import { outcome } from './pull-nodes.ts';
import { pushHex, rawHost, rawStream } from './raw-streams.ts';

type Recorded = (typeof vectors.cases)[number];

function decoded<T extends MessageTable>(table: T, frame: string) {
  const reader = new FrameReader();
  reader.push(fromHex(frame));
  return decodeMessage(table, reader.next()!.bytes);
}

async function node({ overlay: ours, peer: theirs, batch }: Recorded) {
  const clock = new ManualClock();
  const overlay = fromHex(ours);
  const log = silentLogger();
  const end = rawStream(fakePeer(fromHex(theirs), { direction: 'outbound' }), clock);
  const { host, serve } = rawHost(overlay, () => end);
  const options = { cacheCapacity: 0, reserveCapacity: 1000, radius: 0 };
  const { reserve } = await createMemoryStore(options, { clock, log, overlay });
  const known = {
    id: fromHex(batch.id),
    owner: fromHex(batch.owner),
    depth: batch.depth,
    bucketDepth: batch.bucketDepth,
    value: 1n,
    start: 1,
    immutable: true,
  };
  const pullsync = createPullsync(
    { bySum: false },
    {
      onDelivered: () => undefined,
      host,
      reserve,
      postage: { validate: ({ address }, stamp) => validateStamp(address, stamp, known) },
      clock,
      log,
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  return { clock, end, serve, reserve, pullsync, peer: end.stream.peer };
}

test.each(vectors.cases)('cursors of $version', async (recorded) => {
  const { pullsync, peer, end } = await node(recorded);
  pushHex(end, [recorded.cursors.received]);
  const { cursors, epoch } = await pullsync.cursors(peer, never);
  expect(end.written).toEqual([recorded.cursors.sent]);
  expect(cursors).toHaveLength(32);
  expect(cursors.some((cursor) => cursor > 0n)).toBe(true);
  expect(epoch).toBeGreaterThan(1_700_000_000n);
});

test.each(vectors.cases)('pulling from $version', async (recorded) => {
  const { pullsync, peer, end, reserve } = await node(recorded);
  const { sent, received } = recorded.pulled;
  pushHex(end, received);
  end.end();
  const { bin, start } = decoded(Get, sent[0]!);
  const offer = decoded(Offer, received[0]!);
  expect(await pullsync.sync(peer, bin, start, never)).toEqual({
    topmost: offer.topmost,
    count: offer.chunks.length,
    errors: [],
  });
  expect(end.written).toEqual(sent);
  expect(offer.chunks.length).toBe(received.length - 1);
  for (const { address, batchId, stampHash: hash } of offer.chunks) {
    expect(reserve.has(address, batchId, hash)).toBe(true);
  }
});

test.each(vectors.cases)('serving $version', async (recorded) => {
  const { clock, serve, end, reserve } = await node(recorded);
  const { sent, received } = recorded.served;
  for (const frame of sent.slice(1)) {
    const { address, data, stamp } = decoded(Delivery, frame);
    await reserve.put(chunkFrom(address, data), decodeStamp(stamp));
  }
  expect(decoded(Offer, sent[0]!).chunks.map((chunk) => chunk.stampHash)).toEqual(
    sent.slice(1).map((frame) => stampHash(decodeStamp(decoded(Delivery, frame).stamp))),
  );
  const served = outcome(serve(PULLSYNC.id, end));
  pushHex(end, [received[0]!]);
  await clock.advance(1000);
  pushHex(end, [received[1]!]);
  await clock.settle();
  expect(served).toHaveProperty('value');
  expect(end.written).toEqual(sent);
});

test('the recordings are of both generations', () => {
  expect(vectors.cases.map(({ version }) => version)).toEqual(['2.8.1', '2.7.1']);
  expect(CURSORS.id).toBe('/swarm/pullsync/1.4.0/cursors');
});
