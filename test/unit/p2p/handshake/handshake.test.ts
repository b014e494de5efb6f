import { expect, test } from 'vitest';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import {
  type AckContext,
  ackMessage,
  checkAck,
  checkObserved,
  parseObserved,
  partsOf,
} from '../../../../node/p2p/handshake/rules.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };
import { NETWORK_ID, testKey, ZERO_NONCE } from '../memory-nodes.ts';

const NOW = 1_750_000_000n;
const [own] = vectors.underlays[0]?.underlays ?? [];
const OWN_ID = own?.split('/p2p/')[1] ?? '';
const ownUnderlay = encodeUnderlays([own ?? '']);

function record(timestamp = NOW, underlay = ownUnderlay) {
  const statement = { underlay, nonce: ZERO_NONCE, timestamp, chequebook: NO_CHEQUEBOOK };
  return mintRecord(statement, { signer: createSigner(testKey(1)), networkId: NETWORK_ID });
}

const ack = ackMessage({ record: record(), networkId: NETWORK_ID, fullNode: true, welcomeMessage: 'hi' });
const context: AckContext = {
  generation: '15.0.0',
  networkId: NETWORK_ID,
  remoteId: OWN_ID,
  nowSeconds: NOW,
  stored: () => undefined,
  picks: () => true,
};

test('a valid introduction identifies the peer', () => {
  const introduction = checkAck(ack, context);
  expect(introduction).toMatchObject({ fullNode: true, welcomeMessage: 'hi', underlays: [own] });
  expect(introduction.ethereum).toEqual(createSigner(testKey(1)).address);
});

const broken = { ...ack, address: { ...record(), signature: new Uint8Array(65) } };

/** It is also wrong in the ways of all later rows: the first one counts. */
test.each([
  ['no address', { ...broken, address: undefined, networkId: 1n }, 'ACK_INVALID'],
  ['another network, before the picker', { ...broken, networkId: 1n }, 'NETWORK_ID_INCOMPATIBLE'],
  ['a full bin, before the record', broken, 'PICKER_REJECTION'],
] as const)('refused: %s', (_name, message, code) => {
  expect(() => checkAck(message, { ...context, picks: () => false })).toThrow(
    expect.objectContaining({ code }),
  );
});

test('refused: a bad signature, before the time', () => {
  const stale = { ...context, stored: () => record(NOW + 100n) };
  expect(() => checkAck(broken, stale)).toThrow(expect.objectContaining({ code: 'RECORD_INVALID' }));
});

test.each([
  ['a record older than the stored one', record(NOW - 1n), record(), 'TIMESTAMP_NOT_NEWER'],
  ['a record of the future', record(NOW + 61n), undefined, 'TIMESTAMP_IN_FUTURE'],
] as const)('refused: %s', (_name, address, stored, code) => {
  expect(() => checkAck({ ...ack, address }, { ...context, stored: () => stored })).toThrow(
    expect.objectContaining({ code }),
  );
});

const OTHER = '/ip4/10.0.0.9/tcp/1634/p2p/12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq';
const NAMELESS = '/ip4/10.0.0.9/tcp/1634';

test.each([
  ['of another identity', [OTHER]],
  ['of this identity and another', [own ?? '', OTHER]],
])('refused: a record with addresses %s', (_name, underlays) => {
  const message = { ...ack, address: record(NOW, encodeUnderlays(underlays)) };
  expect(() => checkAck(message, context)).toThrow(expect.objectContaining({ code: 'PEER_ID_MISMATCH' }));
});

/** One address is known, the other's protocol has the code 0x3fb3. */
const withUnknown = (known: Uint8Array) =>
  Uint8Array.of(0x99, known.length, ...known, 4, 0xb3, 0x7f, 0x0a, 0x0b);

test('a record with an address of an unknown kind is kept as it was signed, and its other addresses are used', () => {
  const underlay = withUnknown(ownUnderlay);
  const introduction = checkAck({ ...ack, address: record(NOW, underlay) }, context);
  expect(introduction.underlays).toEqual([own]);
  expect(introduction.record).toEqual(record(NOW, underlay));
  expect(() => checkObserved(underlay, OWN_ID)).not.toThrow();
});

test('an address of an unknown kind proves nothing: the record of another node is refused with it, too', () => {
  const address = record(NOW, withUnknown(encodeUnderlays([OTHER])));
  expect(() => checkAck({ ...ack, address }, context)).toThrow(
    expect.objectContaining({ code: 'PEER_ID_MISMATCH' }),
  );
});

test('an address that names no identity belongs to whoever presents it', () => {
  for (const underlays of [[NAMELESS], [own ?? '', NAMELESS]]) {
    const message = { ...ack, address: record(NOW, encodeUnderlays(underlays)) };
    expect(checkAck(message, context).underlays).toEqual(underlays);
  }
});

test('an unchanged record is accepted', () => {
  expect(() => checkAck(ack, { ...context, stored: () => record() })).not.toThrow();
});

test('a proved record is not proved again, but one that differs from it is', () => {
  const { record: proved } = checkAck(ack, context);
  const again = checkAck(ack, { ...context, stored: () => proved });
  expect(again.record).toBe(proved);
  expect(again.ethereum).toEqual(createSigner(testKey(1)).address);
  const forged = { ...ack, address: { ...record(), chequebook: new Uint8Array(20).fill(1) } };
  expect(() => checkAck(forged, { ...context, stored: () => proved })).toThrow(
    expect.objectContaining({ code: 'RECORD_INVALID' }),
  );
});

test('generation 14.0.0 has the nonce beside the record, and no time', () => {
  const old = record(0n);
  const message = ackMessage({ record: old, networkId: NETWORK_ID, fullNode: true, welcomeMessage: 'hi' });
  expect(message.nonce).toEqual(ZERO_NONCE);
  expect(message.address).toMatchObject({
    nonce: new Uint8Array(0),
    timestamp: 0n,
    chequebook: new Uint8Array(0),
  });
  const stored = () => record(NOW + 1_000n);
  const { record: seen } = checkAck(message, { ...context, stored, generation: '14.0.0' });
  expect(seen).toEqual(old);
});

test.each([
  ['15.0.0', record(0n), 'RECORD_INVALID'],
  ['14.0.0', record(), 'RECORD_INVALID'],
] as const)('generation %s refuses a record laid out for the other', (generation, own, code) => {
  const message = ackMessage({ record: own, networkId: NETWORK_ID, fullNode: true, welcomeMessage: '' });
  expect(() => checkAck(message, { ...context, generation })).toThrow(expect.objectContaining({ code }));
});

test('a full bin refuses full nodes only, and the dialling side has no say', () => {
  expect(() => checkAck({ ...ack, fullNode: false }, { ...context, picks: () => false })).not.toThrow();
  const { picks: _none, ...dialling } = context;
  expect(() => checkAck(ack, dialling)).not.toThrow();
});

test('the other side must see us under our own identity', () => {
  expect(() => checkObserved(ownUnderlay, OWN_ID)).not.toThrow();
  expect(() => checkObserved(ownUnderlay, `${OWN_ID}x`)).toThrow(
    expect.objectContaining({ code: 'PEER_ID_MISMATCH' }),
  );
  const anonymous = encodeUnderlays(['/ip4/127.0.0.1/tcp/1634']);
  expect(() => checkObserved(anonymous, OWN_ID)).toThrow(
    expect.objectContaining({ code: 'PEER_ID_MISMATCH' }),
  );
});

test('an observed list that is not an underlay makes an invalid syn', () => {
  expect(() => parseObserved(new Uint8Array(0))).toThrow(expect.objectContaining({ code: 'SYN_INVALID' }));
});

test('a SynAck needs both parts', () => {
  const syn = { observedUnderlay: ownUnderlay };
  expect(() => partsOf({ syn: undefined, ack })).toThrow(expect.objectContaining({ code: 'SYN_INVALID' }));
  expect(() => partsOf({ syn, ack: undefined })).toThrow(expect.objectContaining({ code: 'ACK_INVALID' }));
  expect(() => partsOf({ syn, ack: { ...ack, address: undefined } })).toThrow(
    expect.objectContaining({ code: 'ACK_INVALID' }),
  );
  expect(partsOf({ syn, ack })).toEqual({ syn, ack });
});
