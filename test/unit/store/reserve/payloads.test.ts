/** Every node must keep the same payload. `p2p-protocols.md` 4.11. */
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { signSoc, wrappedAddressOf } from '../../../../formats/chunk/soc.ts';
import { type Stamp, stampHash } from '../../../../formats/chunk/stamp.ts';
import { chunkSum } from '../../../../formats/chunk/sum.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import type { Backend } from '../../../../node/store/backend.ts';
import { HELD_RANGE } from '../../../../node/store/disk/slot.ts';
import type { LocalStore } from '../../../../node/store/ports.ts';
import { BACKENDS, chunk, committed, stamp } from '../stores.ts';

const OWNER = createSigner(new Uint8Array(32).fill(3));
const CONVERGENT = { convergent: true } as const;

function owned(content: string): Chunk {
  const payload = new TextEncoder().encode(content);
  return signSoc(new Uint8Array(32), makeCac(BigInt(payload.length), payload).data, OWNER);
}

const [LOW, HIGH] = ['one', 'other']
  .map(owned)
  .sort((a, b) => Buffer.compare(wrappedAddressOf(a.data), wrappedAddressOf(b.data))) as [Chunk, Chunk];

/** At the same time, lower hash first. */
const [FIRST, SECOND] = [stamp({ batch: 1, timestamp: 5 }), stamp({ batch: 2, timestamp: 5 })].sort((a, b) =>
  Buffer.compare(stampHash(a), stampHash(b)),
) as [Stamp, Stamp];

type Put = readonly [Chunk, Stamp];

const CASES: readonly (readonly [string, readonly Put[], Chunk])[] = [
  [
    'the lower wrapped address under one stamp',
    [
      [LOW, FIRST],
      [HIGH, FIRST],
    ],
    LOW,
  ],
  [
    'the newer stamp, of whichever batch',
    [
      [LOW, stamp({ batch: 1, timestamp: 5 })],
      [HIGH, stamp({ batch: 2, timestamp: 6 })],
    ],
    HIGH,
  ],
  [
    'the lower stamp hash of two stamps of one time',
    [
      [HIGH, FIRST],
      [LOW, SECOND],
    ],
    HIGH,
  ],
  [
    'the newest of three, though an older one comes with its payload',
    [
      [LOW, stamp({ batch: 1, timestamp: 5 })],
      [HIGH, stamp({ batch: 2, timestamp: 7 })],
      [LOW, stamp({ batch: 3, timestamp: 6 })],
    ],
    HIGH,
  ],
];

function orders(puts: readonly Put[]): readonly (readonly Put[])[] {
  if (puts.length < 2) return [puts];
  return puts.flatMap((first) => orders(puts.filter((put) => put !== first)).map((rest) => [first, ...rest]));
}

function sumOf({ kind, data }: Chunk, under: Stamp): Uint8Array {
  const wrapped = kind === 'soc' ? wrappedAddressOf(data) : new Uint8Array();
  return chunkSum(under.batchId, stampHash(under), wrapped);
}

function entry({ address }: Chunk, under: Stamp) {
  return { address, batchId: under.batchId, stampHash: stampHash(under) };
}

function isFound({ reserve }: LocalStore, of: Chunk, under: Stamp): boolean {
  return reserve.entryOf(of.address, sumOf(of, under)) !== undefined;
}

test('the sum is the first 16 bytes of the hash of batch, stamp hash and what is wrapped', () => {
  const [batchId, hash] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const wrapped = wrappedAddressOf(LOW.data);
  const whole = toHex(keccak256(Buffer.concat([batchId, hash, wrapped])));
  expect(toHex(chunkSum(batchId, hash, wrapped))).toBe(whole.slice(0, 32));
  expect(toHex(chunkSum(batchId, hash, new Uint8Array()))).toBe(
    toHex(keccak256(Buffer.concat([batchId, hash]))).slice(0, 32),
  );
});

describe.each(BACKENDS)('a convergent store %s', (_name, open) => {
  test.each(CASES)('keeps %s, in whatever order they come', async (_what, puts, kept) => {
    for (const order of orders(puts)) {
      await using bench = await open(CONVERGENT);
      const { store } = bench;
      for (const [chunk, under] of order) await store.reserve.put(chunk, under);
      expect(toHex(store.chunks.get(kept.address)!.data)).toBe(toHex(kept.data));
      // By its stamp and the kept payload.
      for (const [, under] of puts) {
        expect(isFound(store, kept, under)).toBe(true);
        expect(isFound(store, kept === LOW ? HIGH : LOW, under)).toBe(false);
      }
    }
  });

  test('gives an entry whose payload is replaced a new id, and its sum', async () => {
    await using bench = await open(CONVERGENT);
    const { reserve } = bench.store;
    await reserve.put(HIGH, FIRST);
    const [before] = reserve.items(binOf(reserve), 1n, 9);
    await reserve.put(LOW, FIRST);
    const after = reserve.items(binOf(reserve), 1n, 9);
    expect([before?.binId, after.map(({ binId }) => binId), reserve.size()]).toEqual([1n, [2n], 1]);
    expect(toHex(reserve.sumOf(entry(LOW, FIRST))!)).toBe(toHex(sumOf(LOW, FIRST)));
    // The same again, and one that loses, change nothing.
    for (const chunk of [LOW, HIGH]) await reserve.put(chunk, FIRST);
    expect(reserve.items(binOf(reserve), 1n, 9)).toEqual(after);
  });

  test('of two chunks under one index at one time keeps that of the lower address', async () => {
    for (const order of [
      [chunk(1), chunk(2)],
      [chunk(2), chunk(1)],
    ] as const) {
      await using bench = await open(CONVERGENT);
      const { store } = bench;
      await store.reserve.put(order[0], stamp({ timestamp: 5 }));
      const second = store.reserve.put(order[1], stamp({ timestamp: 5 }));
      if (order[0] === order.find(({ address }) => address[0] === 1))
        await expect(second).rejects.toMatchObject({ code: 'OVERWRITE_NEWER' });
      else await second;
      expect([store.chunks.has(chunk(1).address), store.chunks.has(chunk(2).address)]).toEqual([true, false]);
    }
  });

  test('an upload that loses leaves the payload in the reserve', async () => {
    await using bench = await open(CONVERGENT);
    const { store } = bench;
    await store.reserve.put(LOW, FIRST);
    const tag = await store.tags.create();
    const session = store.uploads.openSession(tag.uid);
    await session.put(HIGH, FIRST);
    await session.done();
    expect(toHex(store.chunks.get(LOW.address)!.data)).toBe(toHex(LOW.data));
  });

  test('a payload that an upload brought first gives the entries under other stamps new ids, too', async () => {
    await using bench = await open(CONVERGENT);
    const { store } = bench;
    await store.reserve.put(LOW, stamp({ batch: 1, timestamp: 5 }));
    const session = store.uploads.openSession((await store.tags.create()).uid);
    const newer = stamp({ batch: 2, timestamp: 6 });
    await session.put(HIGH, newer);
    await session.done();
    await store.reserve.put(HIGH, newer);
    const items = store.reserve.items(binOf(store.reserve), 1n, 9);
    expect(items.map(({ binId, batchId }) => [binId, batchId[0]])).toEqual([
      [2n, 1],
      [3n, 2],
    ]);
  });

  test('a payload that comes in place of damaged bytes has the rank of its own stamp, and a new id', async () => {
    const broken = new Set<number>();
    await using bench = await open(CONVERGENT, (disk) => breaking(disk, broken));
    const { store } = bench;
    const [high, low] = [
      [HIGH, stamp({ batch: 1, timestamp: 9 })],
      [LOW, stamp({ batch: 2, timestamp: 5 })],
    ] as const;
    await store.reserve.put(...high);
    await store.reserve.put(...low);
    for (let slot = 0; slot < 9; slot++) broken.add(slot);
    expect(store.chunks.get(LOW.address)).toBeUndefined();
    await committed(store);
    await store.reserve.put(...low);
    expect(toHex(store.chunks.get(LOW.address)!.data)).toBe(toHex(LOW.data));
    expect(store.reserve.items(binOf(store.reserve), 1n, 9).map(({ binId }) => binId)).toEqual([3n, 4n]);
    await store.reserve.put(...high);
    expect(toHex(store.chunks.get(LOW.address)!.data)).toBe(toHex(HIGH.data));
  });

  test('no longer finds an entry that has left', async () => {
    await using bench = await open(CONVERGENT);
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp({ batch: 1 }));
    await store.reserve.put(chunk(1), stamp({ batch: 2 }));
    await store.reserve.evictBatch(stamp({ batch: 1 }).batchId);
    expect([1, 2].map((batch) => isFound(store, chunk(1), stamp({ batch })))).toEqual([false, true]);
  });
});

test('entries that came while they were not found by their sums are found when they are again', async () => {
  await using bench = await BACKENDS[1]![1](CONVERGENT);
  const puts = Array.from({ length: 600 }, (_, n) => [chunk(n % 250, n), stamp({ index: n })] as const);
  const [left, ...early] = puts.slice(0, 300);
  for (const [chunk, under] of [left!, ...early]) await bench.store.reserve.put(chunk, under);
  await bench.reopen({ convergent: false });
  const late = puts.slice(300);
  for (const [chunk, under] of late) await bench.store.reserve.put(chunk, under);
  const newer = stamp({ index: 0, timestamp: 2 });
  await bench.store.reserve.put(left![0], newer);
  await bench.reopen(CONVERGENT);
  const { store } = bench;
  expect([...early, ...late].filter(([chunk, under]) => !isFound(store, chunk, under))).toEqual([]);
  expect([isFound(store, ...left!), isFound(store, left![0], newer)]).toEqual([false, true]);
});

/** Until they are written again; stamps can be read. */
function breaking(disk: Backend, broken: Set<number>): Backend {
  return {
    get: (...given) => disk.get(...given),
    has: (...given) => disk.has(...given),
    scan: (...given) => disk.scan(...given),
    last: (...given) => disk.last(...given),
    change: (work) => disk.change(work),
    available: () => disk.available(),
    close: () => disk.close(),
    slots: {
      write(slot, bytes) {
        disk.slots.write(slot, bytes);
        broken.delete(slot);
      },
      read: (slot, range) =>
        broken.has(slot) && range !== HELD_RANGE ? undefined : disk.slots.read(slot, range),
    },
  };
}

function binOf(reserve: LocalStore['reserve']): number {
  return reserve.lastBinIds().findIndex((id) => id > 0n);
}
