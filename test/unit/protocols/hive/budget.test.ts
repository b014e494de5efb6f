import { expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import type { AddressRecord, Generation, Peer } from '../../../../node/p2p/host.ts';
import { BUDGET_RECORDS, Budget, NEW_RECORDS } from '../../../../node/protocols/hive/rules.ts';
import { HIVE, Peers } from '../../../../node/protocols/hive/wire.ts';
import { NETWORK_ID, ZERO_NONCE } from '../../p2p/memory-nodes.ts';
import { gossips, never, nowSeconds, peerId, recordOf } from './hive-kit.ts';

test('the stream of a peer over its budget is cut off, the peer stays connected', async () => {
  const { a, peer, clock, learned } = await gossips();
  const send = async (count: number) => {
    const stream = await a.host.open(peer, HIVE['15.0.0'].id, { signal: never });
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

async function toldAnew(
  { a, b, clock, learned }: Awaited<ReturnType<typeof gossips>>,
  records: readonly AddressRecord[],
): Promise<number> {
  const before = learned.flat().length;
  for (let at = 0; at < records.length; at += 30) {
    await a.host.disconnect(toHex(b.host.overlay), 'once more');
    await clock.settle();
    const peer = await a.host.connect([b.underlay()], never);
    const stream = await a.host.open(peer, HIVE['15.0.0'].id, { signal: never });
    await stream.write(Peers, { peers: records.slice(at, at + 30) });
    await stream.close();
    await clock.settle();
  }
  return learned.flat().length - before;
}

function manyRecords(count: number): AddressRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const underlay = encodeUnderlays([`/ip4/10.9.${i >> 8}.${i & 0xff}/tcp/1634/p2p/${peerId}`]);
    const statement = { underlay, nonce: ZERO_NONCE, timestamp: nowSeconds, chequebook: NO_CHEQUEBOOK };
    const key = new Uint8Array(32).fill(7);
    new DataView(key.buffer).setUint32(0, i + 1);
    return mintRecord(statement, { signer: createSigner(key), networkId: NETWORK_ID });
  });
}

test('news is bounded across connections, and known records cost nothing', async () => {
  const world = await gossips();
  const records = manyRecords(NEW_RECORDS.peer.burst + 200);
  expect(await toldAnew(world, records)).toBe(NEW_RECORDS.peer.burst);
  expect(await toldAnew(world, records.slice(0, NEW_RECORDS.peer.burst))).toBe(NEW_RECORDS.peer.burst);
  await world.clock.advance(100_000);
  expect(await toldAnew(world, records.slice(NEW_RECORDS.peer.burst))).toBeLessThan(50);
});

test('a flood of gossip over budget costs the sender its connection', async () => {
  const { a, b, peer, clock } = await gossips();
  const records = Array.from({ length: 30 }, (_, i) => recordOf(i + 20));
  let sent = 0;
  for (; !peer.closed.aborted && sent < 1_000; sent++) {
    const stream = await a.host.open(peer, HIVE['15.0.0'].id, { signal: never });
    await stream.write(Peers, { peers: records });
    // The last one is cut off on the way.
    const [closing] = await Promise.allSettled([stream.close()]);
    if (closing.status === 'rejected') expect(closing.reason).toMatchObject({ code: 'STREAM_RESET' });
    await clock.settle();
  }
  expect(sent).toBeLessThan(30);
  expect(b.host.blocklisted()).toMatchObject([{ overlay: toHex(a.host.overlay) }]);
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

test('one budget counts the records of both versions', async () => {
  const { a, peer } = await gossips();
  const send = async (generation: Generation, count: number) => {
    const stream = await a.host.open(peer, HIVE[generation].id, { signal: never });
    await stream.write(Peers, { peers: Array.from({ length: count }, (_, i) => recordOf(i + 20)) });
    await stream.close();
  };
  await send('14.0.0', BUDGET_RECORDS - 1);
  await send('15.0.0', 1);
  await expect(send('15.0.0', 1)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await expect(send('14.0.0', 1)).rejects.toMatchObject({ code: 'STREAM_RESET' });
});

test('a budget is forgotten with its peer', async () => {
  const { a, b, peer, announce, clock, learned } = await gossips();
  const records = Array.from({ length: 120 }, (_, i) => recordOf(i + 11));
  for (const record of records) await a.addressBook.put(record);
  await announce(records.map(({ overlay }) => toHex(overlay)));
  await a.host.disconnect(peer.overlayHex, 'again');
  for (const { overlay } of records) await b.addressBook.remove(toHex(overlay));
  const again: Peer = await a.host.connect([b.underlay()], never);
  expect(again.overlayHex).toBe(peer.overlayHex);
  await clock.settle();
  const before = learned.flat().length;
  const stream = await a.host.open(again, HIVE['15.0.0'].id, { signal: never });
  await stream.write(Peers, { peers: records.slice(0, 60) });
  await stream.close();
  expect(learned.flat().length - before).toBe(60);
});
