import { fc } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../formats/clock.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../../formats/crypto/overlay.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { OwnRecord } from '../../../../node/p2p/address/own-record.ts';
import {
  checkTimestamp,
  mintRecord,
  NO_CHEQUEBOOK,
  parseRecord,
  RecordError,
  signData,
} from '../../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };
import { fillableRecords, memoryRecords, testKey, ZERO_NONCE } from '../memory-nodes.ts';

const signer = createSigner(fromHex(vectors.key));
const networkId = BigInt(vectors.networkId);
const underlay = fromHex(vectors.underlays[0]?.bytes ?? '');
const nonce = fromHex(vectors.nonce);
const minted = () =>
  mintRecord(
    { underlay, nonce, timestamp: 1_750_000_000n, chequebook: new Uint8Array(20) },
    { signer, networkId },
  );

test.each(vectors.overlays)('overlay $overlay', ({ ethereum, networkId, nonce, overlay }) => {
  expect(toHex(overlayAddress(fromHex(ethereum), BigInt(networkId), fromHex(nonce)))).toBe(overlay);
});

test.each(vectors.signatures)('personal signature over 32 bytes', ({ data, signature }) => {
  expect(toHex(signer.sign(fromHex(data)))).toBe(signature);
});

test.each(vectors.records)('worked record with chequebook $chequebook', (row) => {
  const chequebook = fromHex(row.chequebook);
  const record = mintRecord(
    { underlay, nonce, timestamp: BigInt(row.timestamp), chequebook },
    { signer, networkId },
  );
  expect(signData(record, networkId)).toHaveLength(row.signDataSize);
  expect(toHex(record.signature)).toBe(row.signature);
  const valid = parseRecord(record, networkId);
  expect(toHex(valid.ethereum)).toBe(vectors.ethereum);
  expect(valid.underlays).toEqual(vectors.underlays[0]?.underlays);
});

test.each(vectors.recordsWithoutTime)('worked record of handshake 14.0.0', (row) => {
  const chequebook = new Uint8Array(20);
  const record = mintRecord({ underlay, nonce, timestamp: 0n, chequebook }, { signer, networkId });
  expect(signData(record, networkId)).toHaveLength(row.signDataSize);
  expect(toHex(record.signature)).toBe(row.signature);
  const valid = parseRecord(record, networkId, { generation: '14.0.0' });
  expect(valid.record).toEqual(record);
  expect(toHex(valid.ethereum)).toBe(vectors.ethereum);
  expect(valid.underlays).toEqual(vectors.underlays[0]?.underlays);
});

test('a record of one generation is invalid in the other', () => {
  const old = mintRecord(
    { underlay, nonce, timestamp: 0n, chequebook: new Uint8Array(20) },
    { signer, networkId },
  );
  expect(() => parseRecord(old, networkId)).toThrow(
    expect.objectContaining({ code: 'TIMESTAMP_NOT_POSITIVE' }),
  );
  expect(() => parseRecord({ ...old, timestamp: 1n }, networkId)).toThrow(
    expect.objectContaining({ code: 'RECORD_INVALID' }),
  );
  expect(() => parseRecord(minted(), networkId, { generation: '14.0.0' })).toThrow(
    expect.objectContaining({ code: 'RECORD_INVALID' }),
  );
});

test('the time and chequebook of a handshake 14.0.0 record do not count, its nonce does', () => {
  const statement = { underlay, nonce, timestamp: 0n, chequebook: new Uint8Array(20) };
  const old = mintRecord(statement, { signer, networkId });
  const odd = { ...old, timestamp: -5n, chequebook: new Uint8Array(3) };
  expect(parseRecord(odd, networkId, { generation: '14.0.0' }).record).toEqual(old);
  const other = { ...old, nonce: changed(nonce) };
  expect(() => parseRecord(other, networkId, { generation: '14.0.0' })).toThrow(
    expect.objectContaining({ code: 'RECORD_INVALID' }),
  );
});

test('a record without a chequebook field is checked with a zero one', () => {
  const { record } = parseRecord({ ...minted(), chequebook: new Uint8Array(0) }, networkId);
  expect(record.chequebook).toEqual(new Uint8Array(20));
});

const changed = (bytes: Uint8Array) => bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte));

test.each([
  ['a nonce of 31 bytes', { nonce: nonce.subarray(1) }, 'RECORD_INVALID'],
  ['a chequebook of 19 bytes', { chequebook: new Uint8Array(19) }, 'RECORD_INVALID'],
  ['timestamp 0', { timestamp: 0n }, 'TIMESTAMP_NOT_POSITIVE'],
  ['a negative timestamp', { timestamp: -1n }, 'TIMESTAMP_NOT_POSITIVE'],
  ['a signature of 64 bytes', { signature: new Uint8Array(64) }, 'RECORD_INVALID'],
  ['another overlay', { overlay: changed(minted().overlay) }, 'RECORD_INVALID'],
  ['another underlay', { underlay: changed(underlay) }, 'RECORD_INVALID'],
  ['another timestamp', { timestamp: 1_750_000_001n }, 'RECORD_INVALID'],
  ['another nonce', { nonce: changed(nonce) }, 'RECORD_INVALID'],
] as const)('a record with %s is refused', (_name, change, code) => {
  expect(() => parseRecord({ ...minted(), ...change }, networkId)).toThrow(expect.objectContaining({ code }));
});

test('a record of another network is refused', () => {
  expect(() => parseRecord(minted(), networkId + 1n)).toThrow(
    expect.objectContaining({ code: 'RECORD_INVALID' }),
  );
});

test('a signed record without any underlay is refused', () => {
  const record = mintRecord(
    { underlay: encodeUnderlays([]), nonce, timestamp: 1n, chequebook: new Uint8Array(20) },
    { signer, networkId },
  );
  expect(() => parseRecord(record, networkId)).toThrow(expect.objectContaining({ code: 'RECORD_INVALID' }));
});

const now = 1_000_000n;
test.each([
  ['handshake', now + 60n, undefined, undefined],
  ['handshake', now + 61n, undefined, 'TIMESTAMP_IN_FUTURE'],
  ['gossip', now + 61n, 0n, 'TIMESTAMP_IN_FUTURE'],
  ['handshake', 500n, 0n, undefined],
  ['handshake', 500n, 500n, undefined],
  ['handshake', 499n, 500n, 'TIMESTAMP_NOT_NEWER'],
  ['gossip', 500n, 0n, undefined],
  ['gossip', 500n, 500n, 'TIMESTAMP_NOT_NEWER'],
  ['gossip', 800n, 500n, 'TIMESTAMP_TOO_SOON'],
  ['gossip', 801n, 500n, undefined],
] as const)('%s record of %s against stored %s: %s', (source, timestamp, stored, code) => {
  const check = () => checkTimestamp(timestamp, { stored, nowSeconds: now, source });
  if (code === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code }));
});

test('the own record is minted once per set of underlays and survives a restart', async () => {
  const state = memoryRecords();
  const identity = { signer, networkId, nonce: ZERO_NONCE };
  const deps = { state, clock: systemClock(), log: silentLogger() };
  const [one, two] = vectors.underlays.map(({ underlays }) => underlays);
  const own = new OwnRecord(identity, deps);
  const first = await own.current(one ?? []);
  expect(await own.current(one ?? [])).toBe(first);
  expect(await new OwnRecord(identity, deps).current(one ?? [])).toEqual(first);
  const old = await own.current(one ?? [], '14.0.0');
  expect(await own.current(one ?? [], '14.0.0')).toBe(old);
  expect(await new OwnRecord(identity, deps).current(one ?? [], '14.0.0')).toEqual(old);
  parseRecord(old, networkId, { generation: '14.0.0' });
  const second = await own.current(two ?? []);
  expect(second.timestamp).toBeGreaterThan(first.timestamp);
  parseRecord(second, networkId);
  const other = { ...identity, signer: createSigner(testKey(3)) };
  const foreign = await new OwnRecord(other, deps).current(two ?? []);
  expect(foreign.overlay).not.toEqual(second.overlay);
  parseRecord(foreign, networkId);
});

test('the own record is shown while the disk takes no writes, and written once it does', async () => {
  const disk = { full: true };
  const state = fillableRecords(disk);
  const identity = { signer, networkId, nonce: ZERO_NONCE };
  const deps = { state, clock: systemClock(), log: silentLogger() };
  const underlays = vectors.underlays[0]?.underlays ?? [];
  const own = new OwnRecord(identity, deps);
  const shown = await own.current(underlays);
  parseRecord(shown, networkId);
  expect(await own.current(underlays)).toBe(shown);
  expect(state.get('own-record')).toBeUndefined();
  disk.full = false;
  expect(await own.current(underlays)).toBe(shown);
  expect(await new OwnRecord(identity, deps).current(underlays)).toEqual(shown);
});

test('a given record of this node is its own as long as it fits, even after a restart', async () => {
  const state = memoryRecords();
  const identity = { signer, networkId, nonce: ZERO_NONCE };
  const deps = { state, clock: systemClock(), log: silentLogger() };
  const [one = [], two = []] = vectors.underlays.map(({ underlays }) => underlays);
  const others = new OwnRecord(identity, { ...deps, state: memoryRecords() });
  const given = await others.current(one);
  expect(await new OwnRecord(identity, { ...deps, given }).current(one)).toBe(given);
  expect(await new OwnRecord(identity, deps).current(one)).toEqual(given);
  const moved = await new OwnRecord(identity, { ...deps, given }).current(two);
  expect(moved.timestamp).toBeGreaterThan(given.timestamp);
  expect(await new OwnRecord(identity, { ...deps, given }).current(two)).toEqual(moved);
});

test('a record signed while the clock was ahead is not shown until its time has come', async () => {
  const HOUR_MS = 3_600_000;
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { ...systemClock(), now: () => nowMs };
  const identity = { signer, networkId, nonce: ZERO_NONCE };
  const deps = { state: memoryRecords(), clock, log: silentLogger() };
  const [underlays = []] = vectors.underlays.map((one) => one.underlays);
  const seconds = () => BigInt(nowMs / 1000);
  const ahead = await new OwnRecord(identity, deps).current(underlays);
  nowMs -= HOUR_MS;
  const right = new OwnRecord(identity, deps);
  const shown = await right.current(underlays);
  expect(shown.timestamp).toBe(seconds());
  parseRecord(shown, networkId);
  expect(await right.current(underlays)).toBe(shown);
  // A clock that is behind must not replace the record that peers know.
  nowMs += HOUR_MS - 60_000;
  expect(await right.current(underlays)).toEqual(ahead);
  expect(await new OwnRecord(identity, deps).current(underlays)).toEqual(ahead);
});

test('the own record names the chequebook, and is minted again when that changes', async () => {
  const identity = { signer, networkId, nonce: ZERO_NONCE };
  const deps = { state: memoryRecords(), clock: systemClock(), log: silentLogger() };
  const underlays = vectors.underlays[0]?.underlays ?? [];
  const none = await new OwnRecord(identity, deps).current(underlays);
  expect(none.chequebook).toEqual(NO_CHEQUEBOOK);
  const book = new Uint8Array(20).fill(7);
  const own = new OwnRecord(identity, { ...deps, chequebook: () => book });
  const record = await own.current(underlays);
  expect(record.chequebook).toEqual(book);
  expect(record.timestamp).toBeGreaterThan(none.timestamp);
  expect(parseRecord(record, networkId).record.chequebook).toEqual(book);
  expect(await own.current(underlays)).toBe(record);
  expect((await own.current(underlays, '14.0.0')).chequebook).toEqual(NO_CHEQUEBOOK);
});

const field = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.constantFrom(underlay, nonce, minted().signature, minted().overlay, new Uint8Array(0)),
);

test('whatever the fields hold, a record is valid or refused with a reason', () => {
  const fields = fc.record({
    underlay: field,
    signature: field,
    overlay: field,
    nonce: field,
    timestamp: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    chequebook: field,
  });
  fc.assert(
    fc.property(fields, fc.constantFrom('15.0.0', '14.0.0'), (wire, generation) => {
      try {
        parseRecord(wire, networkId, { generation });
      } catch (error) {
        expect(error).toBeInstanceOf(RecordError);
      }
    }),
  );
});

test('a single changed bit of a signed field makes a record invalid', () => {
  const timeless = { underlay, nonce, timestamp: 0n, chequebook: new Uint8Array(20) };
  const records = {
    '15.0.0': minted(),
    '14.0.0': mintRecord(timeless, { signer, networkId }),
  } as const;
  const place = fc.record({
    generation: fc.constantFrom('15.0.0', '14.0.0'),
    name: fc.constantFrom('underlay', 'overlay', 'nonce'),
    at: fc.nat(1_000),
    bit: fc.nat(7),
  });
  fc.assert(
    fc.property(place, ({ generation, name, at, bit }) => {
      const record = records[generation];
      const bytes = record[name];
      const flipped = bytes.map((byte, i) => (i === at % bytes.length ? byte ^ (1 << bit) : byte));
      expect(() => parseRecord({ ...record, [name]: flipped }, networkId, { generation })).toThrow(
        RecordError,
      );
    }),
  );
});
