import { expect, test } from 'vitest';
import { proximityOrder } from '../../../../node/chunk/address.ts';
import type { Chunk } from '../../../../node/chunk/chunk.ts';
import { signSoc } from '../../../../node/chunk/soc.ts';
import { encodeStamp } from '../../../../node/chunk/stamp.ts';
import { toHex } from '../../../../node/crypto/hex.ts';
import { overlayAddress } from '../../../../node/crypto/overlay.ts';
import { createSigner } from '../../../../node/crypto/signer.ts';
import type { MessageStream, Peer, ProtocolHandler } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import type { MessageOf } from '../../../../node/p2p/message.ts';
import { PostageError } from '../../../../node/postage/ports.ts';
import { isShallow, storerOf } from '../../../../node/protocols/pushsync/rules.ts';
import { Delivery, PUSHSYNC, Receipt } from '../../../../node/protocols/pushsync/wire.ts';
import { ReserveOverwriteError } from '../../../../node/store/ports.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../../p2p/memory-nodes.ts';
import {
  byDistance,
  chunkNear,
  chunkWhere,
  connect,
  type ExchangeNode,
  exchangeNode,
  exchangeNodes,
  FAR_RADIUS,
  line,
  mesh,
  never,
  type Stranger,
  someStamp,
  stranger,
} from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const someChunk = chunkWhere(() => true);
const stamp = someStamp();

const idle: ProtocolHandler = async () => undefined;

/** A receipt of the node with key `n`. */
function receiptOf(n: number, address: Uint8Array, storageRadius = 0): Partial<MessageOf<typeof Receipt>> {
  return { address, signature: createSigner(testKey(n)).sign(address), nonce: ZERO_NONCE, storageRadius };
}

function overlayOf(n: number): string {
  return toHex(overlayAddress(createSigner(testKey(n)).address, NETWORK_ID, ZERO_NONCE));
}

function inLowerHalf(n: number): boolean {
  return overlayOf(n) < '8';
}

/** One node and strangers of the lower half that serve pushsync by `handler`, all connected to it. */
async function amongStrangers(
  count: number,
  handler: (stream: MessageStream, served: number, n: number) => Promise<void>,
  radius = FAR_RADIUS,
) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, { clock, network, radius });
  const strangers: Stranger[] = [];
  let asked = 0;
  for (let n = 10; strangers.length < count; n++) {
    if (!inLowerHalf(n)) continue;
    const serve: ProtocolHandler = async (stream) => {
      await stream.read(Delivery);
      asked++;
      await handler(stream, asked, n);
    };
    const one = await stranger(n, { clock, network, protocol: PUSHSYNC, handler: serve });
    await connect(node!, one, clock);
    strangers.push(one);
  }
  return { clock, network, node: node!, strangers, asked: () => asked };
}

/** Sets a radius, and gives a chunk, so that no stranger is in its neighbourhood and none of their receipts is shallow. */
function outside(node: ExchangeNode): Chunk {
  node.radius = 1;
  return chunkWhere(([first = 0]) => first >= 128);
}

/** Delivers to `peer` as a client that is no node of ours. */
async function receiptFrom(from: Stranger, peer: Peer, delivery: Partial<MessageOf<typeof Delivery>>) {
  const stream = await from.host.open(peer, PUSHSYNC.id, { signal: never });
  await stream.write(Delivery, delivery);
  return await stream.read(Receipt);
}

/** A client connected to one node of ours. */
async function client(
  radius = 0,
): Promise<{ node: ExchangeNode; from: Stranger; peer: Peer; clock: ManualClock }> {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, { clock, network, radius });
  const from = await stranger(9, { clock, network, protocol: PUSHSYNC, handler: idle });
  return { node: node!, from, peer: await connect(from, node!, clock), clock };
}

const parcel = { address: someChunk.address, data: someChunk.data, stamp: encodeStamp(stamp) };

test('a chunk is stored by the node within the radius, which signs a receipt and is paid', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock });
  let sent = 0;
  const result = await a!.pushsync.push(someChunk, stamp, { signal: never, onSent: () => sent++ });
  await clock.settle();
  if (result.outcome !== 'synced') throw new Error('no receipt');
  expect(toHex(storerOf(result.receipt, NETWORK_ID))).toBe(b!.id);
  expect([...b!.store.reserved.keys()]).toEqual([toHex(someChunk.address)]);
  expect(b!.store.reserved.get(toHex(someChunk.address))).toEqual(stamp);
  expect(sent).toBe(1);
  const price = a!.accounting.price(b!.overlay, someChunk.address);
  expect(a!.accounting.balance(b!.id)?.consumedBalance).toBe(-price);
  expect(b!.accounting.balance(a!.id)?.consumedBalance).toBe(price);
});

test('a node outside the radius passes the chunk on and the receipt back, and does not keep the chunk', async () => {
  const clock = new ManualClock();
  const nodes = await exchangeNodes(3, { clock });
  const [a, b, c] = byDistance(nodes, someChunk);
  const depth = proximityOrder(c!.overlay, someChunk.address);
  expect(proximityOrder(b!.overlay, someChunk.address)).toBeLessThan(depth);
  for (const node of nodes) node.radius = depth;
  await connect(a!, b!, clock);
  await connect(b!, c!, clock);
  const result = await a!.pushsync.push(someChunk, stamp, { signal: never });
  await clock.settle();
  if (result.outcome !== 'synced') throw new Error('no receipt');
  expect(toHex(storerOf(result.receipt, NETWORK_ID))).toBe(c!.id);
  expect([a, b, c].map((node) => node!.store.held.size)).toEqual([0, 0, 1]);
  for (const [payer, server] of [
    [a!, b!],
    [b!, c!],
  ] as const) {
    const price = payer.accounting.price(server.overlay, someChunk.address);
    expect(payer.accounting.balance(server.id)?.consumedBalance).toBe(-price);
    expect(server.accounting.balance(payer.id)?.consumedBalance).toBe(price);
  }
});

test('a node outside the radius that knows nobody closer stores the chunk', async () => {
  const { node, from, peer } = await client(FAR_RADIUS);
  const { address, data } = chunkNear(node, [node, from]);
  const receipt = await receiptFrom(from, peer, { address, data, stamp: encodeStamp(stamp) });
  expect(receipt.err).toBe('');
  expect(receipt.storageRadius).toBe(FAR_RADIUS);
  expect(node.store.held.size).toBe(1);
});

test('a forwarder does not leave out the sender: the chunk comes back when that is the closest', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock });
  const shared = proximityOrder(a!.overlay, b!.overlay);
  const chunk = chunkWhere((address) => proximityOrder(a!.overlay, address) > shared);
  for (const node of [a!, b!]) node.radius = shared + 1;
  const result = await a!.pushsync.push(chunk, stamp, { signal: never });
  expect(result.outcome).toBe('synced');
  expect([a!.store.held.size, b!.store.held.size]).toEqual([1, 0]);
});

test('a chunk that reaches its neighbourhood is pushed to three peers at once', async () => {
  const clock = new ManualClock();
  const [a, ...others] = await mesh(5, { clock });
  await a!.pushsync.push(someChunk, stamp, { signal: never });
  await clock.settle();
  expect(others.map(({ store }) => store.held.size).sort((x, y) => x - y)).toEqual([0, 1, 1, 1]);
});

test('stamps are validated by the storer alone', async () => {
  const clock = new ManualClock();
  const nodes = await exchangeNodes(3, { clock });
  const [a, b, c] = byDistance(nodes, someChunk);
  for (const node of nodes) node.radius = proximityOrder(c!.overlay, someChunk.address);
  const validated: string[] = [];
  for (const node of nodes) node.validate = () => void validated.push(node.id);
  await connect(a!, b!, clock);
  await connect(b!, c!, clock);
  await a!.pushsync.push(someChunk, stamp, { signal: never });
  expect(validated).toEqual([c!.id]);
});

test.each([
  [
    'an unknown batch',
    new PostageError('BATCH_NOT_FOUND', 'batchstore get: not found'),
    'invalid stamp: batchstore get: not found',
  ],
  [
    'a stamp of another owner',
    new PostageError('STAMP_INVALID', 'owner mismatch'),
    'invalid stamp: owner mismatch',
  ],
  [
    'an older stamp on a used index',
    new ReserveOverwriteError('overwrite same chunk'),
    'reserve put: reserve putter.Put: overwrite same chunk',
  ],
] as const)('%s is refused by name, and nothing is stored', async (_about, error, text) => {
  const { node, from, peer } = await client();
  node.validate = () => {
    throw error;
  };
  expect((await receiptFrom(from, peer, parcel)).err).toBe(text);
  expect(node.store.held.size).toBe(0);
});

test.each([
  [
    'a stamp that is too short',
    { ...parcel, stamp: new Uint8Array(112) },
    'pushsync stamp unmarshall: invalid stamp',
  ],
  ['no stamp', { ...parcel, stamp: new Uint8Array(0) }, 'pushsync stamp unmarshall: invalid stamp'],
  ['data of another chunk', { ...parcel, data: chunkWhere(() => true, 1).data }, 'invalid chunk'],
  ['an address that is too short', { ...parcel, address: new Uint8Array(31) }, 'invalid chunk'],
  ['an empty message', {}, 'pushsync stamp unmarshall: invalid stamp'],
] as const)('%s is refused by name', async (_about, delivery, text) => {
  const { node, from, peer } = await client();
  expect((await receiptFrom(from, peer, delivery)).err).toBe(text);
  expect(node.store.held.size).toBe(0);
  expect(node.accounting.balance(from.id)?.consumedBalance ?? 0n).toBe(0n);
});

test('bytes that are no message end their stream and nothing else', async () => {
  const { from, peer } = await client();
  const stream = await from.host.open(peer, PUSHSYNC.id, { signal: never });
  await stream.write({ address: [1, 'uint64'], data: [2, 'uint64'] }, { address: 7n, data: 8n });
  await expect(stream.read(Receipt)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect((await receiptFrom(from, peer, parcel)).err).toBe('');
});

test('a receipt for another chunk is a failure that is not paid', async () => {
  const { node, strangers } = await amongStrangers(1, (stream, _served, n) =>
    stream.write(Receipt, receiptOf(n, testKey(7))),
  );
  expect(await node.pushsync.push(someChunk, stamp, { signal: never })).toEqual({ outcome: 'want-self' });
  expect(node.accounting.balance(strangers[0]!.id)).toMatchObject({
    consumedBalance: 0n,
    reservedBalance: 0n,
  });
});

test('a receipt that nobody can have signed is a failure, and the next peer is asked', async () => {
  const { node, asked } = await amongStrangers(2, (stream, served, n) => {
    const receipt = receiptOf(n, chunk.address);
    return stream.write(Receipt, served === 1 ? { ...receipt, signature: new Uint8Array(65) } : receipt);
  });
  const chunk = outside(node);
  expect((await node.pushsync.push(chunk, stamp, { signal: never })).outcome).toBe('synced');
  expect(asked()).toBe(2);
});

test('a shallow receipt is reported at once, and another peer is asked at the next try', async () => {
  const { node, strangers, asked } = await amongStrangers(2, (stream, _served, n) =>
    stream.write(Receipt, receiptOf(n, someChunk.address, 31)),
  );
  const push = () => node.pushsync.push(someChunk, stamp, { signal: never });
  await expect(push()).rejects.toMatchObject({ code: 'SHALLOW_RECEIPT' });
  expect(asked()).toBe(1);
  await expect(push()).rejects.toMatchObject({ code: 'SHALLOW_RECEIPT' });
  expect(asked()).toBe(2);
  for (const { id } of strangers) expect(node.accounting.balance(id)?.consumedBalance).not.toBe(0n);
  expect(await push()).toEqual({ outcome: 'want-self' });
});

test.each([
  { storerPO: 7, receiptRadius: 8, ownRadius: 8, capacityDoubling: 0, shallow: true },
  { storerPO: 7, receiptRadius: 7, ownRadius: 8, capacityDoubling: 0, shallow: false },
  { storerPO: 7, receiptRadius: 7, ownRadius: 8, capacityDoubling: 1, shallow: true },
  { storerPO: 8, receiptRadius: 7, ownRadius: 8, capacityDoubling: 1, shallow: false },
  { storerPO: 6, receiptRadius: 6, ownRadius: 8, capacityDoubling: 0, shallow: true },
  { storerPO: 0, receiptRadius: 0, ownRadius: 0, capacityDoubling: 0, shallow: false },
  { storerPO: 0, receiptRadius: 0, ownRadius: 1, capacityDoubling: 0, shallow: false },
  { storerPO: 0, receiptRadius: 0, ownRadius: 1, capacityDoubling: 1, shallow: true },
  { storerPO: 0, receiptRadius: 1, ownRadius: 0, capacityDoubling: 0, shallow: true },
])(
  'receipt from PO $storerPO, radius $receiptRadius there and $ownRadius here, doubled $capacityDoubling times: shallow is $shallow',
  (given) => {
    expect(isShallow(given)).toBe(given.shallow);
  },
);

test('a full node with nobody to push to wants the chunk itself, a light one has no peer', async () => {
  const clock = new ManualClock();
  const [full] = await exchangeNodes(1, { clock });
  const [light] = await exchangeNodes(1, { clock, fullNode: false });
  expect(await full!.pushsync.push(someChunk, stamp, { signal: never })).toEqual({ outcome: 'want-self' });
  await expect(light!.pushsync.push(someChunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'NO_PEER',
  });
});

test('a full node that is cut off from the peers it knows has no peer, it does not keep the chunk', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock });
  await b!.host.stop();
  await clock.settle();
  await expect(a!.pushsync.push(someChunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'NO_PEER',
  });
});

test('an origin tolerates 32 failures', async () => {
  const { node, asked } = await amongStrangers(34, (stream) => stream.write(Receipt, { err: 'no' }));
  await expect(node.pushsync.push(someChunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'PUSH_FAILED',
  });
  expect(asked()).toBe(32);
});

test('a forwarder tolerates one failure', async () => {
  const { clock, network, node, strangers, asked } = await amongStrangers(2, (stream) =>
    stream.write(Receipt, { err: 'no' }),
  );
  const from = await stranger(9, { clock, network, protocol: PUSHSYNC, handler: idle });
  const peer = await connect(from, node, clock);
  const chunk = chunkWhere((address) =>
    strangers.every((one) => byDistance([one, node, from], { ...someChunk, address })[2] === one),
  );
  const receipt = await receiptFrom(from, peer, {
    address: chunk.address,
    data: chunk.data,
    stamp: parcel.stamp,
  });
  expect(receipt.err).toBe('handler: push to closest chunk: could not push chunk');
  expect(asked()).toBe(1);
});

test('a push survives a peer that disconnects midway', async () => {
  const { node, strangers, asked } = await amongStrangers(2, async (stream, served, n) => {
    if (served === 1) await strangerOf(n).host.stop();
    else await stream.write(Receipt, receiptOf(n, chunk.address));
  });
  const strangerOf = (n: number) => strangers.find(({ id }) => id === overlayOf(n))!;
  const chunk = outside(node);
  expect((await node.pushsync.push(chunk, stamp, { signal: never })).outcome).toBe('synced');
  expect(asked()).toBe(2);
});

test('a second peer is asked after five seconds of silence, the silent one is given up after 30', async () => {
  const { clock, node, strangers, asked } = await amongStrangers(2, async (stream, served, n) => {
    if (served === 1) await new Promise(() => undefined);
    await stream.write(Receipt, receiptOf(n, chunk.address));
  });
  const chunk = outside(node);
  const pushed = node.pushsync.push(chunk, stamp, { signal: never });
  await clock.advance(4_999);
  expect(asked()).toBe(1);
  await clock.advance(1);
  expect(asked()).toBe(2);
  expect((await pushed).outcome).toBe('synced');
  const reserved = () => strangers.filter(({ id }) => node.accounting.balance(id)?.reservedBalance !== 0n);
  expect(reserved()).toHaveLength(1);
  await clock.advance(25_000);
  expect(reserved()).toHaveLength(0);
});

test('a failed peer is not asked for that chunk again within five minutes', async () => {
  const { clock, node, asked } = await amongStrangers(1, (stream) => stream.write(Receipt, { err: 'later' }));
  const push = () => node.pushsync.push(someChunk, stamp, { signal: never });
  expect(await push()).toEqual({ outcome: 'want-self' });
  await clock.advance(299_000);
  expect(await push()).toEqual({ outcome: 'want-self' });
  expect(asked()).toBe(1);
  await clock.advance(1_000);
  expect(await push()).toEqual({ outcome: 'want-self' });
  expect(asked()).toBe(2);
});

test('many chunks through three nodes are all stored, paid for, and nobody is lost', async () => {
  const clock = new ManualClock();
  const nodes = await mesh(3, { clock });
  const chunks = Array.from({ length: 300 }, (_, n) => chunkWhere(() => true, n));
  const pushed = Promise.all(
    chunks.map((chunk, i) => nodes[i % 3]!.pushsync.push(chunk, stamp, { signal: never })),
  );
  await clock.advance(60_000);
  expect((await pushed).filter(({ outcome }) => outcome === 'synced')).toHaveLength(300);
  for (const a of nodes) {
    expect(a.losses).toEqual([]);
    for (const b of nodes.filter((other) => other !== a)) {
      const owed = a.accounting.balance(b.id)?.consumedBalance ?? 0n;
      expect(b.accounting.balance(a.id)?.consumedBalance).toBe(-owed);
    }
  }
});

test('a chunk whose closest node is the origin is still pushed to the next', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock });
  const chunk = chunkNear(a!, [a!, b!]);
  expect((await a!.pushsync.push(chunk, stamp, { signal: never })).outcome).toBe('synced');
  expect(b!.store.held.size).toBe(1);
});

test('a node that others can not reach passes on what is within its radius, but not back', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const hidden = exchangeNode(1, { clock, network, reachable: false });
  const other = exchangeNode(2, { clock, network });
  for (const { host } of [hidden, other]) await host.start();
  const from = await stranger(9, { clock, network, protocol: PUSHSYNC, handler: idle });
  const peer = await connect(from, hidden, clock);
  // Nobody else is there: what it does not take is lost.
  expect(await receiptFrom(from, peer, parcel)).toMatchObject({ err: '', address: someChunk.address });
  expect(hidden.store.held.size).toBe(1);

  await connect(hidden, other, clock);
  const next = chunkNear(hidden, [hidden, other]);
  const delivery = { address: next.address, data: next.data, stamp: encodeStamp(stamp) };
  expect((await receiptFrom(from, peer, delivery)).err).toBe('');
  expect(hidden.store.held.size).toBe(1);
  expect([...other.store.held.keys()]).toEqual([toHex(next.address)]);
});

test('a delivered chunk is seen by the node that stores it and by one that passes it on', async () => {
  const clock = new ManualClock();
  const nodes = await exchangeNodes(3, { clock });
  const [a, b, c] = byDistance(nodes, someChunk);
  for (const node of nodes) node.radius = proximityOrder(c!.overlay, someChunk.address);
  await connect(a!, b!, clock);
  await connect(b!, c!, clock);
  await a!.pushsync.push(someChunk, stamp, { signal: never });
  const address = toHex(someChunk.address);
  const seen = [a!, b!, c!].map((node) => node.seen.map((chunk) => toHex(chunk.address)));
  expect(seen).toEqual([[], [address], [address]]);
});

test('a delivered chunk is seen also when its stamp is refused', async () => {
  const { node, from, peer } = await client();
  node.validate = () => {
    throw new PostageError('STAMP_INVALID', 'signature of another owner');
  };
  await receiptFrom(from, peer, parcel);
  expect(node.seen).toHaveLength(1);
});

test('a delivery that is no chunk is seen by nobody', async () => {
  const { node, from, peer } = await client();
  await receiptFrom(from, peer, { ...parcel, data: new Uint8Array(10) });
  expect(node.seen).toEqual([]);
});

test('an own chunk is seen by its node when there is nobody else, unless it has an owner', async () => {
  const clock = new ManualClock();
  const [alone] = await exchangeNodes(1, { clock });
  await alone!.pushsync.push(someChunk, stamp, { signal: never });
  expect(alone!.seen).toEqual([someChunk]);
  const soc = signSoc(new Uint8Array(32), someChunk.data, createSigner(testKey(5)));
  await alone!.pushsync.push(soc, stamp, { signal: never });
  expect(alone!.seen).toEqual([someChunk]);
});
