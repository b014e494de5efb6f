import { fc } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { mintRecord, NO_CHEQUEBOOK, parseRecord } from '../../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import { decodeMessage, encodeFrame } from '../../../../node/p2p/codec/codec.ts';
import type { AddressRecord } from '../../../../node/p2p/host.ts';
import { judge, toAnnounce } from '../../../../node/protocols/hive/rules.ts';
import { HIVE, Peers } from '../../../../node/protocols/hive/wire.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };
import { NETWORK_ID, testKey, ZERO_NONCE } from '../../p2p/memory-nodes.ts';
import {
  gossips,
  never,
  nonce,
  nowSeconds,
  overlay,
  peerId,
  recordOf,
  signature,
  underlay,
} from './hive-kit.ts';

test('announced peers are learned and written to the address book', async () => {
  const { a, b, clock, learned, announce } = await gossips();
  const records = [recordOf(11), recordOf(12)];
  for (const record of records) await a.addressBook.put(record);
  await announce(records.map(({ overlay }) => toHex(overlay)));
  await clock.settle();
  expect(learned).toEqual([records.map(({ overlay }) => toHex(overlay))]);
  expect(b.addressBook.get(toHex(records[0]?.overlay ?? new Uint8Array(0)))).toEqual(records[0]);
});

test('a message has as many records as the platform allows', async () => {
  const { a, clock, learned, announce } = await gossips({ gossipedPeers: 2 });
  const records = [recordOf(11), recordOf(12), recordOf(13)];
  for (const record of records) await a.addressBook.put(record);
  const overlays = records.map(({ overlay }) => toHex(overlay));
  await announce(overlays);
  await clock.settle();
  expect(learned).toEqual([overlays.slice(0, 2), overlays.slice(2)]);
});

test('a record that we already have is no news, but its node is still named to the topology', async () => {
  const { a, b, clock, learned, announce } = await gossips();
  const record = recordOf(11);
  for (const { addressBook } of [a, b]) await addressBook.put(record);
  await announce([toHex(record.overlay)]);
  await clock.settle();
  expect(learned).toEqual([[toHex(record.overlay)]]);
});

test('a record with an invalid signature names no node, not even one that we know', async () => {
  const { a, b, peer, clock, learned } = await gossips();
  await b.addressBook.put(recordOf(19));
  const stream = await a.host.open(peer, HIVE['15.0.0'].id, { signal: never });
  await stream.write(Peers, { peers: [{ ...recordOf(18), overlay: recordOf(19).overlay }] });
  await clock.settle();
  expect(learned).toEqual([]);
});

/** One of its addresses is of a kind unknown here. */
function recordOfTomorrow(n: number, address: string): AddressRecord {
  const known = encodeUnderlays([`${address}/p2p/${peerId}`]);
  const underlay = Uint8Array.of(0x99, 4, 0xb3, 0x7f, 0x0a, 0x0b, known.length, ...known);
  const statement = { underlay, nonce: ZERO_NONCE, timestamp: nowSeconds, chequebook: NO_CHEQUEBOOK };
  return mintRecord(statement, { signer: createSigner(testKey(n)), networkId: NETWORK_ID });
}

test('a record with an address of an unknown kind is learned and passed on whole', async () => {
  const { a, b, clock, learned, announce } = await gossips();
  const record = recordOfTomorrow(11, '/ip4/10.9.0.11/tcp/1634');
  await a.addressBook.put(record);
  await announce([toHex(record.overlay)]);
  await clock.settle();
  expect(learned).toEqual([[toHex(record.overlay)]]);
  const stored = b.addressBook.get(toHex(record.overlay)) as AddressRecord;
  expect(stored).toEqual(record);
  const onward = toAnnounce(stored, { generation: '15.0.0', allowPrivate: true });
  expect(parseRecord(onward as AddressRecord, NETWORK_ID).record).toEqual(record);
});

test('over hive 1.1.0 an address of an unknown kind is news, and passed on unless a private one must be left out', () => {
  const record = recordOfTomorrow(2, '/ip4/8.8.8.8/tcp/1634');
  const plain = recordOf(2, { timestamp: 0n, address: '/ip4/8.8.8.8/tcp/1634' });
  const verdict = judge({ ...record, timestamp: 0n }, '14.0.0', known(plain));
  expect(verdict).toEqual({ take: { ...record, timestamp: 0n } });
  const options = { generation: '14.0.0', allowPrivate: false } as const;
  expect(toAnnounce(record, options)?.underlay).toEqual(record.underlay);
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

test('one bad record does not cost the others in its message', async () => {
  const { a, peer, clock, learned } = await gossips();
  const good = recordOf(17);
  const forged = { ...recordOf(18), overlay: recordOf(19).overlay };
  const stream = await a.host.open(peer, HIVE['15.0.0'].id, { signal: never });
  await stream.write(Peers, { peers: [forged, good] });
  await stream.close();
  await clock.settle();
  expect(learned).toEqual([[toHex(good.overlay)]]);
});

const context = {
  ownOverlay: recordOf(1).overlay,
  networkId: NETWORK_ID,
  nowSeconds,
  stored: () => undefined as AddressRecord | undefined,
};

const known = (record: AddressRecord) => ({ ...context, stored: () => record });

test.each([
  ['our own record', recordOf(1), undefined, 'OWN_OVERLAY'],
  ['a record of the future', recordOf(2, { timestamp: nowSeconds + 61n }), undefined, 'TIMESTAMP_IN_FUTURE'],
  ['a record that we have', recordOf(2), nowSeconds, 'TIMESTAMP_NOT_NEWER'],
  ['a record five minutes newer', recordOf(2), nowSeconds - 300n, 'TIMESTAMP_TOO_SOON'],
  ['a record without time', recordOf(2, { timestamp: 0n }), undefined, 'TIMESTAMP_NOT_POSITIVE'],
  [
    'a record with a cut signature',
    { ...recordOf(2), signature: new Uint8Array(5) },
    undefined,
    'RECORD_INVALID',
  ],
] as const)('over hive 2.0.0 %s is dropped', (_name, record, stored, reason) => {
  const given = stored === undefined ? context : known(recordOf(2, { timestamp: stored }));
  expect(judge(record, '15.0.0', given)).toEqual({ drop: reason });
});

test('a proof is not checked a second time, and a record that differs from a proved one is not accepted in its place', () => {
  // A proof that would fail shows whether it is read.
  const stored = { ...recordOf(2), signature: new Uint8Array(65) };
  const context = known(stored);
  expect(judge(stored, '15.0.0', context)).toEqual({ drop: 'TIMESTAMP_NOT_NEWER' });
  const others = [
    { ...stored, signature: new Uint8Array(65).fill(1) },
    { ...stored, nonce: new Uint8Array(32).fill(9) },
    { ...stored, timestamp: stored.timestamp + 1n },
    { ...stored, chequebook: new Uint8Array(20).fill(9) },
    { ...stored, underlay: recordOf(3).underlay },
  ];
  for (const other of others) expect(judge(other, '15.0.0', context)).toEqual({ drop: 'RECORD_INVALID' });
});

test('over hive 2.0.0 a record is taken when it is more than five minutes newer, or the first with a time', () => {
  for (const timestamp of [nowSeconds - 301n, 0n]) {
    expect(judge(recordOf(2), '15.0.0', known(recordOf(2, { timestamp })))).toEqual({ take: recordOf(2) });
  }
});

/** As a sender of hive 1.1.0 writes it. */
const hearsay = (n: number, address?: string) =>
  recordOf(n, address === undefined ? { timestamp: 0n } : { timestamp: 0n, address });

const TWO_ADDRESSES = encodeUnderlays([
  `/ip4/10.9.0.2/tcp/1634/p2p/${peerId}`,
  `/ip4/10.9.0.3/tcp/1634/p2p/${peerId}`,
]);

const TURNED_ROUND = encodeUnderlays([
  `/ip4/10.9.0.3/tcp/1634/p2p/${peerId}`,
  `/ip4/10.9.0.2/tcp/1634/p2p/${peerId}`,
]);

test.each([
  ['our own record', hearsay(1), undefined, 'OWN_OVERLAY'],
  ['a record without address', { ...hearsay(2), underlay: new Uint8Array(0) }, undefined, 'RECORD_INVALID'],
  ['an address that is none', { ...hearsay(2), underlay: Uint8Array.of(1) }, undefined, 'RECORD_INVALID'],
  [
    'an empty list of addresses',
    { ...hearsay(2), underlay: Uint8Array.of(0x99) },
    undefined,
    'RECORD_INVALID',
  ],
  ['an overlay of 31 bytes', { ...hearsay(2), overlay: new Uint8Array(31) }, undefined, 'RECORD_INVALID'],
  ['a signature of 64 bytes', { ...hearsay(2), signature: new Uint8Array(64) }, undefined, 'RECORD_INVALID'],
  ['a nonce of 33 bytes', { ...hearsay(2), nonce: new Uint8Array(33) }, undefined, 'RECORD_INVALID'],
  ['a record that we have', hearsay(2), hearsay(2), 'UNCHANGED'],
  [
    'the same addresses in another order',
    { ...hearsay(2), underlay: TURNED_ROUND },
    { ...hearsay(2), underlay: TWO_ADDRESSES },
    'UNCHANGED',
  ],
  [
    'a new address of a node whose record has a time',
    hearsay(2, '/ip4/8.8.8.8/tcp/1'),
    recordOf(2),
    'WITHOUT_TIME',
  ],
] as const)('over hive 1.1.0 %s is dropped', (_name, record, stored, reason) => {
  const given = stored === undefined ? context : known(stored);
  expect(judge(record, '14.0.0', given)).toEqual({ drop: reason });
});

test('over hive 1.1.0 a record is taken without a look at its signature, and never has a time', () => {
  const unproved = { ...recordOf(2), signature: new Uint8Array(65) };
  const taken = { ...unproved, timestamp: 0n };
  expect(judge(unproved, '14.0.0', context)).toEqual({ take: taken });
  expect(judge(unproved, '14.0.0', known(hearsay(2, '/ip4/8.8.8.8/tcp/1')))).toEqual({ take: taken });
});

test('a record is passed on when one of its addresses can be reached', () => {
  const generation = '15.0.0';
  expect(toAnnounce(recordOf(2), { generation, allowPrivate: true })).toEqual(recordOf(2));
  expect(toAnnounce(recordOf(2), { generation, allowPrivate: false })).toBeUndefined();
  const nowhere = { ...recordOf(2), underlay: new Uint8Array(0) };
  expect(toAnnounce(nowhere, { generation, allowPrivate: true })).toBeUndefined();
});

test('hive 2.0.0 never carries a record without a time, hive 1.1.0 carries both kinds without one', () => {
  const allowPrivate = true;
  expect(toAnnounce(hearsay(2), { generation: '15.0.0', allowPrivate })).toBeUndefined();
  for (const record of [recordOf(2), hearsay(2)]) {
    const { overlay, underlay, signature, nonce } = record;
    expect(toAnnounce(record, { generation: '14.0.0', allowPrivate })).toEqual({
      overlay,
      underlay,
      signature,
      nonce,
      timestamp: 0n,
      chequebook: new Uint8Array(0),
    });
  }
});

test('hive 1.1.0 leaves out the addresses that others cannot reach, hive 2.0.0 keeps what was signed', () => {
  const open = `/ip4/8.8.8.8/tcp/1634/p2p/${peerId}`;
  const underlay = encodeUnderlays([open, `/ip4/10.9.0.2/tcp/1634/p2p/${peerId}`]);
  const record = { ...recordOf(2), underlay };
  const old = toAnnounce(record, { generation: '14.0.0', allowPrivate: false });
  expect(old?.underlay).toEqual(encodeUnderlays([open]));
  expect(toAnnounce(record, { generation: '15.0.0', allowPrivate: false })?.underlay).toEqual(underlay);
});

test('nodes of the older generation learn records of both kinds, all without a time', async () => {
  const { a, b, clock, peer, learned, announce } = await gossips(undefined, { generations: ['14.0.0'] });
  expect(peer.generation).toBe('14.0.0');
  const records = [recordOf(11), hearsay(12)];
  for (const record of records) await a.addressBook.put(record);
  const overlays = records.map(({ overlay }) => toHex(overlay));
  await announce(overlays);
  await clock.settle();
  expect(learned).toEqual([overlays]);
  expect(overlays.map((overlay) => b.addressBook.get(overlay)?.timestamp)).toEqual([0n, 0n]);
});

test.each([
  ['2.0.0', '15.0.0', vectors.recordedGossip],
  ['1.1.0', '14.0.0', vectors.recordedOlder],
] as const)('the gossip of a real node over hive %s is taken', (_version, generation, recorded) => {
  const { peers } = decodeMessage(Peers, framed(recorded.peers));
  expect(peers.map(({ overlay }) => toHex(overlay))).toEqual(recorded.gossiped);
  const networkId = BigInt(recorded.networkId);
  const recordedAt = { ...context, networkId, nowSeconds: BigInt(vectors.recordedGossip.nowSeconds) };
  for (const wire of peers) {
    const verdict = judge(wire, generation, recordedAt);
    const record = 'take' in verdict ? verdict.take : undefined;
    expect(toHex(record?.overlay ?? new Uint8Array(0))).toBe(toHex(wire.overlay));
    // The sender left nothing out, so the older signature can be checked.
    expect(parseRecord(wire, networkId, { generation }).record).toEqual(record);
  }
  // Passed on as it came.
  const again = peers.flatMap((wire) => toAnnounce(wire, { generation, allowPrivate: true }) ?? []);
  expect(toHex(encodeFrame(Peers, { peers: again }))).toBe(recorded.peers);
});

function framed(hex: string): Uint8Array {
  return fromHex(hex).subarray(2);
}

const bytesOf = (...likely: Uint8Array[]) =>
  fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.constantFrom(...likely, new Uint8Array(0)));

test('any gossiped record is either taken in full or dropped with a reason', () => {
  const wire = fc.record({
    underlay: bytesOf(underlay),
    signature: bytesOf(signature),
    overlay: bytesOf(overlay, context.ownOverlay),
    nonce: bytesOf(nonce),
    timestamp: fc.oneof(fc.constant(nowSeconds), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    chequebook: bytesOf(NO_CHEQUEBOOK),
  });
  fc.assert(
    fc.property(wire, fc.constantFrom('15.0.0', '14.0.0'), fc.boolean(), (record, generation, isKnown) => {
      const verdict = judge(record, generation, isKnown ? known(recordOf(2)) : context);
      if ('drop' in verdict) expect(verdict.drop).toMatch(/^[A-Z_]+$/);
      else expect(verdict.take.overlay).toHaveLength(32);
    }),
    { numRuns: 500 },
  );
});

/** Also cut messages and too long ones. */
const Anything = { peers: [1, ['repeated', 'bytes']] } as const;

test('any message of gossip leaves the peer connected, and the next message is read', async () => {
  const { a, b, clock, peer, learned } = await gossips();
  const record = encodeFrame(Peers, { peers: [recordOf(2)] });
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.nat(record.length).map((length) => record.subarray(4, length)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 3 }),
      fc.constantFrom('15.0.0', '14.0.0'),
      async (pieces, generation) => {
        // Within the budget of both versions.
        await clock.advance(4 * 60_000);
        const stream = await a.host.open(peer, HIVE[generation].id, { signal: never });
        await stream.write(Anything, { peers: pieces });
        await stream.close().catch((error: unknown) => expect(error).toMatchObject({ code: 'STREAM_RESET' }));
        await clock.settle();
        expect(peer.closed.aborted).toBe(false);
      },
    ),
    { numRuns: 60 },
  );
  const { overlayHex } = b.host.peers()[0] ?? { overlayHex: '' };
  expect(overlayHex).toBe(toHex(a.host.overlay));
  const before = learned.length;
  const stream = await a.host.open(peer, HIVE['15.0.0'].id, { signal: never });
  await stream.write(Peers, { peers: [recordOf(90, { timestamp: BigInt(Math.floor(clock.now() / 1000)) })] });
  await stream.close();
  await clock.settle();
  expect(learned.length).toBe(before + 1);
});

test('a message longer than a node reads ends the stream, the peer stays connected', async () => {
  const { a, peer, clock, learned } = await gossips();
  const stream = await a.host.open(peer, HIVE['15.0.0'].id, { signal: never });
  await stream.write(Anything, { peers: [new Uint8Array(140_000)] });
  await expect(stream.close()).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await clock.settle();
  expect([learned.length, a.host.peers().length]).toEqual([0, 1]);
});

test('a bootnode keeps none of the records that it receives', async () => {
  const { a, b, clock, learned, announce } = await gossips({ bootnodeMode: true });
  const record = recordOf(11);
  await a.addressBook.put(record);
  await announce([toHex(record.overlay)]);
  await clock.settle();
  expect(learned).toEqual([]);
  expect(b.addressBook.get(toHex(record.overlay))).toBeUndefined();
});
