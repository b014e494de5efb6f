import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { encodeStamp, type Stamp } from '../../../formats/chunk/stamp.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { createLogger } from '../../../node/env/logger.ts';
import { BatchIssuer, type IssuerDeps, type IssuerRecord } from '../../../node/postage/issuer.ts';
import { validateStamp } from '../../../node/postage/validation.ts';
import postage from '../../vectors/postage.json' with { type: 'json' };
import { CrashError, MemoryState } from '../onchain/memory-state.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';
import { id32 } from './fake-chain.ts';

const signer = createSigner(fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'));

function issuer(
  terms: Partial<IssuerRecord> = {},
  state = new MemoryState(),
  workers?: IssuerDeps['workers'],
) {
  const record = {
    batchId: id32(0xba),
    label: '',
    amount: 1n,
    depth: 18,
    bucketDepth: 16,
    blockNumber: 1,
    immutable: true,
    ...terms,
  };
  const clock = new VirtualClock();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLogger({ verbosity: 'info' }, { destination });
  return {
    state,
    clock,
    lines,
    issuer: new BatchIssuer(record, { state, signer, workers, clock, log }),
  };
}

function chunk(distinction: number, bucket = 0x2387): Chunk {
  const address = new Uint8Array(32);
  new DataView(address.buffer).setUint16(0, bucket);
  new DataView(address.buffer).setUint32(28, distinction);
  return { address, data: new Uint8Array(8), kind: 'cac', identity: address };
}

const place = (stamp: Stamp): string => toHex(stamp.index);
const settled = () => new Promise(setImmediate);

describe('signed by workers', () => {
  const workers = (offer: () => boolean) => ({
    offer,
    async sign(digest: Uint8Array) {
      await settled();
      return signer.sign(digest);
    },
  });

  test('stamps are those of the own thread, in the order of the calls', async () => {
    let asked = 0;
    const beside = issuer(
      { depth: 20 },
      new MemoryState(),
      workers(() => asked++ % 3 > 0),
    ).issuer;
    const here = issuer({ depth: 20 }).issuer;
    const chunks = Array.from({ length: 9 }, (_, n) => chunk(n));
    const stamps = await Promise.all(chunks.map((one) => beside.stampAsync(one)));
    expect(asked).toBe(9);
    expect(stamps.map(encodeStamp)).toEqual(chunks.map((one) => encodeStamp(here.stamp(one))));
  });

  test('a full bucket refuses at once', async () => {
    const own = issuer(
      { depth: 17 },
      new MemoryState(),
      workers(() => true),
    ).issuer;
    const both = [own.stampAsync(chunk(1)), own.stampAsync(chunk(2))];
    await expect(own.stampAsync(chunk(3))).rejects.toMatchObject({ code: 'BATCH_OVERISSUED' });
    expect((await Promise.all(both)).map(place)).toEqual(['0000238700000000', '0000238700000001']);
  });
});

describe('slots', () => {
  test('are issued in order, per bucket', () => {
    const { issuer: own } = issuer();
    expect([1, 2, 3].map((n) => place(own.stamp(chunk(n))))).toEqual([
      '0000238700000000',
      '0000238700000001',
      '0000238700000002',
    ]);
    expect(place(own.stamp(chunk(1, 0xffff)))).toBe('0000ffff00000000');
    expect(own.utilization).toBe(3);
    expect([own.buckets()[0x2387], own.buckets()[0xffff], own.buckets().length]).toEqual([3, 1, 65_536]);
  });

  test('of a full bucket of an immutable batch are refused, other buckets go on', () => {
    const { issuer: own } = issuer({ depth: 17 });
    own.stamp(chunk(1));
    own.stamp(chunk(2));
    expect(() => own.stamp(chunk(3))).toThrow(expect.objectContaining({ code: 'BATCH_OVERISSUED' }));
    expect(place(own.stamp(chunk(3, 1)))).toBe('0000000100000000');
    expect(own.utilization).toBe(2);
  });

  test('of a mutable batch restart, and the utilization stays at its maximum', () => {
    const vector = postage.cases.find(({ name }) => name.startsWith('mutable batch, depth 17'));
    const { issuer: own } = issuer({ depth: 17, immutable: false });
    const positions = [1, 2, 3, 4, 5].map((n) => own.stamp(chunk(n)).index[7]);
    expect(positions).toEqual(vector?.expected.indexInBucket);
    expect([own.utilization, own.buckets()[0x2387]]).toEqual([2, 1]);
  });

  test('of a mutable batch that are given again displace older chunks: counted, told, and none in the slots of a dilution', () => {
    const { issuer: own, lines } = issuer({ depth: 17, immutable: false });
    for (const n of [1, 2]) own.stamp(chunk(n));
    expect([own.displaced, lines]).toEqual([0, []]);
    own.stamp(chunk(3));
    expect(own.displaced).toBe(1);
    expect(lines).toEqual([expect.objectContaining({ batch: toHex(own.batchId), displaced: 1 })]);
    // The second slot belongs to an older chunk.
    own.update({ ...record(own), depth: 18 });
    for (const n of [4, 5, 6]) own.stamp(chunk(n));
    expect(own.displaced).toBe(2);
    own.stamp(chunk(7));
    expect(own.displaced).toBe(3);
    own.stamp(chunk(8, 1));
    expect(own.displaced).toBe(3);
    for (let n = 9; own.displaced < 100; n++) own.stamp(chunk(n));
    expect(lines.map(({ displaced }) => displaced)).toEqual([1, 10, 100]);
  });

  test('double with each step of depth', () => {
    const { issuer: own } = issuer({ depth: 17 });
    own.stamp(chunk(1));
    own.stamp(chunk(2));
    own.update({ ...record(own), depth: 18 });
    expect(place(own.stamp(chunk(3)))).toBe('0000238700000002');
  });

  test('of a chunk that was stamped before are used again, with a new timestamp', async () => {
    const { issuer: own } = issuer({ depth: 17 });
    const first = own.stamp(chunk(1));
    const again = own.stamp(chunk(1));
    await settled();
    const afterCommit = own.stamp(chunk(1));
    expect([place(again), place(afterCommit)]).toEqual([place(first), place(first)]);
    expect(toHex(again.timestamp) > toHex(first.timestamp)).toBe(true);
    expect(toHex(afterCommit.timestamp) > toHex(again.timestamp)).toBe(true);
    expect(own.utilization).toBe(1);
  });

  test('of a chunk that was stamped before are newer, even when the clock was set back since', async () => {
    const { issuer: ahead, clock, state } = issuer();
    await clock.advance(300_000);
    const first = ahead.stamp(chunk(1));
    await settled();
    const { issuer: own } = issuer({}, state);
    const again = own.stamp(chunk(1));
    expect(BigInt(`0x${toHex(again.timestamp)}`)).toBe(BigInt(`0x${toHex(first.timestamp)}`) + 1n);
    expect(toHex(own.stamp(chunk(2)).timestamp) < toHex(first.timestamp)).toBe(true);
  });

  test('know when a chunk was last stamped, even before that is written', async () => {
    const { issuer: own, state } = issuer();
    expect(own.stampedAt(chunk(1).identity)).toBeUndefined();
    own.stamp(chunk(1));
    const { timestamp } = own.stamp(chunk(1));
    const expected = BigInt(`0x${toHex(timestamp)}`);
    expect(own.stampedAt(chunk(1).identity)).toBe(expected);
    await settled();
    expect(issuer({}, state).issuer.stampedAt(chunk(1).identity)).toBe(expected);
    expect(own.stampedAt(chunk(2).identity)).toBeUndefined();
  });

  test('belong to the identity, so that two contents of one address take two', () => {
    const { issuer: own } = issuer();
    const soc = (identity: number): Chunk => ({ ...chunk(1), kind: 'soc', identity: id32(identity) });
    expect([place(own.stamp(soc(1))), place(own.stamp(soc(2))), place(own.stamp(soc(1)))]).toEqual([
      '0000238700000000',
      '0000238700000001',
      '0000238700000000',
    ]);
  });
});

const record = (own: BatchIssuer): IssuerRecord => {
  const { batchId, label, amount, depth, bucketDepth, blockNumber, immutable } = own;
  return { batchId, label, amount, depth, bucketDepth, blockNumber, immutable };
};

test('every issued stamp is valid for its chunk', () => {
  const { issuer: own } = issuer({ immutable: false });
  const batch = { ...record(own), id: own.batchId, value: 1n, start: 1, owner: signer.address };
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (address) => {
      const stamped: Chunk = { address, data: new Uint8Array(8), kind: 'cac', identity: address };
      const stamp = own.stamp(stamped);
      validateStamp(address, stamp, batch);
      expect(encodeStamp(stamp).length).toBe(113);
    }),
  );
});

describe('after a restart', () => {
  test('counters, utilization and slots of chunks are as before', async () => {
    const { issuer: before, state } = issuer({ depth: 17, immutable: false });
    for (const n of [1, 2, 3]) before.stamp(chunk(n));
    await settled();
    const { issuer: after } = issuer({ depth: 17, immutable: false }, new MemoryState(state.disk));
    expect([after.utilization, after.displaced]).toEqual([2, 1]);
    expect(after.buckets()).toEqual(before.buckets());
    expect(place(after.stamp(chunk(3)))).toBe('0000238700000000');
    expect(place(after.stamp(chunk(4)))).toBe('0000238700000001');
    expect(after.displaced).toBe(2);
  });

  test('killed after any write, no slot is reissued whose chunk could have been written', async () => {
    const stamps = 6;
    for (let writesLeft = 0; writesLeft <= stamps; writesLeft++) {
      const { issuer: before, state } = issuer({ depth: 24 });
      state.writesLeft = writesLeft;
      // The chunk's own write is queued behind the stamp's.
      const kept = Array.from({ length: stamps }, (_, n) => place(before.stamp(chunk(n)))).slice(
        0,
        writesLeft,
      );
      await settled();
      const { issuer: after } = issuer({ depth: 24 }, new MemoryState(state.disk));
      const next = Array.from({ length: stamps }, (_, n) => place(after.stamp(chunk(100 + n))));
      expect(kept.filter((slot) => next.includes(slot))).toEqual([]);
      expect(Array.from({ length: writesLeft }, (_, n) => place(after.stamp(chunk(n))))).toEqual(kept);
    }
  });
});

test('a stamp that could not be written is the last one of its batch', async () => {
  const { issuer: own, state } = issuer();
  state.writesLeft = 1;
  own.stamp(chunk(1));
  own.stamp(chunk(2));
  await settled();
  expect(() => own.stamp(chunk(3))).toThrow(CrashError);
});

test('a batch stamps again once the full disk accepts the writes that it refused', async () => {
  const { issuer: own, state } = issuer();
  own.stamp(chunk(1));
  await own.saved();
  const batch = state.batch.bind(state);
  const full = Object.assign(new Error('the disk is full'), { code: 'STORE_FULL' });
  let writes = 0;
  // The first of two does not arrive: the second one has a later slot of the same bucket.
  state.batch = (changes) => (writes++ === 0 ? Promise.reject(full) : batch(changes));
  own.stamp(chunk(2));
  own.stamp(chunk(3));
  await expect(own.saved()).rejects.toBe(full);
  state.batch = () => Promise.reject(full);
  expect(() => own.stamp(chunk(4))).toThrow('the disk is full');
  await settled();
  expect(() => own.stamp(chunk(4))).toThrow('the disk is full');
  await settled();
  state.batch = batch;
  expect(() => own.stamp(chunk(4))).toThrow('the disk is full');
  await settled();
  await own.saved();
  // Slots are where they were, and none is issued twice.
  const { issuer: again } = issuer({}, new MemoryState(state.disk));
  expect([2, 3, 4].map((n) => place(again.stamp(chunk(n))))).toEqual([
    '0000238700000001',
    '0000238700000002',
    '0000238700000003',
  ]);
  expect(place(own.stamp(chunk(5)))).toBe('0000238700000003');
});

test('saved() resolves when every issued stamp is on disk, and rejects when a write has failed', async () => {
  const { issuer: own, state } = issuer();
  state.writesLeft = 2;
  for (const n of [1, 2]) own.stamp(chunk(n));
  expect(state.disk.size).toBe(0);
  await own.saved();
  expect([...state.disk.keys()].filter((key) => key.startsWith('item/'))).toHaveLength(2);
  own.stamp(chunk(3));
  await expect(own.saved()).rejects.toThrow(CrashError);
});

test('an expired batch forgets its chunks and keeps its counters', async () => {
  const { issuer: own, state } = issuer({ depth: 30 });
  for (let n = 0; n < 1200; n++) own.stamp(chunk(n));
  await settled();
  await own.dropItems();
  expect([...state.disk.keys()].filter((key) => key.startsWith('item/'))).toEqual([]);
  expect(own.buckets()[0x2387]).toBe(1200);
});
