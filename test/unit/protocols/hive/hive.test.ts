import { expect, test } from 'vitest';
import { toHex } from '../../../../node/crypto/hex.ts';
import { createSigner } from '../../../../node/crypto/signer.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import type { AddressRecord, Peer } from '../../../../node/p2p/host.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../../node/p2p/record.ts';
import { encodeUnderlays } from '../../../../node/p2p/underlay.ts';
import { createHive } from '../../../../node/protocols/hive/hive.ts';
import { BUDGET_RECORDS, Budget, isAdvertisable, judge } from '../../../../node/protocols/hive/rules.ts';
import { HIVE, Peers } from '../../../../node/protocols/hive/wire.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };
import { type MemoryNode, NETWORK_ID, startedNodes, testKey, ZERO_NONCE } from '../../p2p/memory-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const never = new AbortController().signal;
const peerId = vectors.underlays[0]?.underlays[0]?.split('/p2p/')[1];
const clock = new ManualClock();
const nowSeconds = BigInt(Math.floor(clock.now() / 1000));

/** A record of key `n`. */
function recordOf(n: number, change: { timestamp?: bigint; address?: string } = {}): AddressRecord {
  const { timestamp = nowSeconds, address = `/ip4/10.9.0.${n}/tcp/1634` } = change;
  const underlay = encodeUnderlays([`${address}/p2p/${peerId}`]);
  const statement = { underlay, nonce: ZERO_NONCE, timestamp, chequebook: NO_CHEQUEBOOK };
  return mintRecord(statement, { signer: createSigner(testKey(n)), networkId: NETWORK_ID });
}

async function gossips(options = { allowPrivateCidrs: true }) {
  const clock = new ManualClock();
  const [a, b] = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
  const hives = [a, b].map((node) =>
    createHive(
      { networkId: NETWORK_ID, ...options },
      { ...node, clock, log: silentLogger(), metrics: createMetrics({ prefix: 'svc' }) },
    ),
  );
  const learned: string[][] = [];
  hives[1]?.onLearned((overlays) => learned.push([...overlays]));
  const peer = await a.host.connect([b.underlay()], never);
  const announce = (overlays: string[]) => hives[0]?.announce(peer, overlays, never) ?? Promise.resolve();
  return { a, b, clock, peer, learned, announce };
}

test('announced peers are learned and written to the address book', async () => {
  const { a, b, clock, learned, announce } = await gossips();
  const records = [recordOf(11), recordOf(12)];
  for (const record of records) await a.addressBook.put(record);
  await announce(records.map(({ overlay }) => toHex(overlay)));
  await clock.settle();
  expect(learned).toEqual([records.map(({ overlay }) => toHex(overlay))]);
  expect(b.addressBook.get(toHex(records[0]?.overlay ?? new Uint8Array(0)))).toEqual(records[0]);
});

test('more than thirty records travel in several messages', async () => {
  const { a, clock, learned, announce } = await gossips();
  const records = Array.from({ length: 70 }, (_, i) => recordOf(i + 11));
  for (const record of records) await a.addressBook.put(record);
  await announce(records.map(({ overlay }) => toHex(overlay)));
  await clock.settle();
  expect(learned.map(({ length }) => length)).toEqual([30, 30, 10]);
});

test('unknown overlays, our own, records without time and private ones are not passed on', async () => {
  const { a, clock, learned, announce } = await gossips({ allowPrivateCidrs: false });
  const open = recordOf(13, { address: '/ip4/8.8.8.8/tcp/1634' });
  const timeless = { ...recordOf(14, { address: '/ip4/8.8.8.9/tcp/1634' }), timestamp: 0n };
  for (const record of [open, timeless, recordOf(15)]) await a.addressBook.put(record);
  const overlays = [open, timeless, recordOf(15), recordOf(16)].map(({ overlay }) => toHex(overlay));
  await announce([toHex(a.host.overlay), ...overlays]);
  await clock.settle();
  expect(learned).toEqual([[toHex(open.overlay)]]);
});

test('one bad record does not cost the others', async () => {
  const { a, peer, clock, learned } = await gossips();
  const good = recordOf(17);
  const forged = { ...recordOf(18), overlay: recordOf(19).overlay };
  const stream = await a.host.open(peer, HIVE.id, { signal: never });
  await stream.write(Peers, { peers: [forged, good] });
  await stream.close();
  await clock.settle();
  expect(learned).toEqual([[toHex(good.overlay)]]);
});

test('a peer over its budget is cut off, and not disconnected', async () => {
  const { a, peer, clock, learned } = await gossips();
  const send = async (count: number) => {
    const stream = await a.host.open(peer, HIVE.id, { signal: never });
    await stream.write(Peers, { peers: Array.from({ length: count }, (_, i) => recordOf(i + 20)) });
    await stream.close();
  };
  await send(BUDGET_RECORDS);
  await expect(send(1)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(learned).toHaveLength(1);
  expect(a.host.peers()).toHaveLength(1);
  await clock.advance(60_000);
  await send(1);
});

test('a sender stops by itself at the budget of its peer', async () => {
  const { a, clock, learned, announce } = await gossips();
  const records = Array.from({ length: 150 }, (_, i) => recordOf(i + 11));
  for (const record of records) await a.addressBook.put(record);
  await announce(records.map(({ overlay }) => toHex(overlay)));
  await clock.settle();
  expect(learned.flat()).toHaveLength(120);
});

test('a budget refills by one record per minute, up to its size', () => {
  const budget = new Budget(0);
  expect(budget.take(BUDGET_RECORDS + 1, 0)).toBe(false);
  expect(budget.take(BUDGET_RECORDS, 0)).toBe(true);
  expect(budget.take(1, 59_999)).toBe(false);
  expect(budget.take(1, 60_000)).toBe(true);
  expect(budget.take(BUDGET_RECORDS, 1e12)).toBe(true);
  expect(budget.take(1, 1e12)).toBe(false);
});

const context = {
  ownOverlay: recordOf(1).overlay,
  networkId: NETWORK_ID,
  nowSeconds,
  stored: () => undefined as bigint | undefined,
};

test.each([
  ['our own record', recordOf(1), undefined, 'OWN_OVERLAY'],
  ['a record of the future', recordOf(2, { timestamp: nowSeconds + 61n }), undefined, 'TIMESTAMP_IN_FUTURE'],
  ['a record that we have', recordOf(2), nowSeconds, 'TIMESTAMP_NOT_NEWER'],
  ['a record five minutes newer', recordOf(2), nowSeconds - 300n, 'TIMESTAMP_TOO_SOON'],
  [
    'a record with a cut signature',
    { ...recordOf(2), signature: new Uint8Array(5) },
    undefined,
    'RECORD_INVALID',
  ],
] as const)('%s is dropped', (_name, record, stored, reason) => {
  expect(judge(record, { ...context, stored: () => stored })).toEqual({ drop: reason });
});

test('a record more than five minutes newer is taken', () => {
  expect(judge(recordOf(2), { ...context, stored: () => nowSeconds - 301n })).toEqual({ take: recordOf(2) });
});

test('a record is passed on when one of its addresses can be reached', () => {
  expect(isAdvertisable(recordOf(2), { allowPrivate: true })).toBe(true);
  expect(isAdvertisable(recordOf(2), { allowPrivate: false })).toBe(false);
  expect(isAdvertisable({ ...recordOf(2), underlay: new Uint8Array(0) }, { allowPrivate: true })).toBe(false);
});

test('a budget is forgotten with its peer', async () => {
  const { a, b, peer, announce, clock, learned } = await gossips();
  const records = Array.from({ length: 120 }, (_, i) => recordOf(i + 11));
  for (const record of records) await a.addressBook.put(record);
  await announce(records.map(({ overlay }) => toHex(overlay)));
  await a.host.disconnect(peer.id, 'again');
  for (const { overlay } of records) await b.addressBook.remove(toHex(overlay));
  const again: Peer = await a.host.connect([b.underlay()], never);
  expect(again.id).toBe(peer.id);
  await clock.settle();
  const before = learned.flat().length;
  const stream = await a.host.open(again, HIVE.id, { signal: never });
  await stream.write(Peers, { peers: records.slice(0, 60) });
  await stream.close();
  expect(learned.flat().length - before).toBe(60);
});
