import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { decodeMessage, encodeMessage } from '../../../node/p2p/codec/codec.ts';
import { BatchMirror, type MirroredBatch, NO_RECORDS } from '../../../node/postage/batch-store.ts';
import { Snapshot } from '../../../node/protocols/status/wire.ts';
import contracts from '../../vectors/contracts.json' with { type: 'json' };
import { MemoryState } from '../onchain/memory-state.ts';
import { id32, OTHER } from './fake-chain.ts';

const batch = (fill: number, value: bigint, depth = 17): MirroredBatch => ({
  id: id32(fill),
  value,
  start: 1,
  owner: OTHER,
  bucketDepth: 16,
  depth,
  immutable: false,
  amount: value,
});
const mirror = (state = new MemoryState(), tailBlocks = 0) =>
  new BatchMirror({ startBlock: 1, reserveCapacity: 131_072, tailBlocks }, state);

/** Everything a reader can see. */
const contents = (store: BatchMirror) => ({
  batches: store.all().sort((a, b) => (toHex(a.id) < toHex(b.id) ? -1 : 1)),
  chain: store.chainState(),
  commitment: store.commitment(),
  radius: store.radius(),
});

test('batches of more than 2^64 chunks are told as 2^64 - 1, which the status protocol can carry, and no longer when they are gone', () => {
  const store = mirror();
  store.create(batch(1, 5n, 17));
  store.setPrice(1n);
  for (const fill of [2, 3]) store.create(batch(fill, 2n, 63));
  expect(store.commitment()).toBe(2n ** 64n - 1n);
  const snapshot = { batchCommitment: store.commitment() };
  expect(decodeMessage(Snapshot, encodeMessage(Snapshot, snapshot))).toMatchObject(snapshot);
  expect(store.radius()).toBe(48);
  store.create(batch(4, 2n, 255));
  expect(store.commitment()).toBe(2n ** 64n - 1n);
  store.advance(4);
  expect(store.commitment()).toBe(2n ** 17n);
});

describe('the scenario of the contract', () => {
  const { price, setPriceBlock, steps, batchId } = contracts.postageScenario;
  const id = fromHex(batchId);

  test('price in block 12, creation in 18, top-up in 19, dilution in 20: the balances match the chain', () => {
    const store = mirror();
    store.advance(setPriceBlock);
    store.setPrice(BigInt(price));
    const totals: string[] = [];
    const at = (block: number, apply: () => void) => {
      store.advance(block);
      totals.push(store.chainState().totalAmount.toString());
      apply();
    };
    at(18, () => store.create({ ...batch(0, 10_144_000n), id }));
    at(19, () => store.topUp(id, { value: 15_144_000n, total: 1n << 20n }));
    at(20, () => store.increaseDepth(id, 18, 7_668_000n));
    expect(totals).toEqual(steps.map(({ currentTotalOutPayment }) => currentTotalOutPayment));
    expect(store.commitment().toString()).toBe(steps.at(-1)?.validChunkCount);
    expect(store.get(id)).toMatchObject({ value: 7_668_000n, depth: 18 });
    expect(store.radius()).toBe(1);
  });

  test('the batch lives while its value is above the payout, and is gone when they are equal', () => {
    const store = mirror();
    store.advance(setPriceBlock);
    store.setPrice(BigInt(price));
    store.create({ ...batch(0, 7_668_000n), id });
    // 319.5 blocks of 24,000 after block 12.
    store.advance(12 + 319);
    expect(store.get(id)).toBeDefined();
    store.advance(12 + 320);
    expect(store.get(id)).toBeUndefined();
    expect(store.takeChanges().expired).toEqual([toHex(id)]);
    expect([store.commitment(), store.radius()]).toEqual([0n, 0]);
  });
});

describe('rules', () => {
  const priced = () => {
    const store = mirror();
    store.advance(10);
    store.setPrice(100n);
    return store;
  };

  test('the old price applies up to and including the block of its change', () => {
    const store = priced();
    store.advance(20);
    store.setPrice(1n);
    store.advance(25);
    expect(store.chainState()).toEqual({ block: 25, totalAmount: 1005n, currentPrice: 1n });
  });

  test('a batch that does not outlive one block is skipped', () => {
    const store = priced();
    expect(store.create(batch(1, 100n))).toBe(false);
    expect(store.create(batch(2, 101n))).toBe(true);
    expect(store.all().map(({ id }) => id[0])).toEqual([2]);
  });

  test('only exhausted batches expire, the others later', () => {
    const store = priced();
    for (const [fill, value] of [
      [1, 500n],
      [2, 1000n],
      [3, 1500n],
    ] as const) {
      store.create(batch(fill, value));
    }
    store.advance(19);
    expect(store.all().map(({ id }) => id[0])).toEqual([2, 3]);
    store.topUp(id32(2), { value: 2000n, total: 1n << 20n });
    store.advance(25);
    expect(store.all().map(({ id }) => id[0])).toEqual([2]);
    store.advance(30);
    expect(store.all()).toEqual([]);
  });

  test('what only a recent price has used up is in doubt; a batch of the same id begins anew', () => {
    const store = mirror();
    store.advance(10);
    store.setPrice(100n);
    store.create(batch(1, 10_000n));
    store.advance(30);
    store.setPrice(10_000n);
    store.advance(31);
    expect([store.all(), store.commitment(), store.isDoubtful(id32(1))]).toEqual([[], 0n, true]);
    expect(store.hasExpired()).toBe(false);
    expect(store.ids()).toEqual([toHex(id32(1))]);
    store.create(batch(1, 100_000n));
    expect([store.all().length, store.isDoubtful(id32(1))]).toEqual([1, false]);
    store.advance(60);
    expect(store.takeChanges().expired).toEqual([toHex(id32(1))]);
  });

  test('a lower price leaves no doubt', () => {
    const store = mirror();
    store.advance(10);
    store.setPrice(100n);
    store.advance(30);
    store.create(batch(1, 3_000n));
    store.setPrice(50n);
    store.advance(50);
    expect(store.takeChanges().expired).toEqual([toHex(id32(1))]);
  });

  test('without a price nothing expires', () => {
    const store = mirror();
    store.create(batch(1, 1n));
    store.advance(1_000_000);
    expect(store.all().length).toBe(1);
  });

  test.each([
    [
      'a block that lies before the last one',
      (store: BatchMirror) => store.advance(9),
      'moved backwards from 10 to 9',
    ],
    ['a second creation', (store: BatchMirror) => store.create(batch(1, 600n)), 'created twice'],
    [
      'a top-up of an unknown batch',
      (store: BatchMirror) => store.topUp(id32(7), { value: 1n, total: 1n << 20n }),
      'unknown batch 0707',
    ],
    [
      'a dilution of an unknown batch',
      (store: BatchMirror) => store.increaseDepth(id32(7), 18, 1n),
      'unknown batch',
    ],
  ])('%s is an inconsistency', (_, event, message) => {
    const store = priced();
    store.create(batch(1, 500n));
    expect(() => event(store)).toThrow(message);
  });
});

describe('records', () => {
  test('what is written restores what was there', async () => {
    const state = new MemoryState();
    const store = mirror(state);
    store.advance(10);
    store.setPrice(100n);
    store.create(batch(1, 500n, 20));
    store.create(batch(2, 1n << 200n, 17));
    await state.batch(store.takeChanges().changes);
    store.advance(14);
    store.topUp(id32(1), { value: 900n, total: 1n << 20n });
    store.increaseDepth(id32(2), 19, 1n << 199n);
    await state.batch(store.takeChanges().changes);
    expect(contents(mirror(state))).toEqual(contents(store));
    store.advance(19);
    await state.batch(store.takeChanges().changes);
    expect(contents(mirror(state))).toEqual(contents(store));
    expect(store.all().length).toBe(1);
  });

  test('what is in doubt and why is restored, and cleared by the difference to other records', async () => {
    const state = new MemoryState();
    const store = mirror(state);
    store.advance(10);
    store.setPrice(100n);
    store.create(batch(1, 10_000n));
    store.advance(30);
    store.setPrice(10_000n);
    store.create(batch(2, 40_000n));
    store.advance(31);
    await state.batch(store.takeChanges().changes);
    const reloaded = mirror(state);
    expect([reloaded.isDoubtful(id32(1)), reloaded.isDoubtful(id32(2))]).toEqual([true, false]);
    reloaded.advance(34);
    expect([reloaded.all(), reloaded.isDoubtful(id32(2))]).toEqual([[], true]);
    reloaded.advance(41);
    expect(reloaded.hasExpired()).toBe(false);
    reloaded.advance(42);
    expect(reloaded.takeChanges().expired.sort()).toEqual([toHex(id32(1)), toHex(id32(2))]);
    expect(reloaded.ids()).toEqual([]);
    const empty = new BatchMirror({ startBlock: 1, reserveCapacity: 1, tailBlocks: 0 }, NO_RECORDS);
    await state.batch(store.difference(NO_RECORDS));
    expect(mirror(state).ids()).toEqual(store.ids());
    await state.batch(empty.difference(state));
    expect([...state.disk.keys()]).toEqual([]);
  });

  test('a page ends with the block that it stands for', async () => {
    const state = new MemoryState();
    const store = mirror(state);
    expect(store.anchor()).toBeUndefined();
    const end = { block: 12, hash: `0x${'ab'.repeat(32)}` };
    store.close(end);
    expect(store.chainState().block).toBe(12);
    await state.batch(store.takeChanges().changes);
    expect(mirror(state).anchor()).toEqual(end);
  });

  test('the amount paid grows by what a top-up pays per chunk', async () => {
    const state = new MemoryState();
    const store = mirror(state);
    store.create({ ...batch(1, 500n, 20), amount: 500n });
    store.topUp(id32(1), { value: 507n, total: 7n << 20n });
    store.increaseDepth(id32(1), 21, 400n);
    await state.batch(store.takeChanges().changes);
    expect(mirror(state).get(id32(1))).toMatchObject({ amount: 507n, depth: 21, value: 400n });
  });

  test('applying the difference to other records makes them equal', async () => {
    const state = new MemoryState();
    const other = mirror(state);
    other.create(batch(1, 500n));
    other.create(batch(2, 500n));
    other.close({ block: 9, hash: `0x${'09'.repeat(32)}` });
    await state.batch(other.takeChanges().changes);
    const store = new BatchMirror({ startBlock: 1, reserveCapacity: 131_072, tailBlocks: 0 }, NO_RECORDS);
    store.create(batch(2, 700n));
    store.create(batch(3, 500n));
    store.close({ block: 8, hash: `0x${'08'.repeat(32)}` });
    await state.batch(store.difference(state));
    expect(contents(mirror(state))).toEqual(contents(store));
    other.load(state);
    expect(contents(other)).toEqual(contents(store));
    expect(other.anchor()).toEqual(store.anchor());
    const none = new BatchMirror({ startBlock: 1, reserveCapacity: 1, tailBlocks: 0 }, NO_RECORDS);
    await state.batch(none.difference(state));
    expect([...state.disk.keys()]).toEqual([]);
  });

  test('in an earlier format can be read, and stand for no block of any chain', async () => {
    const state = new MemoryState();
    const store = mirror(state);
    store.create(batch(1, 500n));
    store.close({ block: 9, hash: `0x${'09'.repeat(32)}` });
    await state.batch(store.takeChanges().changes);
    state.disk.set('chainstate', (state.disk.get('chainstate') ?? new Uint8Array(0)).slice(0, 96));
    const [key = ''] = [...state.disk.keys()].filter((name) => name.startsWith('batch/'));
    state.disk.set(key, (state.disk.get(key) ?? new Uint8Array(0)).slice(0, 95));
    const reloaded = mirror(state);
    expect(reloaded.chainState()).toEqual(store.chainState());
    expect(reloaded.get(id32(1))).toEqual({ ...batch(1, 500n), amount: 0n });
    expect(reloaded.anchor()).toEqual({ block: 9, hash: '0x' });
  });

  test('changes are handed out once', () => {
    const store = mirror();
    store.create(batch(1, 500n));
    expect(store.takeChanges().changes.length).toBe(1);
    expect(store.takeChanges()).toEqual({ changes: [], expired: [] });
  });

  test('a batch that changes several times is one record', () => {
    const store = mirror();
    store.create(batch(1, 500n));
    store.topUp(id32(1), { value: 600n, total: 1n << 20n });
    store.topUp(id32(1), { value: 700n, total: 1n << 20n });
    expect(store.takeChanges().changes.length).toBe(1);
  });
});
