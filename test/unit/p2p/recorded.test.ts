import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { encodeFrame } from '../../../node/p2p/codec/codec.ts';
import {
  type AckContext,
  ackMessage,
  checkAck,
  checkObserved,
  parseObserved,
  partsOf,
} from '../../../node/p2p/handshake/rules.ts';
import { Ack, Syn, SynAck } from '../../../node/p2p/handshake/wire.ts';
import { askIdentify } from '../../../node/p2p/libp2p/identify.ts';
import { FramedStream } from '../../../node/p2p/stream/framed-stream.ts';
import { Inbox } from '../../../node/p2p/stream/inbox.ts';
import vectors from '../../vectors/p2p.json' with { type: 'json' };

const { recorded, recordedOlder: older } = vectors;
const never = new AbortController().signal;

/** A few bytes at a time, then the end. */
function arriving(hex: string): FramedStream {
  const inbox = new Inbox(() => undefined);
  const bytes = fromHex(hex);
  for (let at = 0; at < bytes.length; at += 7) inbox.push(bytes.subarray(at, at + 7));
  inbox.end();
  const raw = {
    write: () => undefined,
    drained: () => Promise.resolve(),
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => undefined,
    reset: () => undefined,
  };
  return new FramedStream(raw, { clock: systemClock() });
}

test('the identify message of a node with a P-256 key and a signed record names its listen addresses', async () => {
  expect(await askIdentify(arriving(recorded.identify), never)).toEqual(recorded.listenAddresses);
});

test('the introduction of a node with a P-256 identity is accepted', async () => {
  const { syn, ack } = partsOf(await arriving(recorded.synAck).read(SynAck));
  checkObserved(syn.observedUnderlay, recorded.localId);
  const introduction = checkAck(ack, {
    generation: '15.0.0',
    networkId: BigInt(recorded.networkId),
    remoteId: recorded.remoteId,
    nowSeconds: BigInt(recorded.nowSeconds),
    stored: () => undefined,
  });
  expect(toHex(introduction.record.overlay)).toBe(recorded.overlay);
  expect(toHex(introduction.ethereum)).toBe(recorded.ethereum);
  expect(introduction.fullNode).toBe(true);
  expect(introduction.underlays).toEqual(
    recorded.listenAddresses.map((address) => `${address}/p2p/${recorded.remoteId}`),
  );
});

test('the same introduction on another network is refused', async () => {
  const { ack } = partsOf(await arriving(recorded.synAck).read(SynAck));
  const { remoteId } = recorded;
  const nowSeconds = BigInt(recorded.nowSeconds);
  const context = { networkId: 1n, remoteId, nowSeconds, stored: () => undefined };
  expect(() => checkAck(ack, { ...context, generation: '15.0.0' })).toThrow('incompatible network ID 4020');
});

/** It has never heard of the other one. */
const olderContext: AckContext = {
  generation: '14.0.0',
  networkId: BigInt(older.networkId),
  remoteId: older.remoteId,
  nowSeconds: 0n,
  stored: () => undefined,
};
const olderUnderlays = older.listenAddresses.map((address) => `${address}/p2p/${older.remoteId}`);

test('the introduction of a dialled node of handshake 14.0.0 is accepted', async () => {
  const { syn, ack } = partsOf(await arriving(older.synAck).read(SynAck));
  checkObserved(syn.observedUnderlay, older.localId);
  const { record, ethereum, fullNode, underlays } = checkAck(ack, olderContext);
  expect(toHex(record.overlay)).toBe(older.overlay);
  expect(toHex(ethereum)).toBe(older.ethereum);
  expect(record).toMatchObject({ timestamp: 0n, nonce: new Uint8Array(32) });
  expect({ fullNode, underlays }).toEqual({ fullNode: true, underlays: olderUnderlays });
});

test('the introduction of a dialling node of handshake 14.0.0 is accepted, and is the same', async () => {
  const { observedUnderlay } = await arriving(older.syn).read(Syn);
  expect(parseObserved(observedUnderlay)).toEqual([`${older.ownAddress}/p2p/${older.localId}`]);
  const ack = await arriving(older.ack).read(Ack);
  expect(ack).toEqual(partsOf(await arriving(older.synAck).read(SynAck)).ack);
  expect(checkAck(ack, olderContext).underlays).toEqual(olderUnderlays);
});

test('read as handshake 15.0.0, the introduction of handshake 14.0.0 is invalid', async () => {
  const ack = await arriving(older.ack).read(Ack);
  expect(() => checkAck(ack, { ...olderContext, generation: '15.0.0' })).toThrow('invalid ack');
});

test('what we send in handshake 14.0.0 has the layout of what we get', async () => {
  const ack = await arriving(older.ack).read(Ack);
  const { record, fullNode, welcomeMessage } = checkAck(ack, olderContext);
  const again = ackMessage({ record, networkId: olderContext.networkId, fullNode, welcomeMessage });
  expect(toHex(encodeFrame(Ack, again))).toBe(older.ack);
});
