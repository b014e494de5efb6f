import { fc } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { encodeFrame } from '../../../node/p2p/codec/codec.ts';
import { Ack, Syn, SynAck } from '../../../node/p2p/handshake/wire.ts';
import { HostError } from '../../../node/p2p/host.ts';
import { LINKS_MAX, LINKS_PER_PEER_MAX } from '../../../node/p2p/peers/link-limits.ts';
import { STRANGERS_MAX } from '../../../node/p2p/peers/strangers.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import {
  ackOf,
  GENERATIONS,
  idOf,
  introduce,
  NEWER,
  never,
  OTHER_ID,
  observed,
  started,
  THEIR_OVERLAY,
} from './introductions-kit.ts';
import { OWN_ID, scriptedNode, scriptedStream, THEIR_ADDRESS } from './scripted-transport.ts';

test('a node that never introduces itself is disconnected after two minutes, a peer is not', async () => {
  const { clock, node, isServed } = await started();
  const [stranger, peer] = [node.link({ remoteId: OWN_ID.replace(/.$/, 'X') }), node.link()];
  await introduce(node, peer, { clock });
  expect(await isServed(stranger)).toBe(false);
  await clock.advance(119_999);
  expect(stranger.ended()).toBeUndefined();
  await clock.advance(1);
  expect(stranger.ended()?.message).toBe('no introduction');
  expect(peer.ended()).toBeUndefined();
});

test('an introduction that stalls halfway ends its connection after fifteen seconds', async () => {
  const { clock, node } = await started();
  const link = node.link();
  const stream = scriptedStream();
  node.accept(link, NEWER, stream.raw);
  stream.inbox.push(encodeFrame(Syn, observed));
  await clock.advance(14_999);
  expect([stream.over(), link.ended()]).toEqual([false, undefined]);
  await clock.advance(1);
  expect(stream.over()).toBe(true);
  expect(link.ended()).toMatchObject({ code: 'TIMEOUT' });
});

test('a dialled node that stays silent is given up after fifteen seconds', async () => {
  const { clock, node } = await started();
  const link = node.link({ direction: 'outbound', stream: scriptedStream().raw, remoteId: OWN_ID });
  node.dialled = link;
  const dialling = expect(node.host.connect([THEIR_ADDRESS], never)).rejects.toMatchObject({
    code: 'HANDSHAKE_FAILED',
  });
  await clock.advance(15_000);
  await dialling;
  expect(link.ended()).toBeDefined();
});

const syn = encodeFrame(Syn, observed);

// ── nonsense ────────────────────────────────────────────────────────────────────────────────────────────────────────

const clock = new ManualClock();

const acks = GENERATIONS.map((generation) => encodeFrame(Ack, ackOf(clock, { generation })));

const synAcks = GENERATIONS.map((generation) =>
  encodeFrame(SynAck, { syn: observed, ack: ackOf(clock, { generation }) }),
);

/** As an honest node sends them, dialling or dialled, or in any other order. */
const sequence = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...acks.map((ack) => [syn, ack]), ...synAcks.map((one) => [one])) },
  { weight: 1, arbitrary: fc.shuffledSubarray([syn, ...acks, ...synAcks], { minLength: 1 }) },
);

/** Cut, repeated, swapped, changed, or no messages at all. */
const arrivals = fc
  .record({
    frames: sequence,
    noise: fc.uint8Array({ maxLength: 300 }),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    how: fc.constantFrom('cut', 'flip', 'insert', 'leave'),
    step: fc.integer({ min: 1, max: 400 }),
  })
  .map(({ frames, noise, at, how, step }) => {
    const bytes = new Uint8Array(Buffer.concat(frames));
    const index = Math.min(bytes.length - 1, Math.floor(at * bytes.length));
    const changed = changedBytes(bytes, { how, index, noise });
    return Array.from({ length: Math.ceil(changed.length / step) }, (_, i) =>
      changed.subarray(i * step, (i + 1) * step),
    );
  });

function changedBytes(
  bytes: Uint8Array,
  { how, index, noise }: { how: string; index: number; noise: Uint8Array },
): Uint8Array {
  if (how === 'cut') return bytes.subarray(0, index);
  if (how === 'flip') return bytes.map((byte, i) => (i === index ? byte ^ ((noise[0] ?? 0) | 1) : byte));
  if (how === 'leave') return bytes;
  return new Uint8Array(Buffer.concat([bytes.subarray(0, index), noise, bytes.subarray(index)]));
}

test('whatever a dialler sends, it becomes a peer under its own overlay, or its connection ends', async () => {
  const node = await scriptedNode(clock);
  await fc.assert(
    fc.asyncProperty(arrivals, fc.constantFrom(...GENERATIONS), async (parts, generation) => {
      const link = node.link();
      const stream = scriptedStream();
      node.accept(link, idOf(generation), stream.raw);
      for (const part of parts) stream.inbox.push(part);
      stream.inbox.end();
      await clock.settle();
      expect(stream.over()).toBe(true);
      const peers = node.host.peers();
      if (peers.length === 0) expect(link.ended()).toMatchObject({ code: expect.any(String) });
      else expect(peers.map(({ overlay }) => overlay)).toEqual([THEIR_OVERLAY]);
      link.close(new Error('next'));
    }),
    { numRuns: 150 },
  );
});

test('whatever a dialled node answers, it becomes a peer under its own overlay, or the dial fails', async () => {
  const node = await scriptedNode(clock);
  await fc.assert(
    fc.asyncProperty(arrivals, async (parts) => {
      const stream = scriptedStream();
      const link = node.link({ direction: 'outbound', stream: stream.raw });
      node.dialled = link;
      for (const part of parts) stream.inbox.push(part);
      stream.inbox.end();
      const result = await node.host.connect([THEIR_ADDRESS], never).catch((error: unknown) => error);
      expect(stream.over()).toBe(true);
      if (result instanceof HostError) {
        expect(result.code).toBe('HANDSHAKE_FAILED');
        expect(link.ended()).toBeDefined();
        expect(node.host.peers()).toEqual([]);
      } else expect(result).toMatchObject({ overlay: THEIR_OVERLAY });
      link.close(new Error('next'));
    }),
    { numRuns: 150 },
  );
});

describe('strangers', () => {
  const address = (i: number) => `/ip4/8.8.${i >> 8}.${i & 0xff}/tcp/1634`;

  test('beyond all limits never cost a peer its connection, and there is always room for the next stranger', async () => {
    const { clock, node } = await started();
    const peer = node.link({ remoteAddress: address(0) });
    await introduce(node, peer, { clock });
    const strangers = Array.from({ length: LINKS_MAX }, (_, i) =>
      node.link({ remoteId: `stranger ${i}`, remoteAddress: address(i + 1) }),
    );
    expect(strangers.filter((link) => link.ended() === undefined)).toHaveLength(STRANGERS_MAX);
    expect(strangers.at(-1)?.ended()).toBeUndefined();
    const other = node.link({ remoteId: OTHER_ID, remoteAddress: address(LINKS_MAX + 1) });
    await introduce(node, other, { clock, n: 3 });
    expect(node.host.peers()).toHaveLength(2);
    expect(peer.ended()).toBeUndefined();
  });

  test('are ended after a while, peers are not', async () => {
    const { clock, node } = await started();
    const [peer, stranger] = [node.link(), node.link({ remoteId: OTHER_ID })];
    await introduce(node, peer, { clock });
    await clock.advance(120_000);
    expect(peer.ended()).toBeUndefined();
    expect(stranger.ended()?.message).toBe('no introduction');
    expect(clock.running).toBe(0);
  });

  test('that show the overlay of a peer under another identity are ended like others', async () => {
    const { clock, node } = await started();
    await introduce(node, node.link(), { clock });
    const impostor = node.link({ remoteId: OTHER_ID });
    await introduce(node, impostor, { clock });
    await clock.advance(120_000);
    expect(impostor.ended()?.message).toBe('no introduction');
    expect(node.host.peers()).toHaveLength(1);
  });
});

test('a peer may have a few connections at once: the next one ends its oldest spare connection', async () => {
  const { clock, node, isServed } = await started();
  const first = node.link();
  await introduce(node, first, { clock });
  const others = Array.from({ length: LINKS_PER_PEER_MAX + 1 }, () => node.link());
  expect(others.map((link) => link.ended() === undefined)).toEqual([false, false, true, true, true]);
  expect(await isServed(first)).toBe(true);
});
