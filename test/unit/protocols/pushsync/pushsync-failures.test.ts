import { expect, test } from 'vitest';
import { addressPrefix, proximityOrder } from '../../../../formats/chunk/address.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { encodeStamp } from '../../../../formats/chunk/stamp.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import type { MessageStream } from '../../../../node/p2p/host.ts';
import { PostageError } from '../../../../node/postage/ports.ts';
import { NoRoomError, storerOf } from '../../../../node/protocols/pushsync/rules.ts';
import { PUSHSYNC, Receipt } from '../../../../node/protocols/pushsync/wire.ts';
import { ReserveOverwriteError } from '../../../../node/store/ports.ts';
import { NETWORK_ID, testKey } from '../../p2p/memory-nodes.ts';
import {
  byDistance,
  chunkNear,
  chunkWhere,
  connect,
  type ExchangeNode,
  exchangeNodes,
  FAR_RADIUS,
  line,
  never,
  stranger,
} from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import {
  amongStrangers,
  chunkBeyond,
  client,
  idle,
  overlayOf,
  parcel,
  receiptFrom,
  receiptOf,
  someChunk,
  stamp,
} from './pushsync-kit.ts';

/** No stranger is in the chunk's neighbourhood, and no receipt of theirs is shallow. */
function outside(node: ExchangeNode): Chunk {
  node.radius = 1;
  return chunkWhere(([first = 0]) => first >= 128);
}

const fullStorer = (stream: MessageStream) =>
  stream.write(Receipt, { err: `handler: ${new NoRoomError('0110').message}` });

/** It holds another chunk at the index of the stamp. */
const replaced = {
  err: 'reserve put: reserve putter.Put: overwrite same chunk. prev 2 cur 1: overwriting chunk with newer timestamp',
};

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
  // It would replace what is there, and needs no more room.
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
