import { fc } from '@fast-check/vitest';
import { expect } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { encodeStamp } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { framed, join } from '../../../harness/conformance/wire/hostile-bytes.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../node/p2p/address/record.ts';
import { decodeUnderlays, encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { encodeMessage } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import type { ProtocolSpec } from '../../../node/p2p/host.ts';
import { decodeAmount, encodeAmount } from '../../../node/protocols/amounts.ts';
import { HIVE, Peers } from '../../../node/protocols/hive/wire.ts';
import { PINGPONG, Ping, Pong } from '../../../node/protocols/pingpong/wire.ts';
import { AnnouncePaymentThreshold, PRICING } from '../../../node/protocols/pricing/wire.ts';
import { Payment, PaymentAck, PSEUDOSETTLE } from '../../../node/protocols/pseudosettle/wire.ts';
import {
  CURSORS,
  Ack as CursorsAck,
  Get,
  Offer,
  PULLSYNC,
  Syn,
  Want,
} from '../../../node/protocols/pullsync/wire.ts';
import { storerOf } from '../../../node/protocols/pushsync/rules.ts';
import { Delivery as Parcel, PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import { Snapshot, STATUS, Get as StatusGet } from '../../../node/protocols/status/wire.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../p2p/memory-nodes.ts';
import { type Attack, anyInt64, anyUint64, bytesAbout, encoded, messagesIn } from './attacks.ts';
import { chunkWhere, someStamp } from './exchange-nodes.ts';
import type { HostileStream } from './hostile-peer.ts';
import { type Intruder, overlayOf, SNAPSHOT, type Target } from './target-node.ts';

const MINIMUM_THRESHOLD = 9_000_000n;

const heldChunk = chunkWhere(() => true);

const heldBin = proximityOrder(overlayOf(1), heldChunk.address);

const stamp = encodeStamp(someStamp());

const now = 1_700_000_000n;

/** The outcome of an attack whose headers were accepted. */
interface Outcome<T extends MessageTable> {
  /** Whole ones, up to the first invalid one. */
  readonly messages: readonly MessageOf<T>[];
  readonly whole: boolean;
  readonly ending: Attack['ending'];
  readonly stream: HostileStream;
  /** Bodies that the node wrote after its headers. */
  readonly answers: readonly Uint8Array[];
  readonly target: Target;
  readonly intruder: Intruder;
  readonly connected: boolean;
  readonly debt: bigint;
}

export interface Row<T extends MessageTable> {
  readonly spec: ProtocolSpec;
  readonly table: T;
  readonly good: fc.Arbitrary<Uint8Array>;
  readonly hostile: fc.Arbitrary<Uint8Array>;
  /** One message on every stream, or any number. */
  readonly rounds: 'one' | 'many';
  /** Without an end, once its request is whole. */
  readonly waits?: boolean;
  readonly attacksMax?: number;
  judge(outcome: Outcome<T>): void;
  prepare?(target: Target, intruder: Intruder): Promise<void>;
}

function row<T extends MessageTable>(given: Row<T>): Row<MessageTable> {
  return given;
}

function record(n: number, change: Partial<{ timestamp: bigint; underlay: Uint8Array }> = {}) {
  const underlay = encodeUnderlays([
    `/ip4/10.9.0.${n}/tcp/1634/p2p/12D3KooWB8sCGZCrwr79HtabLAn95qyPQx6RYHXjEbiD6QKou7ww`,
  ]);
  const statement = { underlay, nonce: ZERO_NONCE, timestamp: now, chequebook: NO_CHEQUEBOOK, ...change };
  return mintRecord(statement, { signer: createSigner(testKey(n)), networkId: NETWORK_ID });
}

const goodRecords = [21, 22, 23].map((n) => record(n));

const goodOverlays = new Set(goodRecords.map(({ overlay }) => toHex(overlay)));

const anyRecord = fc.oneof(
  fc.constantFrom(...goodRecords),
  fc.constantFrom(
    record(31, { timestamp: 0n }),
    record(32, { timestamp: now * 2n }),
    record(33, { underlay: new Uint8Array(3000) }),
  ),
  fc.record(
    {
      underlay: fc.oneof(
        fc.constant(goodRecords[0]!.underlay),
        bytesAbout(50),
        fc.uint8Array({ maxLength: 40 }).map((b) => join(Uint8Array.of(0x99), b)),
      ),
      signature: fc.oneof(fc.constant(goodRecords[0]!.signature), bytesAbout(65)),
      overlay: fc.oneof(fc.constant(goodRecords[0]!.overlay), bytesAbout(32)),
      nonce: fc.oneof(fc.constant(ZERO_NONCE), bytesAbout(32)),
      timestamp: fc.oneof(fc.constant(now), anyInt64),
      chequebook: bytesAbout(20),
    },
    { requiredKeys: [] },
  ),
);

const anyPeers = encoded(
  Peers,
  fc.record({
    peers: fc.oneof(
      fc.array(anyRecord, { maxLength: 6 }),
      fc.constantFrom(129, 500, 65_000).map((length) => Array.from({ length }, () => ({}) as never)),
    ),
  }) as fc.Arbitrary<Partial<MessageOf<typeof Peers>>>,
);

export const rows = [
  row({
    spec: PRICING,
    table: AnnouncePaymentThreshold,
    rounds: 'one',
    good: fc.constant(
      encodeMessage(AnnouncePaymentThreshold, { paymentThreshold: encodeAmount(13_500_000n) }),
    ),
    hostile: encoded(
      AnnouncePaymentThreshold,
      fc.record({ paymentThreshold: fc.oneof(bytesAbout(4), bytesAbout(32)) }),
    ),
    judge({ messages: [first], connected, target, intruder, ending }) {
      const threshold = first && decodeAmount(first.paymentThreshold);
      // The node may not have looked at a message before its stream is reset.
      if (connected && ending === 'reset') return;
      expect(connected).toBe(threshold === undefined || threshold >= MINIMUM_THRESHOLD);
      if (threshold !== undefined && connected) {
        expect(target.accounting.balance(intruder.peer.overlayHex)?.thresholdReceived).toBe(threshold);
      }
    },
  }),
  row({
    spec: HIVE['15.0.0'],
    table: Peers,
    attacksMax: 15,
    rounds: 'one',
    good: fc.constant(encodeMessage(Peers, { peers: goodRecords })),
    hostile: anyPeers,
    judge({ messages: [first], connected, target, intruder, stream, whole, ending }) {
      expect(connected).toBe(true);
      const learned = target.addressBook.overlays().filter((id) => id !== intruder.peer.overlayHex);
      for (const overlay of learned) expect(goodOverlays).toContain(overlay);
      if (first !== undefined && first.peers.length > 128) expect(stream.state).not.toBe('ended');
      else if (whole && ending === 'end') expect(stream.state).toBe('ended');
    },
  }),
  row({
    spec: HIVE['14.0.0'],
    table: Peers,
    attacksMax: 15,
    rounds: 'one',
    good: fc.constant(encodeMessage(Peers, { peers: goodRecords })),
    hostile: anyPeers,
    judge({ messages: [first], connected, target, stream, whole, ending }) {
      expect(connected).toBe(true);
      // Hearsay: nothing but its form can be checked.
      for (const overlay of target.addressBook.overlays()) {
        const { underlay, signature, nonce } = target.addressBook.get(overlay)!;
        expect([overlay.length, signature.length, nonce.length]).toEqual([64, 65, 32]);
        expect(decodeUnderlays(underlay).length).toBeGreaterThan(0);
      }
      if (first !== undefined && first.peers.length > 128) expect(stream.state).not.toBe('ended');
      else if (whole && ending === 'end') expect(stream.state).toBe('ended');
    },
  }),
  row({
    spec: PINGPONG,
    table: Ping,
    rounds: 'many',
    good: encoded(Ping, fc.record({ greeting: fc.string({ maxLength: 20 }) })),
    hostile: encoded(
      Ping,
      fc.record({ greeting: fc.oneof(fc.string({ unit: 'binary' }), fc.constant('x'.repeat(100_000))) }),
    ),
    judge({ messages, answers, connected }) {
      expect(connected).toBe(true);
      expect(answers.length).toBeLessThanOrEqual(messages.length);
      for (const [i, answer] of answers.entries()) {
        expect(toHex(answer)).toBe(toHex(encodeMessage(Pong, { response: `{${messages[i]?.greeting}}` })));
      }
    },
  }),
  row({
    spec: STATUS,
    table: StatusGet,
    rounds: 'one',
    good: fc.constant(new Uint8Array(0)),
    hostile: encoded(Snapshot, fc.constant(SNAPSHOT)),
    judge({ messages: [first], answers, connected, ending }) {
      expect(connected).toBe(true);
      const expected = first === undefined ? [] : [toHex(encodeMessage(Snapshot, SNAPSHOT))];
      if (ending !== 'reset') expect(answers.map((answer) => toHex(answer))).toEqual(expected);
    },
  }),
  row({
    spec: PSEUDOSETTLE,
    table: Payment,
    rounds: 'one',
    good: fc.constant(encodeMessage(Payment, { amount: encodeAmount(200_000n) })),
    hostile: encoded(Payment, fc.record({ amount: fc.oneof(bytesAbout(3), bytesAbout(32)) })),
    async prepare({ accounting }, { peer }) {
      accounting.prepareDebit(peer, 300_000n).apply();
    },
    judge({ messages: [first], answers, connected, debt, target, intruder }) {
      expect(connected).toBe(true);
      const amount = first && decodeAmount(first.amount);
      const left = target.accounting.balance(intruder.peer.overlayHex)?.consumedBalance ?? 0n;
      if (answers.length === 0) expect([debt, amount]).toContain(amount === undefined ? debt : left);
      const [answer] = answers;
      if (answer === undefined) return;
      const [ack] = messagesIn(framed(answer), PaymentAck).messages;
      const accepted = (amount ?? 0n) < debt ? (amount ?? 0n) : debt;
      expect(decodeAmount(ack?.amount ?? new Uint8Array(33))).toBe(accepted);
      expect(left).toBe(debt - accepted);
    },
  }),
  row({
    spec: RETRIEVAL,
    table: Request,
    rounds: 'one',
    good: fc.constant(encodeMessage(Request, { addr: heldChunk.address })),
    hostile: encoded(Request, fc.record({ addr: bytesAbout(32) })),
    async prepare({ store }) {
      await store.reserve.put(heldChunk, someStamp());
    },
    judge({ messages: [first], answers, connected, debt, target, intruder, ending }) {
      expect(connected).toBe(true);
      const held = first !== undefined && toHex(first.addr) === toHex(heldChunk.address);
      const left = target.accounting.balance(intruder.peer.overlayHex)?.consumedBalance ?? 0n;
      const price = target.accounting.price(target.host.overlay, heldChunk.address);
      expect(left).toBe(held && answers.length > 0 ? debt + price : debt);
      if (ending !== 'reset') expect(answers).toHaveLength(first === undefined ? 0 : 1);
      for (const answer of answers) {
        const [delivery] = messagesIn(framed(answer), Delivery).messages;
        if (held) expect(toHex(delivery?.data ?? new Uint8Array(0))).toBe(toHex(heldChunk.data));
        else
          expect(delivery?.err).toMatch(/^(invalid address queried by peer|retrieve chunk: no peer found)/);
      }
    },
  }),
  row({
    spec: PUSHSYNC,
    table: Parcel,
    rounds: 'one',
    good: fc.constant(encodeMessage(Parcel, { address: heldChunk.address, data: heldChunk.data, stamp })),
    hostile: encoded(
      Parcel,
      fc.record({
        address: fc.oneof(fc.constant(heldChunk.address), bytesAbout(32)),
        data: fc.oneof(
          fc.constant(heldChunk.data),
          bytesAbout(heldChunk.data.length),
          fc.constantFrom(4104, 4105, 100_000).map((size) => new Uint8Array(size)),
        ),
        stamp: fc.oneof(fc.constant(stamp), bytesAbout(113)),
      }),
    ),
    judge({ messages: [first], answers, connected, debt, target, intruder, ending }) {
      expect(connected).toBe(true);
      const left = target.accounting.balance(intruder.peer.overlayHex)?.consumedBalance ?? 0n;
      const valid = first !== undefined && first.stamp.length === 113 && isChunk(first);
      if (ending !== 'reset') expect(answers).toHaveLength(first === undefined ? 0 : 1);
      let stored = false;
      for (const answer of answers) {
        const [receipt] = messagesIn(framed(answer), Receipt).messages;
        stored = receipt?.err === '';
        if (stored) expect(toHex(storerOf(receipt!, NETWORK_ID))).toBe(toHex(target.host.overlay));
        // An earlier stamp of this chunk has used the index.
        else if (valid)
          expect(receipt?.err).toMatch(/^reserve put: reserve putter\.Put: overwrite same chunk/);
        else expect(receipt?.err).toMatch(/^(pushsync stamp unmarshall: invalid stamp|invalid chunk)$/);
        expect(stored && !valid).toBe(false);
      }
      const price = stored ? target.accounting.price(target.host.overlay, first!.address) : 0n;
      expect(left).toBe(debt + price);
    },
  }),
  row({
    spec: CURSORS,
    table: Syn,
    rounds: 'one',
    good: fc.constant(new Uint8Array(0)),
    hostile: encoded(CursorsAck, fc.record({ cursors: fc.array(anyUint64), epoch: anyUint64 })),
    judge({ messages: [first], answers, connected, target, ending }) {
      expect(connected).toBe(true);
      const { reserve } = target.store;
      const ack = { cursors: reserve.lastBinIds(), epoch: reserve.epoch() };
      const expected = first === undefined ? [] : [toHex(encodeMessage(CursorsAck, ack))];
      if (ending !== 'reset') expect(answers.map((answer) => toHex(answer))).toEqual(expected);
    },
  }),
  row({
    spec: PULLSYNC,
    table: Get,
    rounds: 'one',
    // The chunk's bin: what follows is a Want, or is invalid.
    good: fc.constant(encodeMessage(Get, { bin: heldBin, start: 1n })),
    hostile: fc.oneof(
      encoded(
        Get,
        fc.record({
          bin: fc.oneof(fc.integer({ min: -3, max: 35 }), fc.constantFrom(2 ** 31 - 1, -(2 ** 31))),
          start: fc.oneof(fc.constant(1n), anyUint64),
        }),
      ),
      encoded(Want, fc.record({ bitVector: fc.uint8Array({ maxLength: 40 }) })),
    ),
    async prepare({ store }) {
      await store.reserve.put(heldChunk, someStamp());
    },
    judge({ messages: [first], answers, connected, stream, ending }) {
      expect(connected).toBe(true);
      if (first === undefined || first.bin !== heldBin || first.start > 1n) {
        // The peer waits as long as it likes, but must say nothing meanwhile.
        expect(answers).toEqual([]);
        if (ending === 'end') expect(stream.state).toBe('reset');
      }
      const [offer] = answers.flatMap((answer) => messagesIn(framed(answer), Offer).messages);
      if (offer !== undefined)
        expect(offer.chunks.map(({ address }) => toHex(address))).toEqual([toHex(heldChunk.address)]);
      expect(answers.length).toBeLessThanOrEqual(2);
    },
    waits: true,
  }),
];

function isChunk({ address, data }: MessageOf<typeof Parcel>): boolean {
  try {
    chunkFrom(address, data);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: expect.any(String) });
    return false;
  }
}
