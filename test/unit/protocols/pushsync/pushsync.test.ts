import { expect, test } from 'vitest';
import { closerTo, proximityOrder } from '../../../../formats/chunk/address.ts';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { signSoc } from '../../../../formats/chunk/soc.ts';
import { encodeStamp } from '../../../../formats/chunk/stamp.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { PostageError } from '../../../../node/postage/ports.ts';
import { isShallow, MULTIPLEX_KEPT_MS, storerOf } from '../../../../node/protocols/pushsync/rules.ts';
import { PUSHSYNC, Receipt } from '../../../../node/protocols/pushsync/wire.ts';
import { ReserveOverwriteError } from '../../../../node/store/ports.ts';
import { NETWORK_ID, testKey } from '../../p2p/memory-nodes.ts';
import {
  byDistance,
  chunkNear,
  chunkWhere,
  connect,
  exchangeNode,
  exchangeNodes,
  FAR_RADIUS,
  line,
  mesh,
  never,
  stranger,
} from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import {
  amongStrangers,
  chunkBeyond,
  client,
  idle,
  inLowerHalf,
  overlayOf,
  parcel,
  receiptFrom,
  receiptOf,
  someChunk,
  stamp,
} from './pushsync-kit.ts';

function keyWhere(wanted: (overlay: Uint8Array) => boolean): number {
  for (let n = 1_000; n < 2_000; n++) if (wanted(fromHex(overlayOf(n)))) return n;
  throw new Error('no such node among 1,000');
}

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
  // What it does not take is lost.
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
