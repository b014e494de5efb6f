import { expect, test } from 'vitest';
import type { MessageStream } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { CURSORS, Get, Want } from '../../../../node/protocols/pullsync/wire.ts';
import { connect, never, stranger } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import { chunksInBin, fill, holds, offered, outcome, pullNode, type Stamped } from './pull-nodes.ts';
import { ALL, deliverAll, inBin, NO_CURSORS, pulling } from './pulling-kit.ts';

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

test('between two real nodes the whole of a bin is listed, page by page, from any start', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [from, to] = [await pullNode(1, { clock, network }), await pullNode(2, { clock, network })];
  const chunks = chunksInBin(from.overlay, 1, 260);
  for (const node of [from, to]) await fill(node, chunks);
  const peer = await connect(to, from, clock);
  const listed = async (start: bigint) => {
    const page = outcome(to.pullsync.list(peer, 1, start, never));
    await clock.advance(2_000);
    return page.value;
  };
  expect(await listed(1n)).toEqual({ topmost: 250n, entries: chunks.slice(0, 250).map(offered) });
  expect(await listed(251n)).toEqual({ topmost: 260n, entries: chunks.slice(250).map(offered) });
  expect(await listed(259n)).toEqual({ topmost: 260n, entries: chunks.slice(258).map(offered) });
  expect(to.seen).toEqual([]);
});

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
