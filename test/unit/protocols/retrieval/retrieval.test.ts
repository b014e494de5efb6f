import { expect, test } from 'vitest';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import type { MessageStream, Peer, ProtocolHandler } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { Delivery, RETRIEVAL, Request } from '../../../../node/protocols/retrieval/wire.ts';
import {
  byDistance,
  chunkNear,
  chunkWhere,
  connect,
  exchangeNodes,
  FAR_RADIUS,
  line,
  mesh,
  never,
  type Stranger,
  stranger,
} from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const someChunk = chunkWhere(() => true);

async function amongStrangers(
  count: number,
  handler: (stream: MessageStream, served: number) => Promise<void>,
  { radius = FAR_RADIUS, searches }: { radius?: number; searches?: number } = {},
) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, {
    clock,
    network,
    radius,
    ...(searches === undefined ? {} : { searches }),
  });
  const asked: Peer[] = [];
  const serve: ProtocolHandler = async (stream) => {
    await stream.read(Request);
    asked.push(stream.peer);
    await handler(stream, asked.length);
  };
  const strangers: Stranger[] = [];
  for (let i = 0; i < count; i++) {
    const one = await stranger(10 + i, { clock, network, protocol: RETRIEVAL, handler: serve });
    await connect(node!, one, clock);
    strangers.push(one);
  }
  return { clock, network, node: node!, strangers, asked };
}

async function deliver(stream: MessageStream, chunk: Chunk): Promise<void> {
  await stream.write(Delivery, { data: chunk.data });
}

async function answerTo(from: Stranger, peer: Peer, address: Uint8Array) {
  const stream = await from.host.open(peer, RETRIEVAL.id, { signal: never });
  await stream.write(Request, { addr: address });
  return await stream.read(Delivery);
}

test('a chunk that a peer holds is delivered, and both sides count its price', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock });
  b!.store.hold(someChunk);
  expect(await a!.retrieval.retrieve(someChunk.address, { signal: never })).toEqual(someChunk);
  await clock.settle();
  const price = a!.accounting.price(b!.overlay, someChunk.address);
  expect(a!.accounting.balance(b!.id)?.consumedBalance).toBe(-price);
  expect(b!.accounting.balance(a!.id)?.consumedBalance).toBe(price);
});

test('a request travels along ever closer nodes, and every hop caches the chunk and is paid', async () => {
  const clock = new ManualClock();
  const nodes = await exchangeNodes(4, { clock, radius: FAR_RADIUS });
  const [a, b, c, d] = byDistance(nodes, someChunk);
  const hops = [
    [a!, b!],
    [b!, c!],
    [c!, d!],
  ] as const;
  for (const [asker, server] of hops) await connect(asker, server, clock);
  d!.store.hold(someChunk);
  expect((await a!.retrieval.retrieve(someChunk.address, { signal: never })).data).toEqual(someChunk.data);
  await clock.settle();
  expect([a, b, c, d].map((node) => node!.store.cached.size)).toEqual([0, 1, 1, 0]);
  for (const [asker, server] of hops) {
    const price = asker.accounting.price(server.overlay, someChunk.address);
    expect(asker.accounting.balance(server.id)?.consumedBalance).toBe(-price);
    expect(server.accounting.balance(asker.id)?.consumedBalance).toBe(price);
  }
});

test('a forwarder asks no peer that is farther from the chunk than itself', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const nodes = await exchangeNodes(2, { clock, network, radius: FAR_RADIUS });
  const [far, near] = byDistance(nodes, someChunk);
  far!.store.hold(someChunk);
  const asker = await stranger(9, { clock, network, protocol: RETRIEVAL, handler: async () => undefined });
  await connect(near!, far!, clock);
  const peer = await connect(asker, near!, clock);
  expect((await answerTo(asker, peer, someChunk.address)).err).toBe('retrieve chunk: no peer found');
});

test('an origin asks peers that are farther away than itself, and fails when no peer is connected', async () => {
  const clock = new ManualClock();
  const [far, near] = byDistance(await exchangeNodes(2, { clock, radius: FAR_RADIUS }), someChunk);
  await expect(near!.retrieval.retrieve(someChunk.address, { signal: never })).rejects.toMatchObject({
    code: 'NO_PEER',
  });
  await connect(near!, far!, clock);
  far!.store.hold(someChunk);
  expect((await near!.retrieval.retrieve(someChunk.address, { signal: never })).address).toEqual(
    someChunk.address,
  );
});

test('an origin tolerates 32 failures', async () => {
  const refuse = (stream: MessageStream) => stream.write(Delivery, { err: 'no' });
  const { node, asked } = await amongStrangers(34, refuse);
  await expect(node.retrieval.retrieve(someChunk.address, { signal: never })).rejects.toMatchObject({
    code: 'CHUNK_NOT_FOUND',
  });
  expect(asked).toHaveLength(32);
});

test('an origin in the neighbourhood of the chunk still asks one peer at a time', async () => {
  const { clock, node, asked } = await amongStrangers(4, () => new Promise(() => undefined), { radius: 0 });
  const leaving = new AbortController();
  const found = node.retrieval.retrieve(someChunk.address, { signal: leaving.signal });
  await clock.settle();
  expect(asked).toHaveLength(1);
  leaving.abort(new Error('enough'));
  await expect(found).rejects.toThrow('enough');
});

test('an origin in the neighbourhood of the chunk tolerates 34 failures', async () => {
  const refuse = (stream: MessageStream) => stream.write(Delivery, { err: 'no' });
  const { node, asked } = await amongStrangers(40, refuse, { radius: 0 });
  await expect(node.retrieval.retrieve(someChunk.address, { signal: never })).rejects.toMatchObject({
    code: 'CHUNK_NOT_FOUND',
  });
  expect(asked).toHaveLength(34);
});

test('a forwarder tolerates one failure and says that the chunk is not found', async () => {
  const { clock, network, node, asked } = await amongStrangers(0, async () => undefined);
  const asker = await stranger(9, { clock, network, protocol: RETRIEVAL, handler: async () => undefined });
  const closer: Stranger[] = [];
  const handler: ProtocolHandler = async (stream) => {
    await stream.read(Request);
    asked.push(stream.peer);
    await stream.write(Delivery, { err: 'no' });
  };
  for (const n of [20, 21, 22])
    closer.push(await stranger(n, { clock, network, protocol: RETRIEVAL, handler }));
  for (const one of closer) await connect(node, one, clock);
  const peer = await connect(asker, node, clock);
  const chunk = chunkNear(closer[0]!, [node, ...closer]);
  expect((await answerTo(asker, peer, chunk.address)).err).toBe('retrieve chunk: storage: not found');
  expect(asked).toHaveLength(1);
});

test('a forwarder whose peer disconnects midway asks the next one', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, { clock, network, radius: FAR_RADIUS });
  const asker = await stranger(9, { clock, network, protocol: RETRIEVAL, handler: async () => undefined });
  const servers: Stranger[] = [];
  let chunk = someChunk;
  let asked = 0;
  const handler: ProtocolHandler = async (stream) => {
    await stream.read(Request);
    asked++;
    if (asked > 1) return await deliver(stream, chunk);
    const [left] = servers.filter(({ host }) =>
      host.peers().some(({ closed }) => closed === stream.peer.closed),
    );
    await left!.host.stop();
  };
  for (const n of [20, 21]) servers.push(await stranger(n, { clock, network, protocol: RETRIEVAL, handler }));
  for (const one of servers) await connect(node!, one, clock);
  const peer = await connect(asker, node!, clock);
  chunk = chunkWhere((address) =>
    servers.every((one) => byDistance([one, node!], { ...someChunk, address })[1] === one),
  );
  expect(toHex((await answerTo(asker, peer, chunk.address)).data)).toBe(toHex(chunk.data));
  expect(asked).toBe(2);
});

test('data that does not belong to the address is not paid for, and the next peer is asked', async () => {
  const wrong = chunkWhere(() => true, 1);
  const { clock, node, strangers } = await amongStrangers(2, (stream, served) =>
    deliver(stream, served === 1 ? wrong : someChunk),
  );
  expect(await node.retrieval.retrieve(someChunk.address, { signal: never })).toEqual(someChunk);
  await clock.settle();
  const paid = strangers.map(({ id }) => node.accounting.balance(id)?.consumedBalance);
  expect(paid.filter((balance) => balance !== 0n)).toHaveLength(1);
  expect(strangers.map(({ id }) => node.accounting.balance(id)?.reservedBalance)).toEqual([0n, 0n]);
});

test('a peer that resets the stream midway is not paid, and the next peer is asked', async () => {
  const { node, strangers } = await amongStrangers(2, async (stream, served) => {
    if (served === 1) throw new Error('reset');
    await deliver(stream, someChunk);
  });
  expect(await node.retrieval.retrieve(someChunk.address, { signal: never })).toEqual(someChunk);
  const balances = strangers.map(({ id }) => node.accounting.balance(id));
  expect(balances.filter((balance) => balance?.consumedBalance === 0n)).toHaveLength(1);
  expect(balances.map((balance) => balance?.reservedBalance)).toEqual([0n, 0n]);
});

test('a peer that refused is asked again by the next request, once per request', async () => {
  const { node, asked } = await amongStrangers(2, (stream, served) =>
    served <= 2 ? stream.write(Delivery, { err: 'not yet' }) : deliver(stream, someChunk),
  );
  const again = () => node.retrieval.retrieve(someChunk.address, { signal: never });
  await expect(again()).rejects.toMatchObject({ code: 'CHUNK_NOT_FOUND' });
  expect(asked).toHaveLength(2);
  expect(await again()).toEqual(someChunk);
  expect(asked).toHaveLength(3);
});

test('a peer that failed for a chunk is not asked for it again within a minute', async () => {
  const { clock, node, asked } = await amongStrangers(1, async (stream, served) => {
    if (served === 1) stream.reset(new Error('broken'));
    else await deliver(stream, someChunk);
  });
  const again = () => node.retrieval.retrieve(someChunk.address, { signal: never });
  await expect(again()).rejects.toMatchObject({ code: 'CHUNK_NOT_FOUND' });
  await clock.advance(59_000);
  await expect(again()).rejects.toMatchObject({ code: 'CHUNK_NOT_FOUND' });
  expect(asked).toHaveLength(1);
  await clock.advance(1_000);
  expect(await again()).toEqual(someChunk);
});

test('a second peer is asked after a second of silence, and the silent one is given up after 30', async () => {
  const { clock, node, strangers, asked } = await amongStrangers(2, (stream, served) =>
    served === 1 ? new Promise(() => undefined) : deliver(stream, someChunk),
  );
  const found = node.retrieval.retrieve(someChunk.address, { signal: never });
  await clock.advance(999);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  expect(await found).toEqual(someChunk);
  const reserved = () => strangers.map(({ id }) => node.accounting.balance(id)?.reservedBalance ?? 0n);
  expect(reserved().filter((amount) => amount > 0n)).toHaveLength(1);
  await clock.advance(29_000);
  expect(reserved()).toEqual([0n, 0n]);
});

test('two callers for one chunk share one request, and one of them leaving does not end it for the other', async () => {
  const { clock, node, asked } = await amongStrangers(1, async (stream) => {
    await clock.sleep(500);
    await deliver(stream, someChunk);
  });
  const leaving = new AbortController();
  const first = node.retrieval.retrieve(someChunk.address, { signal: leaving.signal });
  const second = node.retrieval.retrieve(someChunk.address, { signal: never });
  await clock.advance(100);
  leaving.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await clock.advance(400);
  expect(await second).toEqual(someChunk);
  expect(asked).toHaveLength(1);
});

test('a caller that joins a search which finds nothing gets one that began after its call', async () => {
  const answer = Promise.withResolvers<void>();
  const { clock, node, asked } = await amongStrangers(1, async (stream, served) => {
    if (served > 1) return deliver(stream, someChunk);
    await answer.promise;
    await stream.write(Delivery, { err: 'not yet' });
  });
  const early = node.retrieval.retrieve(someChunk.address, { signal: never });
  const refused = expect(early).rejects.toMatchObject({ code: 'CHUNK_NOT_FOUND' });
  await clock.settle();
  const late = [1, 2].map(() => node.retrieval.retrieve(someChunk.address, { signal: never }));
  answer.resolve();
  await refused;
  expect(await Promise.all(late)).toEqual([someChunk, someChunk]);
  expect(asked).toHaveLength(2);
});

test('a chunk that arrives after its caller has left is still paid for', async () => {
  const { clock, node, strangers } = await amongStrangers(1, async (stream) => {
    await clock.sleep(500);
    await deliver(stream, someChunk);
  });
  const leaving = new AbortController();
  const found = node.retrieval.retrieve(someChunk.address, { signal: leaving.signal });
  await clock.advance(100);
  leaving.abort(new Error('gone'));
  await expect(found).rejects.toThrow('gone');
  await clock.advance(400);
  const { id, overlay } = strangers[0]!;
  expect(node.accounting.balance(id)?.consumedBalance).toBe(
    -node.accounting.price(overlay, someChunk.address),
  );
});

test('own and forwarded requests for one chunk are separate flights', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, { clock, network, radius: FAR_RADIUS });
  let asked = 0;
  const handler: ProtocolHandler = async (stream) => {
    await stream.read(Request);
    asked++;
    await clock.sleep(500);
    await deliver(stream, chunk);
  };
  const [near, ...askers] = await Promise.all(
    [20, 8, 9].map((n) => stranger(n, { clock, network, protocol: RETRIEVAL, handler })),
  );
  const chunk = chunkNear(near!, [node!, near!, ...askers]);
  await connect(node!, near!, clock);
  const served = [];
  for (const asker of askers) served.push(answerTo(asker, await connect(asker, node!, clock), chunk.address));
  const own = node!.retrieval.retrieve(chunk.address, { signal: never });
  await clock.advance(500);
  expect((await Promise.all(served)).map(({ err }) => err)).toEqual(['', '']);
  expect((await own).address).toEqual(chunk.address);
  expect(asked).toBe(2);
});

test('a node without credit left at any peer waits for the next refresh instead of failing', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock, radius: FAR_RADIUS });
  const chunks = Array.from({ length: 150 }, (_, n) => chunkWhere(() => true, n));
  for (const chunk of chunks) b!.store.hold(chunk);
  const found = Promise.all(chunks.map((chunk) => a!.retrieval.retrieve(chunk.address, { signal: never })));
  await clock.advance(10_000);
  expect((await found).map(({ address }) => address)).toEqual(chunks.map(({ address }) => address));
  expect(a!.pseudosettle.settlement(b!.id)?.sent).toBeGreaterThan(0n);
  expect([...a!.losses, ...b!.losses]).toEqual([]);
});

test('an address that is all zero is refused by name', async () => {
  const { clock, network, node } = await amongStrangers(0, async () => undefined);
  const asker = await stranger(9, { clock, network, protocol: RETRIEVAL, handler: async () => undefined });
  const peer = await connect(asker, node, clock);
  const { err } = await answerTo(asker, peer, new Uint8Array(32));
  expect(err).toBe(`invalid address queried by peer ${asker.id}`);
});

test('searches for one requester take turns when the platform allows no more at once', async () => {
  const waiting: (() => void)[] = [];
  const wanted: Chunk[] = [];
  const serve = async (stream: MessageStream, served: number) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    await deliver(stream, wanted[served - 1]!);
  };
  const { clock, network, node, strangers, asked } = await amongStrangers(1, serve, { searches: 1 });
  const asker = await stranger(9, { clock, network, protocol: RETRIEVAL, handler: async () => undefined });
  const peer = await connect(asker, node, clock);
  for (const n of [0, 1]) wanted.push(chunkNear(strangers[0]!, [node, asker], n));
  const answers = wanted.map(({ address }) => answerTo(asker, peer, address));
  await clock.settle();
  expect(asked).toHaveLength(1);
  waiting[0]?.();
  await clock.settle();
  expect(asked).toHaveLength(2);
  waiting[1]?.();
  await clock.settle();
  expect((await Promise.all(answers)).map(({ data }) => data)).toEqual(wanted.map(({ data }) => data));
});

test('five nodes serve each other at random while all of them pay, and no peer is lost', async () => {
  const clock = new ManualClock();
  const nodes = await mesh(5, { clock });
  const chunks = Array.from({ length: 200 }, (_, n) => chunkWhere(() => true, n));
  for (const [i, chunk] of chunks.entries()) nodes[i % 5]!.store.hold(chunk);
  const found = Promise.all(
    nodes.flatMap((node) =>
      chunks
        .filter((_, i) => nodes[i % 5] !== node)
        .map((chunk) => node.retrieval.retrieve(chunk.address, { signal: never })),
    ),
  );
  await clock.advance(60_000);
  expect(await found).toHaveLength(800);
  for (const a of nodes) {
    expect(a.losses).toEqual([]);
    for (const b of nodes) {
      if (a === b) continue;
      const owed = a.accounting.balance(b.id)?.consumedBalance ?? 0n;
      expect(b.accounting.balance(a.id)?.consumedBalance ?? 0n).toBe(-owed);
    }
  }
});
