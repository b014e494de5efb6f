import { expect, test } from 'vitest';
import { addressPrefix, closerTo, proximityOrder } from '../../../../formats/chunk/address.ts';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../../formats/chunk/soc.ts';
import { encodeStamp } from '../../../../formats/chunk/stamp.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../../formats/crypto/overlay.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import type { MessageStream, Peer, ProtocolHandler } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { PostageError } from '../../../../node/postage/ports.ts';
import {
  isShallow,
  MULTIPLEX_KEPT_MS,
  NoRoomError,
  storerOf,
} from '../../../../node/protocols/pushsync/rules.ts';
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

/** One node and strangers of the lower half that serve pushsync with `handler`, all connected to it. */
async function amongStrangers(
  count: number,
  handler: (stream: MessageStream, served: number, n: number) => Promise<void>,
  {
    radius = FAR_RADIUS,
    isWanted = inLowerHalf,
  }: { radius?: number; isWanted?: (n: number) => boolean } = {},
) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, { clock, network, radius });
  const strangers: Stranger[] = [];
  let asked = 0;
  for (let n = 10; strangers.length < count; n++) {
    if (!isWanted(n)) continue;
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

/** Sets a radius and returns a chunk such that no stranger is in its neighbourhood and none of their receipts is shallow. */
function outside(node: ExchangeNode): Chunk {
  node.radius = 1;
  return chunkWhere(([first = 0]) => first >= 128);
}

/** Number of a key whose node lies where it should. */
function keyWhere(wanted: (overlay: Uint8Array) => boolean): number {
  for (let n = 1_000; n < 2_000; n++) if (wanted(fromHex(overlayOf(n)))) return n;
  throw new Error('no such node among 1,000');
}

/** A chunk to which every stranger is closer than the node. */
function chunkBeyond(node: ExchangeNode, strangers: readonly Stranger[]): Chunk {
  return chunkWhere((address) => strangers.every((one) => closerTo(address, one.overlay, node.overlay) < 0));
}

/** A storer without room, and the error that it answers with. */
const fullStorer = (stream: MessageStream) =>
  stream.write(Receipt, { err: `handler: ${new NoRoomError('0110').message}` });

/** What a storer says that holds another chunk at the index of the stamp. */
const replaced = {
  err: 'reserve put: reserve putter.Put: overwrite same chunk. prev 2 cur 1: overwriting chunk with newer timestamp',
};

/** Delivers to `peer` as a client that is not a node of ours. */
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
  expect(result.storerPO).toBe(proximityOrder(b!.overlay, someChunk.address));
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

test('a node outside the radius that knows no closer peer stores the chunk', async () => {
  const { node, from, peer } = await client(FAR_RADIUS);
  const { address, data } = chunkNear(node, [node, from]);
  const receipt = await receiptFrom(from, peer, { address, data, stamp: encodeStamp(stamp) });
  expect(receipt.err).toBe('');
  expect(receipt.storageRadius).toBe(FAR_RADIUS);
  expect(node.store.held.size).toBe(1);
});

test('a forwarder does not exclude the sender: the chunk goes back when the sender is the closest', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock });
  const shared = proximityOrder(a!.overlay, b!.overlay);
  const chunk = chunkWhere((address) => proximityOrder(a!.overlay, address) > shared);
  for (const node of [a!, b!]) node.radius = shared + 1;
  const result = await a!.pushsync.push(chunk, stamp, { signal: never });
  expect(result.outcome).toBe('synced');
  expect([a!.store.held.size, b!.store.held.size]).toEqual([1, 0]);
});

test('a receipt of its own tells an uploader that keeps the chunk that no other node has it', async () => {
  const clock = new ManualClock();
  const [a, b] = await line(2, { clock });
  const shared = proximityOrder(a!.overlay, b!.overlay);
  const chunk = chunkWhere((address) => proximityOrder(a!.overlay, address) > shared);
  for (const node of [a!, b!]) node.radius = shared + 1;
  const result = await a!.pushsync.push(chunk, stamp, { signal: never, keptHere: true });
  expect(result.outcome).toBe('want-self');
});

test('a chunk that reaches its neighbourhood is pushed to three peers at once', async () => {
  const clock = new ManualClock();
  const [a, ...others] = await mesh(5, { clock });
  await a!.pushsync.push(someChunk, stamp, { signal: never });
  await clock.settle();
  expect(others.map(({ store }) => store.held.size).sort((x, y) => x - y)).toEqual([0, 1, 1, 1]);
});

test('a chunk that its uploader keeps as well goes to the closest peer alone', async () => {
  const clock = new ManualClock();
  const nodes = await mesh(5, { clock });
  const [, , , closest] = byDistance(nodes.slice(1), someChunk);
  await nodes[0]!.pushsync.push(someChunk, stamp, { signal: never, keptHere: true });
  await clock.advance(2 * MULTIPLEX_KEPT_MS);
  expect(nodes.filter(({ store }) => store.held.size > 0)).toEqual([closest]);
});

test('a chunk that its uploader keeps as well goes to two more peers when there is no receipt for a second', async () => {
  const clock = new ManualClock();
  const nodes = await mesh(5, { clock });
  const [, , , closest] = byDistance(nodes.slice(1), someChunk);
  const late = Promise.withResolvers<void>();
  const { put } = closest!.store.reserve;
  closest!.store.reserve.put = async (...given) => {
    await late.promise;
    await put(...given);
  };
  const push = nodes[0]!.pushsync.push(someChunk, stamp, { signal: never, keptHere: true });
  await clock.advance(MULTIPLEX_KEPT_MS - 1);
  expect(nodes.filter(({ seen }) => seen.length > 0)).toEqual([closest]);
  await clock.advance(1);
  expect((await push).outcome).toBe('synced');
  expect(nodes.filter(({ store }) => store.held.size > 0)).toHaveLength(2);
  late.resolve();
  await clock.settle();
  expect(nodes.filter(({ store }) => store.held.size > 0)).toHaveLength(3);
});

test('a single-owner chunk goes to three peers at once, also when its uploader keeps it', async () => {
  const clock = new ManualClock();
  const [a, ...others] = await mesh(5, { clock });
  const message = signSoc(
    new Uint8Array(32),
    makeCac(4n, Buffer.from('news')).data,
    createSigner(testKey(77)),
  );
  await a!.pushsync.push(message, stamp, { signal: never, keptHere: true });
  await clock.settle();
  expect(others.filter(({ seen }) => seen.length > 0)).toHaveLength(3);
});

test.each([
  ['soc', 'gets a copy at once of every payload', 1],
  ['cac', 'gets no copy while others are healthy', 0],
] as const)('a busy neighbour closest to a %s %s', async (kind, _about, copies) => {
  const clock = new ManualClock();
  const nodes = await mesh(5, { clock });
  const [a] = nodes;
  const owner = createSigner(testKey(77));
  const payloads = ['one', 'other'].map((text) => makeCac(4n, Buffer.from(text)).data);
  const messages = payloads.map((payload) => signSoc(new Uint8Array(32), payload, owner));
  const sent = kind === 'soc' ? messages : [someChunk];
  const [, , , closest] = byDistance(nodes.slice(1), sent[0]!);
  a!.unhealthy.add(closest!.id);
  for (const chunk of sent) await a!.pushsync.push(chunk, stamp, { signal: never });
  await clock.settle();
  expect(closest!.seen).toHaveLength(copies * sent.length);
  expect(nodes.slice(1).reduce((sum, { seen }) => sum + seen.length, 0)).toBe(3 * sent.length);
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

test('a malformed message ends its stream and nothing else', async () => {
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

test('a receipt with an invalid signature is a failure, and the next peer is asked', async () => {
  const { node, asked } = await amongStrangers(2, (stream, served, n) => {
    const receipt = receiptOf(n, chunk.address);
    return stream.write(Receipt, served === 1 ? { ...receipt, signature: new Uint8Array(65) } : receipt);
  });
  const chunk = outside(node);
  expect((await node.pushsync.push(chunk, stamp, { signal: never })).outcome).toBe('synced');
  expect(asked()).toBe(2);
});

test('a shallow receipt from a storer that is not the closest is reported at once, and another peer is asked next', async () => {
  const { node, strangers, asked } = await amongStrangers(2, (stream) => stream.write(Receipt, receipt));
  const chunk = chunkBeyond(node, strangers);
  const storer = keyWhere((overlay) =>
    strangers.every((one) => closerTo(chunk.address, one.overlay, overlay) < 0),
  );
  const receipt = receiptOf(storer, chunk.address, 31);
  const push = () => node.pushsync.push(chunk, stamp, { signal: never });
  await expect(push()).rejects.toMatchObject({ code: 'SHALLOW_RECEIPT' });
  expect(asked()).toBe(1);
  await expect(push()).rejects.toMatchObject({ code: 'SHALLOW_RECEIPT' });
  expect(asked()).toBe(2);
  for (const { id } of strangers) expect(node.accounting.balance(id)?.consumedBalance).not.toBe(0n);
  await expect(push()).rejects.toMatchObject({ code: 'PUSH_FAILED' });
  expect(asked()).toBe(2);
});

test('a shallow receipt is accepted when no connected peer is closer to the chunk than its storer', async () => {
  const { node, strangers, asked } = await amongStrangers(3, (stream, _served, n) =>
    stream.write(Receipt, receiptOf(n, someChunk.address, 31)),
  );
  const result = await node.pushsync.push(someChunk, stamp, { signal: never });
  if (result.outcome !== 'synced') throw new Error('no receipt');
  const [, , closest] = byDistance(strangers, someChunk);
  expect(toHex(storerOf(result.receipt, NETWORK_ID))).toBe(closest!.id);
  expect([result.receipt.storageRadius, result.storerPO]).toEqual([
    31,
    proximityOrder(closest!.overlay, someChunk.address),
  ]);
  expect(asked()).toBe(1);
});

test('a shallow receipt from a storer farther away than a connected peer is not accepted until that peer is gone', async () => {
  const { clock, node, strangers } = await amongStrangers(2, (stream, served, n) =>
    stream.write(Receipt, served === 1 ? { err: 'no' } : receiptOf(n, chunk.address, 31)),
  );
  const chunk = chunkBeyond(node, strangers);
  const [, closest] = byDistance(strangers, chunk);
  const push = () => node.pushsync.push(chunk, stamp, { signal: never });
  await expect(push()).rejects.toMatchObject({ code: 'SHALLOW_RECEIPT' });
  await closest!.host.stop();
  await clock.advance(300_000);
  expect(await push()).toMatchObject({ outcome: 'synced' });
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

test.each([
  ["no room in neighbourhood '01'", '01'],
  ["handler: push to closest chunk: handler: push to closest chunk: no room in neighbourhood ''", ''],
  [`no room in neighbourhood '${'1'.repeat(32)}'`, '1'.repeat(32)],
  [`no room in neighbourhood '${'1'.repeat(33)}'`, undefined],
  ["no room in neighbourhood '012'", undefined],
  ['no room', undefined],
  ['handler: push to closest chunk: could not push chunk', undefined],
])('the refusal "%s" means a lack of room in neighbourhood %s', (text, neighbourhood) => {
  const found = NoRoomError.in(text);
  expect(found?.neighbourhood).toBe(neighbourhood);
  if (found !== undefined) expect(found).toMatchObject({ name: 'NoRoomError', code: 'NO_ROOM' });
});

test('a storer without room names its neighbourhood when it refuses a chunk, and still signs for what it holds', async () => {
  const { node, from, peer } = await client();
  node.radius = proximityOrder(node.overlay, someChunk.address);
  node.store.hasRoom = false;
  const neighbourhood = addressPrefix(someChunk.address, node.radius);
  const refused = `handler: push to closest chunk: no room in neighbourhood '${neighbourhood}'`;
  expect((await receiptFrom(from, peer, parcel)).err).toBe(refused);
  expect([node.store.held.size, node.seen.length]).toEqual([0, 1]);
  expect(node.accounting.balance(from.id)?.consumedBalance ?? 0n).toBe(0n);
  node.store.hasRoom = true;
  expect((await receiptFrom(from, peer, parcel)).err).toBe('');
  node.store.hasRoom = false;
  expect(await receiptFrom(from, peer, parcel)).toMatchObject({ err: '', address: someChunk.address });
  const otherIndex = encodeStamp({ ...stamp, index: new Uint8Array(8).fill(1) });
  expect((await receiptFrom(from, peer, { ...parcel, stamp: otherIndex })).err).toBe(refused);
  // It would replace what is there, and needs no more room than that.
  const newerStamp = encodeStamp({ ...stamp, timestamp: new Uint8Array(8).fill(1) });
  expect((await receiptFrom(from, peer, { ...parcel, stamp: newerStamp })).err).toBe('');
});

test('a storer without room still reports an invalid stamp first', async () => {
  const { node, from, peer } = await client();
  node.store.hasRoom = false;
  node.validate = () => {
    throw new PostageError('BATCH_NOT_FOUND', 'batchstore get: not found');
  };
  expect((await receiptFrom(from, peer, parcel)).err).toBe('invalid stamp: batchstore get: not found');
});

test('every forwarder passes a lack of room on to the origin', async () => {
  const clock = new ManualClock();
  const nodes = byDistance(await exchangeNodes(4, { clock }), someChunk);
  const storer = nodes[3]!;
  const radius = proximityOrder(storer.overlay, someChunk.address);
  for (const [i, node] of nodes.entries()) {
    node.radius = radius;
    if (node !== storer) await connect(node, nodes[i + 1]!, clock);
  }
  storer.store.hasRoom = false;
  await expect(nodes[0]!.pushsync.push(someChunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'NO_ROOM',
    neighbourhood: addressPrefix(someChunk.address, radius),
  });
  expect(nodes.map(({ store }) => store.held.size)).toEqual([0, 0, 0, 0]);
});

test('a push ends with the third refusal for lack of room, whatever other failures there were', async () => {
  const { node, strangers, asked } = await amongStrangers(8, async (stream, served) => {
    if (served % 2 === 0) await fullStorer(stream);
    else await stream.write(Receipt, { err: 'no' });
  });
  const chunk = chunkBeyond(node, strangers);
  await expect(node.pushsync.push(chunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'NO_ROOM',
    neighbourhood: '0110',
  });
  expect(asked()).toBe(6);
});

test('a failed push reports that a storer has no room, even when other peers failed after it', async () => {
  const { node, strangers } = await amongStrangers(3, async (stream, served) => {
    if (served === 1) await fullStorer(stream);
    else await stream.write(Receipt, { err: 'no' });
  });
  const chunk = chunkBeyond(node, strangers);
  await expect(node.pushsync.push(chunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'NO_ROOM',
  });
});

test('a storer that had no room is asked for the same chunk by the next push', async () => {
  const order: number[] = [];
  const { node } = await amongStrangers(2, async (stream, served, n) => {
    order.push(n);
    if (served === 1) await fullStorer(stream);
    else await stream.write(Receipt, receiptOf(n, chunk.address));
  });
  const chunk = outside(node);
  for (let n = 0; n < 2; n++) {
    expect((await node.pushsync.push(chunk, stamp, { signal: never })).outcome).toBe('synced');
  }
  const [full, other] = order;
  expect(order).toEqual([full, other, full]);
});

test('no other peer is asked for a chunk whose stamp has been replaced by a newer one', async () => {
  const { node, strangers, asked } = await amongStrangers(3, (stream) => stream.write(Receipt, replaced));
  const chunk = chunkBeyond(node, strangers);
  await expect(node.pushsync.push(chunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'SUPERSEDED',
  });
  expect(asked()).toBe(1);
});

test('a forwarder tells the origin that a stamp has been replaced', async () => {
  const clock = new ManualClock();
  const nodes = byDistance(await exchangeNodes(3, { clock }), someChunk);
  const [origin, forwarder, storer] = nodes as [ExchangeNode, ExchangeNode, ExchangeNode];
  for (const node of nodes) node.radius = proximityOrder(storer.overlay, someChunk.address);
  storer.store.reserve.put = () =>
    Promise.reject(new ReserveOverwriteError('overwrite: overwriting chunk with newer timestamp'));
  await connect(forwarder, storer, clock);
  await connect(origin, forwarder, clock);
  await expect(origin.pushsync.push(someChunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'SUPERSEDED',
  });
});

test('no peer outside the neighbourhood is asked while peers inside it are connected', async () => {
  const order: number[] = [];
  let storers = 0;
  const { clock, node, strangers } = await amongStrangers(
    5,
    async (stream, _served, n) => {
      order.push(n);
      await stream.write(Receipt, inLowerHalf(n) ? { err: 'no' } : receiptOf(n, chunk.address));
    },
    { radius: 1, isWanted: (n) => !inLowerHalf(n) || storers++ < 2 },
  );
  expect(node.id >= '8').toBe(true);
  const chunk = chunkWhere(([first = 0]) => first < 128);
  const push = () => node.pushsync.push(chunk, stamp, { signal: never });
  await expect(push()).rejects.toMatchObject({ code: 'PUSH_FAILED' });
  expect(order.map(inLowerHalf)).toEqual([true, true]);
  for (const one of strangers.filter(({ id }) => id < '8')) await one.host.stop();
  await clock.settle();
  expect((await push()).outcome).toBe('synced');
  expect(order.slice(2).map(inLowerHalf)).toEqual([false]);
});

test('a node neither responsible for a chunk nor closest to it does not keep it when no peer takes it', async () => {
  const { node, strangers } = await amongStrangers(2, (stream) => stream.write(Receipt, { err: 'no' }));
  const chunk = chunkBeyond(node, strangers);
  await expect(node.pushsync.push(chunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'PUSH_FAILED',
    cause: { message: 'no closer peer takes the chunk' },
  });
  expect(node.seen).toEqual([]);
});

test('a node keeps a chunk that no peer takes when it is responsible for it, or closer than its peers', async () => {
  const { node, strangers } = await amongStrangers(2, (stream) => stream.write(Receipt, { err: 'no' }));
  const want = (chunk: Chunk) => node.pushsync.push(chunk, stamp, { signal: never });
  expect(await want(chunkNear(node, [node, ...strangers]))).toEqual({ outcome: 'want-self' });
  const chunk = chunkBeyond(node, strangers);
  node.radius = proximityOrder(node.overlay, chunk.address);
  expect(await want(chunk)).toEqual({ outcome: 'want-self' });
});

test('a node without room does not keep a chunk that belongs to it', async () => {
  const { node, strangers } = await amongStrangers(1, (stream) => stream.write(Receipt, { err: 'no' }));
  const chunk = chunkNear(node, [node, ...strangers]);
  node.radius = 5;
  node.store.hasRoom = false;
  await expect(node.pushsync.push(chunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'NO_ROOM',
    neighbourhood: addressPrefix(chunk.address, 5),
  });
  expect(node.seen).toEqual([]);
});

test('a responsible node with room keeps a chunk for which its neighbours have no room', async () => {
  const { node } = await amongStrangers(4, fullStorer, { radius: 0 });
  const push = () => node.pushsync.push(someChunk, stamp, { signal: never });
  expect(await push()).toEqual({ outcome: 'want-self' });
  node.store.hasRoom = false;
  await expect(push()).rejects.toMatchObject({ code: 'NO_ROOM', neighbourhood: '0110' });
});

test('a forwarder that is the closest stores a chunk that no other node takes, and refuses it without room', async () => {
  const { node, from, peer } = await client(FAR_RADIUS);
  const { address, data } = chunkNear(node, [node, from]);
  node.store.hasRoom = false;
  const neighbourhood = addressPrefix(address, FAR_RADIUS);
  expect((await receiptFrom(from, peer, { address, data, stamp: parcel.stamp })).err).toBe(
    `handler: push to closest chunk: no room in neighbourhood '${neighbourhood}'`,
  );
  expect(node.store.held.size).toBe(0);
});

test('a receipt states the storage radius at the time of signing', async () => {
  const { node, from, peer } = await client(2);
  node.radius = proximityOrder(node.overlay, someChunk.address);
  const { put } = node.store.reserve;
  node.store.reserve.put = async (...given) => {
    await put(...given);
    node.radius = 9;
  };
  expect(await receiptFrom(from, peer, parcel)).toMatchObject({ err: '', storageRadius: 9 });
});

test('a full node without peers to push to wants the chunk itself, a light node fails for lack of a peer', async () => {
  const clock = new ManualClock();
  const [full] = await exchangeNodes(1, { clock });
  const [light] = await exchangeNodes(1, { clock, fullNode: false });
  expect(await full!.pushsync.push(someChunk, stamp, { signal: never })).toEqual({ outcome: 'want-self' });
  await expect(light!.pushsync.push(someChunk, stamp, { signal: never })).rejects.toMatchObject({
    code: 'NO_PEER',
  });
});

test('a full node that is cut off from its known peers does not keep the chunk and fails for lack of a peer', async () => {
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

test('a failed peer is not asked for that chunk again for five minutes when another peer has taken it', async () => {
  const order: number[] = [];
  const { clock, node } = await amongStrangers(2, (stream, served, n) => {
    order.push(n);
    return stream.write(Receipt, served === 1 ? { err: 'later' } : receiptOf(n, chunk.address));
  });
  const chunk = outside(node);
  for (const pauseMs of [299_000, 1_000, 0]) {
    expect((await node.pushsync.push(chunk, stamp, { signal: never })).outcome).toBe('synced');
    await clock.advance(pauseMs);
  }
  const [failed, other] = order;
  expect(order).toEqual([failed, other, other, failed]);
});

test('failed peers are asked again by an origin’s next push when no peer has taken the chunk', async () => {
  const { node, strangers, asked } = await amongStrangers(3, (stream) =>
    stream.write(Receipt, { err: 'no' }),
  );
  const chunk = chunkBeyond(node, strangers);
  const push = () => node.pushsync.push(chunk, stamp, { signal: never });
  for (const count of [3, 6]) {
    await expect(push()).rejects.toMatchObject({ code: 'PUSH_FAILED' });
    expect(asked()).toBe(count);
  }
});

test('a forwarder does not ask a failed peer for that chunk again for five minutes, and does not keep the chunk', async () => {
  const { clock, network, node, strangers, asked } = await amongStrangers(1, (stream) =>
    stream.write(Receipt, { err: 'no' }),
  );
  const from = await stranger(9, { clock, network, protocol: PUSHSYNC, handler: idle });
  const peer = await connect(from, node, clock);
  const chunk = chunkNear(strangers[0]!, [strangers[0]!, node, from]);
  const delivery = { address: chunk.address, data: chunk.data, stamp: parcel.stamp };
  const refused = { err: 'handler: push to closest chunk: could not push chunk' };
  for (const count of [1, 1]) {
    expect(await receiptFrom(from, peer, delivery)).toMatchObject(refused);
    expect([asked(), node.store.held.size]).toEqual([count, 0]);
  }
  await clock.advance(300_000);
  expect(await receiptFrom(from, peer, delivery)).toMatchObject(refused);
  expect([asked(), node.store.held.size]).toEqual([2, 0]);
});

test('many chunks through three nodes are all stored and paid for, and no peer is lost', async () => {
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

test('a node that others cannot reach passes on chunks within its radius, but not back to the sender', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const hidden = exchangeNode(1, { clock, network, reachable: false });
  const other = exchangeNode(2, { clock, network });
  for (const { host } of [hidden, other]) await host.start();
  const from = await stranger(9, { clock, network, protocol: PUSHSYNC, handler: idle });
  const peer = await connect(from, hidden, clock);
  // No other peer is there: what it does not take is lost.
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

test('a delivered chunk is seen even when its stamp is refused', async () => {
  const { node, from, peer } = await client();
  node.validate = () => {
    throw new PostageError('STAMP_INVALID', 'signature of another owner');
  };
  await receiptFrom(from, peer, parcel);
  expect(node.seen).toHaveLength(1);
});

test('an invalid delivery is not seen', async () => {
  const { node, from, peer } = await client();
  await receiptFrom(from, peer, { ...parcel, data: new Uint8Array(10) });
  expect(node.seen).toEqual([]);
});

test('an own chunk is seen by its node when there is no other peer, unless it is a single-owner chunk', async () => {
  const clock = new ManualClock();
  const [alone] = await exchangeNodes(1, { clock });
  await alone!.pushsync.push(someChunk, stamp, { signal: never });
  expect(alone!.seen).toEqual([someChunk]);
  const soc = signSoc(new Uint8Array(32), someChunk.data, createSigner(testKey(5)));
  await alone!.pushsync.push(soc, stamp, { signal: never });
  expect(alone!.seen).toEqual([someChunk]);
});
