import { expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { parseSoc, socAddress } from '../../../../formats/chunk/soc.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import type { MessageStream, Peer } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { PostageError } from '../../../../node/postage/ports.ts';
import { bitsOf } from '../../../../node/protocols/pullsync/rules.ts';
import {
  Ack,
  CURSORS,
  Delivery,
  Get,
  Offer,
  PULLSYNC,
  Syn,
  Want,
} from '../../../../node/protocols/pullsync/wire.ts';
import { testKey } from '../../p2p/memory-nodes.ts';
import { connect, never, stranger } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import {
  chunksInBin,
  delivered,
  fill,
  holds,
  metric,
  offered,
  outcome,
  type PullNode,
  pullNode,
  type Stamped,
  stampNo,
} from './pull-nodes.ts';

const NO_CURSORS = Array.from({ length: 32 }, () => 0n);

interface Script {
  /** What is offered for every Get; `topmost` is the number of chunks. */
  readonly offer: readonly Stamped[];
  readonly topmost?: bigint;
  /** Instead of the wanted chunks. */
  readonly deliver?: (stream: MessageStream, wanted: readonly Stamped[]) => Promise<void>;
}

interface Server {
  readonly peer: Peer;
  /** Indexes wanted, one list per page. */
  readonly wants: number[][];
}

async function deliverAll(stream: MessageStream, wanted: readonly Stamped[]): Promise<void> {
  for (const one of wanted) await stream.write(Delivery, delivered(one));
}

/** A node that pulls, and peers that serve as the test says. */
async function pulling(options: { radius?: number; latencyMs?: number } = {}) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const node = await pullNode(1, { clock, network, ...options });
  let servers = 1;
  const server = async (script: Script | ((stream: MessageStream) => Promise<void>)): Promise<Server> => {
    const wants: number[][] = [];
    const handler = typeof script === 'function' ? script : serving(script, wants);
    const other = await stranger(++servers, { clock, network, protocol: PULLSYNC, handler });
    return { peer: await connect(node, other, clock), wants };
  };
  /** A peer that offers nothing, and notes how that ended. */
  const silent = async (): Promise<{ readonly peer: Peer; ended?: unknown }> => {
    const seen: { ended?: unknown } = {};
    const { peer } = await server(async (stream) => {
      await stream.read(Get);
      await stream.read(Want).catch((error: unknown) => {
        seen.ended = error;
      });
    });
    return Object.assign(seen, { peer });
  };
  const sync = ({ peer }: Server, { bin = 0, start = 1n } = {}) =>
    node.pullsync.sync(peer, bin, start, never);
  return { clock, network, node, server, silent, sync };
}

function serving({ offer, topmost, deliver = deliverAll }: Script, wants: number[][]) {
  return async (stream: MessageStream) => {
    await stream.read(Get);
    await stream.write(Offer, { topmost: topmost ?? BigInt(offer.length), chunks: offer.map(offered) });
    if (offer.length === 0) return;
    const wanted = bitsOf((await stream.read(Want)).bitVector, offer.length);
    wants.push(wanted);
    await deliver(
      stream,
      wanted.map((index) => offer[index] as Stamped),
    );
  };
}

function inBin(node: PullNode, bin: number, count: number): Stamped[] {
  return chunksInBin(node.overlay, bin, count);
}

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

test('between two real nodes the whole of a bin is pulled, page by page', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [from, to] = [await pullNode(1, { clock, network }), await pullNode(2, { clock, network })];
  const chunks = chunksInBin(from.overlay, 1, 300);
  await fill(from, chunks);
  const peer = await connect(to, from, clock);
  const { cursors, epoch } = await to.pullsync.cursors(peer, never);
  expect([cursors[1], epoch]).toEqual([300n, from.reserve.epoch()]);
  const pages = [];
  for (let start = 1n; start <= 300n; ) {
    const page = outcome(to.pullsync.sync(peer, 1, start, never));
    await clock.advance(2_000);
    pages.push(page.value);
    start = page.value!.topmost + 1n;
  }
  expect(pages).toEqual([
    { topmost: 250n, count: 250, errors: [] },
    { topmost: 300n, count: 50, errors: [] },
  ]);
  expect(chunks.filter((chunk) => !holds(to, chunk))).toEqual([]);
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

/** What is wrong with the second of three deliveries. */
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
    { code: 'CHUNK_UNSOLICITED' },
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

test('listing names what the peer holds and wants none of it', async () => {
  const { node, server } = await pulling({ radius: 2 });
  const offer = [...inBin(node, 0, 2), ...inBin(node, 2, 2), ...inBin(node, 5, 1)];
  await fill(node, [offer[2]!]);
  node.reserve.hasRoomFor = () => false;
  const one = await server({ offer, topmost: 9n });
  expect(await node.pullsync.list(one.peer, 0, 1n, never)).toEqual({
    topmost: 9n,
    entries: offer.map(offered),
  });
  expect(one.wants).toEqual([[]]);
  expect([node.store.reserve.size(), node.seen]).toEqual([1, []]);
  expect(await metric(node, 'pullsync_chunks_offered')).toBe(0);
});

test('between two real nodes the whole of a bin is listed, page by page, from any start', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [from, to] = [await pullNode(1, { clock, network }), await pullNode(2, { clock, network })];
  const chunks = chunksInBin(from.overlay, 1, 260);
  await fill(from, chunks);
  const peer = await connect(to, from, clock);
  const listed = async (start: bigint) => {
    const page = outcome(to.pullsync.list(peer, 1, start, never));
    await clock.advance(2_000);
    return page.value;
  };
  expect(await listed(1n)).toEqual({ topmost: 250n, entries: chunks.slice(0, 250).map(offered) });
  expect(await listed(251n)).toEqual({ topmost: 260n, entries: chunks.slice(250).map(offered) });
  expect(await listed(259n)).toEqual({ topmost: 260n, entries: chunks.slice(258).map(offered) });
  expect(to.store.reserve.size()).toBe(0);
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

test('a peer that offers nothing for as long as the caller waits has nothing, and may take its time to deliver', async () => {
  const { clock, server, silent, node } = await pulling();
  const one = await silent();
  const slow = await server({
    offer: inBin(node, 0, 1),
    deliver: async (stream, wanted) => {
      await clock.sleep(40_000);
      await deliverAll(stream, wanted);
    },
  });
  const nothing = outcome(node.pullsync.sync(one.peer, 0, 7n, never, 30_000));
  const page = outcome(node.pullsync.sync(slow.peer, 0, 1n, never, 30_000));
  await clock.advance(29_999);
  expect([nothing, one.ended]).toEqual([{}, undefined]);
  await clock.advance(1);
  expect(nothing.value).toEqual({ topmost: 6n, count: 0, errors: [] });
  expect(one.ended).toMatchObject({ code: 'STREAM_RESET' });
  expect(page).toEqual({});
  await clock.advance(10_000);
  expect(page.value).toEqual({ topmost: 1n, count: 1, errors: [] });
});

test('a peer that disconnects ends the wait for its offer', async () => {
  const { clock, server, node, sync } = await pulling();
  const one = await server(async (stream) => {
    await stream.read(Get);
    await stream.read(Want);
  });
  const page = outcome(sync(one));
  await node.host.disconnect(one.peer.overlayHex, 'enough');
  await clock.settle();
  expect(page.error).toMatchObject({ code: 'STREAM_RESET' });
  await expect(sync(one)).rejects.toMatchObject({ code: 'PEER_NOT_FOUND' });
});

test('chunks that arrived before a conversation broke off are kept, and the page fails', async () => {
  const { node, server, sync } = await pulling();
  const offer = inBin(node, 0, 4);
  let pages = 0;
  const one = await server({
    offer,
    async deliver(stream, wanted) {
      if (++pages > 1) return await deliverAll(stream, wanted);
      await deliverAll(stream, wanted.slice(0, 2));
      throw new Error('reset');
    },
  });
  await expect(sync(one)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(offer.map((chunk) => holds(node, chunk))).toEqual([true, true, false, false]);
  expect(await sync(one)).toEqual({ topmost: 4n, count: 2, errors: [] });
  expect(one.wants).toEqual([
    [0, 1, 2, 3],
    [2, 3],
  ]);
});

test('a peer that ends its side early has failed the page', async () => {
  const { node, server, sync } = await pulling();
  const one = await server({
    offer: inBin(node, 0, 2),
    deliver: (stream, [first]) => deliverAll(stream, [first!]),
  });
  await expect(sync(one)).rejects.toMatchObject({ code: 'STREAM_ENDED' });
});

test('a peer that does not deliver within three minutes has failed the page', async () => {
  const { clock, node, server, sync } = await pulling();
  const one = await server({ offer: inBin(node, 0, 2), deliver: () => new Promise(() => undefined) });
  const page = outcome(sync(one));
  await clock.advance(179_999);
  expect(page).toEqual({});
  await clock.advance(1);
  expect(page.error).toMatchObject({ code: 'TIMEOUT' });
});

test('deliveries beyond what was wanted are not read', async () => {
  const { node, server, sync } = await pulling();
  const [first, second] = inBin(node, 0, 2) as [Stamped, Stamped];
  const one = await server({ offer: [first], deliver: (stream) => deliverAll(stream, [first, second]) });
  expect(await sync(one)).toEqual({ topmost: 1n, count: 1, errors: [] });
  expect(holds(node, second)).toBe(false);
});

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

const ALL = { from: 0, to: 31 };

test('a node of ours answers a request for changed cursors as soon as there is something new', async () => {
  const { clock, network, node: to } = await pulling();
  const from = await pullNode(9, { clock, network });
  await fill(from, inBin(from, 1, 2));
  await clock.advance(1000);
  const peer = await connect(to, from, clock);
  const first = await to.pullsync.changes(peer, ALL, undefined, never);
  expect(first).toEqual({
    cursors: from.reserve.lastBinIds(),
    epoch: from.reserve.epoch(),
    longPolls: true,
  });
  const second = outcome(to.pullsync.changes(peer, ALL, first, never));
  await clock.advance(60_000);
  expect(second).toEqual({});
  await fill(from, inBin(from, 12, 1));
  await clock.advance(100);
  expect(second.value).toMatchObject({ cursors: from.reserve.lastBinIds(), longPolls: true });
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

test('news is awaited for some minutes, and no longer than the caller waits', async () => {
  const { clock, network, node } = await pulling();
  const handler = () => new Promise<void>(() => undefined);
  const peer = await connect(node, await stranger(2, { clock, network, protocol: CURSORS, handler }), clock);
  const leaving = new AbortController();
  const asked = outcome(node.pullsync.changes(peer, ALL, undefined, never));
  const left = outcome(node.pullsync.changes(peer, ALL, undefined, leaving.signal));
  leaving.abort(new Error('enough'));
  await clock.advance(329_999);
  expect([asked, left.error]).toEqual([{}, new Error('enough')]);
  await clock.advance(1);
  expect(asked.error).toMatchObject({ code: 'TIMEOUT' });
});

test('cursors are awaited for 30 seconds, and not at all once the caller has left', async () => {
  const { clock, network, node } = await pulling();
  const handler = () => new Promise<void>(() => undefined);
  const other = await stranger(2, { clock, network, protocol: CURSORS, handler });
  const peer = await connect(node, other, clock);
  const asked = outcome(node.pullsync.cursors(peer, never));
  const leaving = new AbortController();
  const left = outcome(node.pullsync.cursors(peer, leaving.signal));
  await clock.settle();
  leaving.abort(new Error('never mind'));
  await clock.advance(29_999);
  expect(asked).toEqual({});
  expect(left.error).toMatchObject({ message: 'never mind' });
  await clock.advance(1);
  expect(asked.error).toMatchObject({ code: 'TIMEOUT' });
  await expect(node.pullsync.cursors(peer, AbortSignal.abort(new Error('too late')))).rejects.toThrow(
    'too late',
  );
});

test('a chunk that two peers offer at the same time is requested from only one of them', async () => {
  const { clock, node, server, sync } = await pulling();
  const offer = inBin(node, 0, 5);
  const slowly = async (stream: MessageStream, wanted: readonly Stamped[]) => {
    await clock.sleep(1000);
    await deliverAll(stream, wanted);
  };
  const servers = [
    await server({ offer: offer.slice(0, 4), deliver: slowly }),
    await server({ offer, deliver: slowly }),
  ];
  const pages = servers.map((one) => outcome(sync(one)));
  await clock.advance(1000);
  expect(pages.map(({ value }) => value)).toEqual([
    { topmost: 4n, count: 4, errors: [] },
    { topmost: 5n, count: 1, errors: [] },
  ]);
  expect(servers.map(({ wants }) => wants)).toEqual([[[0, 1, 2, 3]], [[4]]]);
});

test('a page is not done until chunks requested from other peers are stored', async () => {
  const { clock, node, server, sync } = await pulling();
  const offer = inBin(node, 0, 2);
  const asked = await server({
    offer,
    async deliver(stream, wanted) {
      await clock.sleep(3000);
      await deliverAll(stream, wanted);
    },
  });
  const first = outcome(sync(asked));
  await clock.settle();
  const second = outcome(sync(await server({ offer })));
  await clock.advance(2999);
  expect([first, second]).toEqual([{}, {}]);
  await clock.advance(1);
  expect(second.value).toEqual({ topmost: 2n, count: 0, errors: [] });
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

test('two peers that each have what the other was asked for do not wait for each other for ever', async () => {
  const { clock, node, server, sync } = await pulling();
  const [a, b] = inBin(node, 0, 2) as [Stamped, Stamped];
  const late = (ms: number) => async (stream: MessageStream, wanted: readonly Stamped[]) => {
    await clock.sleep(ms);
    await deliverAll(stream, wanted);
  };
  const servers = [
    await server({ offer: [a], deliver: late(100) }),
    await server({ offer: [b], deliver: late(100) }),
    await server({ offer: [a, b], deliver: late(100) }),
    await server({ offer: [b, a], deliver: late(100) }),
  ];
  const pages = servers.map((one) => outcome(sync(one)));
  await clock.advance(100);
  expect(pages.map(({ value }) => value?.count)).toEqual([1, 1, 0, 0]);
});

test('a pull that waits for the chunks of others ends when its caller leaves', async () => {
  const { clock, node, server, sync } = await pulling();
  const offer = inBin(node, 0, 1);
  outcome(sync(await server({ offer, deliver: () => new Promise(() => undefined) })));
  await clock.settle();
  const leaving = new AbortController();
  const { peer } = await server({ offer });
  const page = outcome(node.pullsync.sync(peer, 0, 1n, leaving.signal));
  await clock.settle();
  leaving.abort(new Error('never mind'));
  await clock.settle();
  expect(page.error).toMatchObject({ message: 'never mind' });
});

test('a peer with an empty reserve has 32 cursors of zero', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [from, to] = [await pullNode(1, { clock, network }), await pullNode(2, { clock, network })];
  const peer = await connect(to, from, clock);
  expect((await to.pullsync.cursors(peer, never)).cursors).toEqual(NO_CURSORS);
});

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
