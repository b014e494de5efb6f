import { expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { parseSoc, socAddress } from '../../../../formats/chunk/soc.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import type { MessageStream } from '../../../../node/p2p/host.ts';
import { PostageError } from '../../../../node/postage/ports.ts';
import { Ack, CURSORS, Delivery, Get, Offer, Syn, Want } from '../../../../node/protocols/pullsync/wire.ts';
import { testKey } from '../../p2p/memory-nodes.ts';
import { connect, never, stranger } from '../exchange-nodes.ts';
import { delivered, fill, holds, metric, offered, outcome, type Stamped, stampNo } from './pull-nodes.ts';
import { ALL, deliverAll, inBin, NO_CURSORS, pulling, type Script } from './pulling-kit.ts';

function single(signed: { owner: number; text: string }, index: number): Stamped {
  const id = new Uint8Array(32).fill(3);
  const signer = createSigner(testKey(signed.owner));
  const wrapped = makeCac(BigInt(signed.text.length), new TextEncoder().encode(signed.text));
  const data = Buffer.concat([id, signer.sign(keccak256(id, wrapped.address)), wrapped.data]);
  const chunk = parseSoc(socAddress(id, signer.address), new Uint8Array(data));
  return { chunk: chunk!, stamp: stampNo(index) };
}

test('a page is asked for, verified and stored', async () => {
  const { node, server, sync } = await pulling();
  const chunks = inBin(node, 0, 10);
  const one = await server({ offer: chunks });
  expect(await sync(one)).toEqual({ topmost: 10n, count: 10, errors: [] });
  expect(chunks.filter((chunk) => !holds(node, chunk))).toEqual([]);
  expect(node.store.chunks.get(chunks[3]!.chunk.address)).toEqual(chunks[3]!.chunk);
  for (const name of ['offered', 'wanted', 'delivered']) {
    expect(await metric(node, `pullsync_chunks_${name}`), name).toBe(10);
  }
  expect(await node.metrics.expose()).toContain('svc_pullsync_last_received{bin="0"} 10');
});

test('chunks that are held already or lie outside our own radius are not wanted', async () => {
  const { node, server, sync } = await pulling({ radius: 2 });
  const chunks = [...inBin(node, 1, 2), ...inBin(node, 2, 2), ...inBin(node, 5, 1)];
  await fill(node, [chunks[2]!]);
  const one = await server({ offer: chunks });
  expect(await sync(one)).toMatchObject({ topmost: 5n, count: 2 });
  expect(one.wants).toEqual([[3, 4]]);
});

test('the same chunk under another stamp is wanted', async () => {
  const { node, server, sync } = await pulling();
  const [chunk] = inBin(node, 0, 1);
  await fill(node, [chunk!]);
  const again = { ...chunk!, stamp: stampNo(77) };
  const one = await server({ offer: [chunk!, again] });
  expect(await sync(one)).toMatchObject({ count: 1 });
  expect(one.wants).toEqual([[1]]);
  expect(holds(node, again)).toBe(true);
});

test('an offer of chunks that are all held is answered with a Want without bits', async () => {
  const { node, server, sync } = await pulling();
  const chunks = inBin(node, 0, 9);
  await fill(node, chunks);
  const one = await server({ offer: chunks });
  expect(await sync(one)).toEqual({ topmost: 9n, count: 0, errors: [] });
  expect(one.wants).toEqual([[]]);
});

test('an empty offer ends the page where the peer says, without a Want', async () => {
  const { server, sync } = await pulling();
  const one = await server({ offer: [], topmost: 0n });
  expect(await sync(one, { start: 4n })).toEqual({ topmost: 0n, count: 0, errors: [] });
});

test('single-owner chunks are pulled, whoever owns them', async () => {
  const { node, server, sync } = await pulling();
  const offer = [single({ owner: 5, text: 'one' }, 1), single({ owner: 6, text: 'two' }, 2)];
  expect(await sync(await server({ offer }))).toEqual({ topmost: 2n, count: 2, errors: [] });
  expect(offer.every((one) => holds(node, one))).toBe(true);
});

test('a page in which a chunk is offered twice is answered once', async () => {
  const { node, server, sync } = await pulling();
  const [chunk] = inBin(node, 0, 1);
  const one = await server({ offer: [chunk!, chunk!] });
  expect(await sync(one)).toEqual({ topmost: 2n, count: 1, errors: [] });
  expect(one.wants).toEqual([[0]]);
});

test('deliveries may come in any order', async () => {
  const { node, server, sync } = await pulling();
  const offer = inBin(node, 0, 5);
  const one = await server({ offer, deliver: (stream, wanted) => deliverAll(stream, wanted.toReversed()) });
  expect(await sync(one)).toEqual({ topmost: 5n, count: 5, errors: [] });
});

test('a chunk that the peer has lost is passed over', async () => {
  const { node, server, sync } = await pulling();
  const offer = inBin(node, 0, 3);
  const one = await server({
    offer,
    async deliver(stream, [first, , third]) {
      await deliverAll(stream, [first!]);
      await stream.write(Delivery, {});
      await deliverAll(stream, [third!]);
    },
  });
  expect(await sync(one)).toEqual({ topmost: 3n, count: 2, errors: [] });
  expect(await metric(node, 'pullsync_received_zero_address')).toBe(1);
});

/** The second of three deliveries. */
const BAD: readonly (readonly [string, (good: Stamped, other: Stamped) => object, object])[] = [
  [
    'of another chunk',
    (_good, other) => delivered(other),
    { code: 'CHUNK_UNSOLICITED', message: 'peer sent unsolicited chunk' },
  ],
  [
    'under another stamp',
    (good) => delivered({ ...good, stamp: stampNo(500) }),
    { code: 'CHUNK_UNSOLICITED' },
  ],
  [
    'without a stamp',
    (good) => ({ ...delivered(good), stamp: new Uint8Array(0) }),
    { code: 'STAMP_INVALID' },
  ],
  [
    'with a stamp of 112 bytes',
    (good) => ({ ...delivered(good), stamp: new Uint8Array(112) }),
    { code: 'STAMP_INVALID' },
  ],
  [
    'with other data',
    (good, other) => ({ ...delivered(good), data: other.chunk.data }),
    { code: 'CHUNK_INVALID' },
  ],
  ['without data', (good) => ({ ...delivered(good), data: new Uint8Array(0) }), { code: 'CHUNK_INVALID' }],
  [
    'with more data than a chunk has',
    (good) => ({ ...delivered(good), data: new Uint8Array(100_000) }),
    { code: 'CHUNK_INVALID' },
  ],
  [
    'with an address of 31 bytes',
    (good) => ({ ...delivered(good), address: new Uint8Array(31) }),
    { code: 'CHUNK_INVALID' },
  ],
];

test.each(BAD)('a delivery %s costs that chunk only', async (_what, spoil, error) => {
  const { node, server, sync } = await pulling();
  const [first, second, third, other] = inBin(node, 0, 4) as [Stamped, Stamped, Stamped, Stamped];
  const one = await server({
    offer: [first, second, third],
    async deliver(stream) {
      await deliverAll(stream, [first]);
      await stream.write(Delivery, spoil(second, other));
      await deliverAll(stream, [third]);
    },
  });
  expect(await sync(one)).toMatchObject({ topmost: 3n, count: 2, errors: [error] });
  expect([first, second, third, other].map((chunk) => holds(node, chunk))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

test('a single-owner chunk under an address other than its own is refused', async () => {
  const { node, server, sync } = await pulling();
  const [real, victim] = [single({ owner: 5, text: 'one' }, 1), single({ owner: 6, text: 'two' }, 2)];
  const forged = { chunk: { ...victim.chunk, data: real.chunk.data }, stamp: victim.stamp };
  const one = await server({ offer: [forged] });
  expect(await sync(one)).toMatchObject({ count: 0, errors: [{ code: 'CHUNK_INVALID' }] });
  expect(holds(node, victim)).toBe(false);
  expect(await metric(node, 'pullsync_received_invalid_chunks')).toBe(1);
});

test('a chunk whose stamp the batch store does not accept is refused', async () => {
  const { node, server, sync } = await pulling();
  const offer = inBin(node, 0, 3);
  node.validate = (chunk) => {
    if (Buffer.compare(chunk.address, offer[1]!.chunk.address) === 0) {
      throw new PostageError('STAMP_INVALID', 'owner mismatch');
    }
  };
  expect(await sync(await server({ offer }))).toMatchObject({
    topmost: 3n,
    count: 2,
    errors: [{ code: 'STAMP_INVALID', message: 'owner mismatch' }],
  });
  expect(offer.map((chunk) => holds(node, chunk))).toEqual([true, false, true]);
});

test('a chunk delivered twice is unsolicited the second time', async () => {
  const { node, server, sync } = await pulling();
  const [first, second] = inBin(node, 0, 2) as [Stamped, Stamped];
  const one = await server({
    offer: [first, second],
    deliver: (stream) => deliverAll(stream, [first, first]),
  });
  expect(await sync(one)).toMatchObject({ topmost: 2n, count: 1, errors: [{ code: 'CHUNK_UNSOLICITED' }] });
  expect(holds(node, second)).toBe(false);
});

test('an older stamp on a used index is passed over', async () => {
  const { node, server, sync } = await pulling();
  const [one, two] = inBin(node, 0, 2) as [Stamped, Stamped];
  await fill(node, [{ chunk: one.chunk, stamp: stampNo(5, 9) }]);
  const old = { chunk: two.chunk, stamp: stampNo(5, 8) };
  const next = { ...two, stamp: stampNo(6) };
  expect(await sync(await server({ offer: [old, next] }))).toMatchObject({
    topmost: 2n,
    count: 1,
    errors: [{ code: 'OVERWRITE_NEWER' }],
  });
  expect([holds(node, old), holds(node, next)]).toEqual([false, true]);
});

test('a store that fails fails the page', async () => {
  const { node, server, sync } = await pulling();
  const offer = inBin(node, 0, 3);
  let puts = 0;
  node.reserve.put = (...given) =>
    ++puts === 2 ? Promise.reject(new Error('disk full')) : node.store.reserve.put(...given);
  const one = await server({ offer });
  await expect(sync(one)).rejects.toThrow('disk full');
  expect(await sync(one)).toEqual({ topmost: 3n, count: 1, errors: [] });
  expect(one.wants).toEqual([[0, 1, 2], [1]]);
});

test.each([
  ['31 bytes of address', { address: new Uint8Array(31) }],
  ['no address', { address: new Uint8Array(0) }],
  ['no batch', { batchId: new Uint8Array(0) }],
  ['no stamp', { stampHash: new Uint8Array(0) }],
])('an offer of a chunk with %s fails the page', async (_what, spoiled) => {
  const { node, server, sync } = await pulling();
  const chunks = inBin(node, 0, 2).map(offered);
  const one = await server(async (stream) => {
    await stream.read(Get);
    await stream.write(Offer, { topmost: 2n, chunks: [chunks[0]!, { ...chunks[1]!, ...spoiled }] });
    await stream.read(Want);
  });
  await expect(sync(one)).rejects.toMatchObject({ code: 'OFFER_INVALID' });
});

test('an offer that makes no progress fails the page', async () => {
  const { node, server, sync } = await pulling();
  const one = await server({ offer: inBin(node, 0, 2), topmost: 3n });
  await expect(sync(one, { start: 4n })).rejects.toMatchObject({ code: 'OFFER_INVALID' });
});

test('a page is not asked for when the reserve has no room for it', async () => {
  const { node, server, sync } = await pulling();
  const offer = inBin(node, 0, 3);
  node.reserve.hasRoomFor = (address) => Buffer.compare(address, offer[2]!.chunk.address) !== 0;
  const one = await server({ offer });
  await expect(sync(one)).rejects.toMatchObject({ name: 'PullsyncError', code: 'NO_ROOM' });
  expect([one.wants, offer.filter((chunk) => holds(node, chunk))]).toEqual([[], []]);
});

test('chunks that are held already or lie outside our own radius need no room', async () => {
  const { node, server, sync } = await pulling({ radius: 2 });
  const [far, held, wanted] = [1, 2, 3].map((bin) => inBin(node, bin, 1)[0]!) as [Stamped, Stamped, Stamped];
  await fill(node, [held]);
  node.reserve.hasRoomFor = (address) => Buffer.compare(address, wanted.chunk.address) === 0;
  expect(await sync(await server({ offer: [far, held, wanted] }))).toEqual({
    topmost: 3n,
    count: 1,
    errors: [],
  });
});

test('chunks for which there was no room can be asked of another peer once there is room', async () => {
  const { clock, node, server, sync } = await pulling();
  const offer = inBin(node, 0, 3);
  node.reserve.hasRoomFor = (address) => Buffer.compare(address, offer[2]!.chunk.address) !== 0;
  await expect(sync(await server({ offer }))).rejects.toMatchObject({ code: 'NO_ROOM' });
  node.reserve.hasRoomFor = () => true;
  const other = await server({ offer });
  const page = outcome(sync(other));
  await clock.settle();
  expect(page.value).toEqual({ topmost: 3n, count: 3, errors: [] });
  expect(other.wants).toEqual([[0, 1, 2]]);
});

test('listing names what both hold and wants none of it', async () => {
  const { node, server } = await pulling({ radius: 2 });
  const offer = [...inBin(node, 0, 2), ...inBin(node, 2, 2), ...inBin(node, 5, 1)];
  const both = [offer[2]!, offer[4]!];
  await fill(node, both);
  node.reserve.hasRoomFor = () => false;
  const one = await server({ offer, topmost: 9n });
  expect(await node.pullsync.list(one.peer, 0, 1n, never)).toEqual({
    topmost: 9n,
    entries: both.map(offered),
  });
  expect(one.wants).toEqual([[]]);
  expect([node.store.reserve.size(), node.seen]).toEqual([2, []]);
  expect(await metric(node, 'pullsync_chunks_offered')).toBe(0);
});

test('a list without entries ends without a Want', async () => {
  const { clock, node, server } = await pulling();
  let ended: unknown;
  const one = await server(async (stream) => {
    await stream.read(Get);
    await stream.write(Offer, { topmost: 0n, chunks: [] });
    ended = await stream.read(Want).catch((error: unknown) => error);
  });
  expect(await node.pullsync.list(one.peer, 0, 4n, never)).toEqual({ topmost: 0n, entries: [] });
  await clock.settle();
  expect(ended).toMatchObject({ code: 'STREAM_ENDED' });
});

test('a list with an invalid entry, or one that makes no progress, is refused', async () => {
  const { node, server } = await pulling();
  const offer = inBin(node, 0, 2);
  const slow = await server({ offer, topmost: 3n });
  await expect(node.pullsync.list(slow.peer, 0, 4n, never)).rejects.toMatchObject({ code: 'OFFER_INVALID' });
  const wrong = await server(async (stream) => {
    await stream.read(Get);
    await stream.write(Offer, {
      topmost: 2n,
      chunks: [{ ...offered(offer[0]!), batchId: new Uint8Array(31) }],
    });
    await stream.read(Want);
  });
  await expect(node.pullsync.list(wrong.peer, 0, 1n, never)).rejects.toMatchObject({ code: 'OFFER_INVALID' });
});

test.each(['list', 'sync'] as const)(
  'the offer that %s asks for is waited for without limit, and a caller that leaves resets the stream',
  async (ask) => {
    const { clock, node, silent } = await pulling();
    const one = await silent();
    const leaving = new AbortController();
    const page = outcome<unknown>(node.pullsync[ask](one.peer, 0, 1n, leaving.signal));
    await clock.advance(30 * 86_400_000);
    expect([page, one.ended]).toEqual([{}, undefined]);
    leaving.abort(new Error('never mind'));
    await clock.settle();
    expect(page.error).toMatchObject({ message: 'never mind' });
    expect(one.ended).toMatchObject({ code: 'STREAM_RESET' });
  },
);

test.each([31, 33])('%i cursors are refused', async (count) => {
  const { clock, network, node } = await pulling();
  const handler = async (stream: MessageStream) => {
    await stream.read(Syn);
    await stream.write(Ack, { cursors: Array.from({ length: count }, () => 1n), epoch: 1n });
  };
  const other = await stranger(2, { clock, network, protocol: CURSORS, handler });
  const peer = await connect(node, other, clock);
  await expect(node.pullsync.cursors(peer, never)).rejects.toMatchObject({ code: 'CURSORS_INVALID' });
});

test('a peer that does not support waiting answers at once, and is recognised by that', async () => {
  const { clock, network, node } = await pulling();
  const handler = async (stream: MessageStream) => {
    await stream.read(Syn);
    await stream.write(Ack, { cursors: NO_CURSORS, epoch: 7n });
  };
  const peer = await connect(node, await stranger(2, { clock, network, protocol: CURSORS, handler }), clock);
  const known = { cursors: NO_CURSORS, epoch: 7n };
  expect(await node.pullsync.changes(peer, ALL, known, never)).toEqual({ ...known, longPolls: false });
});

const FAILURES: readonly (readonly [string, Script['deliver'] & object, number])[] = [
  ['breaks off', () => Promise.reject(new Error('reset')), 0],
  ['delivers nothing of it', async (stream) => await deliverEmpty(stream, 3), 0],
  ['delivers something else', async (stream, wanted) => await deliverSpoiled(stream, wanted), 0],
  ['says nothing for 30 seconds', () => new Promise(() => undefined), 30_000],
];

async function deliverEmpty(stream: MessageStream, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await stream.write(Delivery, {});
}

async function deliverSpoiled(stream: MessageStream, wanted: readonly Stamped[]): Promise<void> {
  for (const one of wanted) await stream.write(Delivery, { ...delivered(one), data: new Uint8Array(50) });
}

test.each(FAILURES)(
  'a chunk is requested from the other peer when one peer %s',
  async (_how, deliver, afterMs) => {
    const { clock, node, server, sync } = await pulling();
    const offer = inBin(node, 0, 3);
    const bad = await server({
      offer,
      async deliver(stream, wanted) {
        await clock.sleep(100);
        await deliver(stream, wanted);
      },
    });
    const good = await server({ offer });
    outcome(sync(bad));
    await clock.settle();
    const page = outcome(sync(good));
    await clock.advance(99);
    expect(page).toEqual({});
    await clock.advance(Math.max(1, afterMs - 99));
    expect(page.value).toEqual({ topmost: 3n, count: 3, errors: [] });
    expect(good.wants).toEqual([[], [0, 1, 2]]);
    expect(offer.every((chunk) => holds(node, chunk))).toBe(true);
  },
);

test('a delivered chunk is seen when it and its stamp are valid, even when the reserve has a newer one', async () => {
  const { node, server, sync } = await pulling();
  const [good, forged, late] = inBin(node, 0, 3) as [Stamped, Stamped, Stamped];
  node.validate = (chunk) => {
    if (Buffer.compare(chunk.address, forged.chunk.address) === 0)
      throw new PostageError('STAMP_INVALID', 'signature of another owner');
  };
  const taken = { ...late, stamp: stampNo(500, 1) };
  await fill(node, [{ ...inBin(node, 1, 1)[0]!, stamp: stampNo(500, 2) }]);
  const one = await server({ offer: [good, forged, taken] });
  expect((await sync(one)).errors).toHaveLength(2);
  expect(node.seen.map(({ address }) => toHex(address))).toEqual([
    toHex(good.chunk.address),
    toHex(late.chunk.address),
  ]);
});
