import { expect, test } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { PushResult } from '../../../node/protocols/pushsync/pushsync.ts';
import { NoRoomError, PushsyncError } from '../../../node/protocols/pushsync/rules.ts';
import { OVERLAY } from '../store/stores.ts';
import { counts, never, Remote, setup } from './hand-over-kit.ts';

/** Smaller bins are pushed without a comparison. */
const COMPARED_MIN = 32;

function synced(storerPO: number): PushResult {
  return { outcome: 'synced', receipt: {} as never, storerPO };
}

// ── push ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('entries that no peer lists are pushed, and leave with the receipt of a deeper storer', async () => {
  const { reserve, fill, connect, release, pushes } = await setup({ radius: 2 });
  const entries = await fill(1, 40);
  await fill(2, 5);
  connect(new Remote(1, 4));
  pushes.answer = async () => synced(2);
  await release(40);
  expect(pushes.addresses).toEqual(entries.map(({ address }) => address));
  expect(counts(reserve)).toEqual([0, 0, 5]);
});

test('every entry that left by a push counts, even when several pushes end at once', async () => {
  const { fill, release, pushes, metric } = await setup();
  await fill(0, 30);
  pushes.answer = async () => synced(1);
  expect(await release(30)).toBe(30);
  expect(await metric('handed_over_count\\{how="pushed"\\}')).toBe(30);
});

test('nothing is pushed as long as comparing lets entries go', async () => {
  const { reserve, fill, connect, release, pushes } = await setup();
  const entries = await fill(0, 60);
  const only = new Remote(0, 4);
  only.holds(entries.slice(0, 1));
  connect(only);
  pushes.answer = async () => synced(1);
  await release(60);
  expect([reserve.size(), pushes.addresses.length]).toEqual([59, 0]);
  await release(60);
  expect([reserve.size(), pushes.addresses.length]).toEqual([0, 59]);
});

test('a bin of few entries is pushed without a comparison', async () => {
  const { fill, connect, release, pushes } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, COMPARED_MIN - 1));
  connect(only);
  pushes.answer = async () => synced(1);
  await release(100);
  expect([only.take(), pushes.addresses.length]).toEqual([[], COMPARED_MIN - 1]);
  only.holds(await fill(0, COMPARED_MIN));
  await release(100);
  expect([only.take(), pushes.addresses.length]).toEqual([['4:1'], COMPARED_MIN - 1]);
});

test('a bin of few entries is compared when no node takes them', async () => {
  const { reserve, fill, connect, release } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, 5));
  connect(only);
  for (let run = 0; run < 3; run++) await release(5);
  expect(reserve.size()).toBe(0);
});

test.each([
  ['the receipt of a storer as deep as this node', synced(0)],
  ['a chunk that no other node takes', { outcome: 'want-self' }],
] as const)('%s lets nothing go', async (_, result) => {
  const { reserve, handOver, fill, release, pushes, metric } = await setup();
  await fill(0, 5);
  pushes.answer = async () => result;
  expect(await release(5)).toBe(0);
  expect([reserve.size(), handOver.refusal]).toEqual([5, 'no deeper node takes it']);
  expect(await metric('hand_over_refused_count')).toBe(5);
});

test.each([
  { batch: 'mutable', staying: 0 },
  { batch: 'immutable', staying: 5 },
])(
  'of 5 entries of a batch that is $batch $staying stay when a newer stamp has their index',
  async (given) => {
    const { reserve, given: now, fill, release, pushes } = await setup();
    now.immutable = given.batch === 'immutable';
    await fill(0, 5);
    pushes.answer = () => Promise.reject(new PushsyncError('SUPERSEDED', 'newer'));
    await release(5);
    expect(reserve.size()).toBe(given.staying);
  },
);

test('a failed push lets nothing go, and its reason is reported until one succeeds', async () => {
  const { reserve, handOver, fill, release, pushes } = await setup();
  await fill(0, 5);
  expect(handOver.refusal).toBeUndefined();
  expect([await release(5), reserve.size()]).toEqual([0, 5]);
  expect(handOver.refusal).toBe("no room in neighbourhood '1'");
  pushes.answer = async () => synced(1);
  // One run finds all tried, the next starts again.
  for (let run = 0; run < 2; run++) await release(5);
  expect([reserve.size(), handOver.refusal]).toEqual([0, undefined]);
});

test('sixteen failures in a row end a run', async () => {
  const { fill, release, pushes } = await setup();
  await fill(0, 31);
  expect(await release(31)).toBe(0);
  // Those under way when the sixteenth failed come on top.
  expect(pushes.addresses.length).toBeGreaterThanOrEqual(16);
  expect(pushes.addresses.length).toBeLessThan(16 + 8);
});

test('a success between failures lets a run continue', async () => {
  const { reserve, fill, release, pushes } = await setup();
  const entries = await fill(0, 31);
  const taken = new Set([5, 15, 25].map((n) => toHex(entries[n]!.address)));
  pushes.answer = async (address) => {
    if (taken.has(toHex(address))) return synced(1);
    throw new NoRoomError('1');
  };
  await release(31);
  expect([pushes.addresses.length, reserve.size()]).toEqual([31, 28]);
});

test('entries that no node takes do not hold up the rest of their bin, and are tried again later', async () => {
  const { reserve, fill, release, pushes } = await setup();
  const entries = await fill(0, 60);
  const refused = new Set(entries.slice(0, 20).map(({ address }) => toHex(address)));
  pushes.answer = async (address) => {
    if (!refused.has(toHex(address))) return synced(1);
    throw new NoRoomError('1');
  };
  for (let run = 0; run < 2; run++) await release(60);
  expect(reserve.size()).toBeLessThan(40);
  for (let run = 0; run < 4; run++) await release(60);
  expect(reserve.size()).toBe(20);
  refused.clear();
  for (let run = 0; run < 4; run++) await release(60);
  expect(reserve.size()).toBe(0);
});

test('a bin that no node takes does not hold up the bins below it in the next run', async () => {
  const { reserve, fill, release, pushes } = await setup({ radius: 2 });
  await fill(0, 20);
  await fill(1, 200);
  pushes.answer = async (address) => {
    if (proximityOrder(OVERLAY, address) === 0) return synced(1);
    throw new NoRoomError('01');
  };
  for (let run = 0; run < 2; run++) await release(50);
  expect(counts(reserve)).toEqual([0, 200, 0]);
});

test('eight entries are pushed at once, 256 in one run, and no more than requested', async () => {
  const { reserve, clock, fill, release, pushes } = await setup();
  await fill(0, 300);
  let [running, most] = [0, 0];
  pushes.answer = async () => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    return synced(1);
  };
  await release(20);
  await clock.settle();
  expect([reserve.size(), most]).toEqual([280, 8]);
  await release(1000);
  expect([reserve.size(), most]).toEqual([280 - 256, 8]);
});

test('the signal ends a run of pushes, and unanswered entries stay', async () => {
  const { reserve, handOver, clock, fill, release, pushes, metric } = await setup();
  await fill(0, 31);
  const ending = new AbortController();
  pushes.answer = (_address, signal) =>
    pushes.addresses.length > 10 ? never(signal) : Promise.resolve(synced(1));
  const releasing = release(31, ending.signal);
  await clock.settle();
  ending.abort(new Error('stopping'));
  await releasing;
  expect([reserve.size(), pushes.addresses.length, handOver.refusal]).toEqual([21, 18, undefined]);
  expect(await metric('hand_over_refused_count')).toBe(0);
});

test('an entry that leaves while it waits to be pushed is not pushed', async () => {
  const { reserve, clock, fill, release, pushes } = await setup();
  const entries = await fill(0, 20);
  const first = Promise.withResolvers<void>();
  pushes.answer = async () => {
    await first.promise;
    return synced(1);
  };
  const releasing = release(20);
  await clock.settle();
  await reserve.evictBatch(entries[0]!.batchId);
  first.resolve();
  expect([await releasing, reserve.size(), pushes.addresses.length]).toEqual([0, 0, 8]);
});

// ── leftovers ───────────────────────────────────────────────────────────────────────────────────────────────────────

test('entries below the radius are reported by neighbourhood, the largest first', async () => {
  const { reserve, handOver, fill } = await setup({ radius: 4 });
  await fill(0, 2);
  await fill(2, 7);
  await fill(3, 1);
  await fill(4, 9);
  expect(handOver.leftovers()).toEqual([
    { neighbourhood: '001', chunks: 7 },
    { neighbourhood: '1', chunks: 2 },
    { neighbourhood: '0001', chunks: 1 },
  ]);
  await reserve.setRadius(0);
  expect(handOver.leftovers()).toEqual([]);
});
