import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { systemClock } from '../../../formats/clock.ts';
import { INDEX_MAX, updateAddress } from '../../../node/feeds/feed.ts';
import { findLatest, searchLatest } from '../../../node/feeds/finder.ts';
import vectors from '../../vectors/feeds.json' with { type: 'json' };
import { ManualClock } from '../protocols/manual-clock.ts';
import { chunkOf, feedOf, SimulatedFeed } from './simulated-feed.ts';

const clock = systemClock();
const signal = new AbortController().signal;

async function latestOf(feed: SimulatedFeed, after = 0n): Promise<bigint | undefined> {
  const update = await searchLatest(feed.read, after, { clock, signal });
  if (update !== undefined) expect(update.chunk).toEqual(chunkOf(update.index));
  return update?.index;
}

interface LookupCase {
  readonly name: string;
  readonly input: { readonly updates: number; readonly after: readonly number[] };
  readonly expected: { readonly results: readonly { found: boolean; current?: string }[] };
}

describe('vectors', () => {
  const cases = vectors.cases.filter(({ name }) =>
    name.startsWith('sequence lookup'),
  ) as unknown as LookupCase[];
  test('are there', () => expect(cases.length).toBeGreaterThan(8));

  test.each(cases)('$name', async ({ input, expected }) => {
    for (const [i, after] of input.after.entries()) {
      const { current } = expected.results[i] ?? {};
      expect(await latestOf(feedOf(input.updates), BigInt(after)), `after ${after}`).toBe(
        current === undefined ? undefined : BigInt(current),
      );
    }
  });
});

test('the requested address is that of the update', async () => {
  const feed = { owner: new Uint8Array(20).fill(1), topic: new Uint8Array(32).fill(2) };
  const asked: string[] = [];
  const getter = {
    async get(address: Uint8Array) {
      asked.push(Buffer.from(address).toString('hex'));
      throw new ChunkNotFoundError('');
    },
  };
  expect(await findLatest(feed, 7n, { getter, clock, signal })).toBeUndefined();
  expect(asked).toEqual([Buffer.from(updateAddress(feed, 7n)).toString('hex')]);
});

describe('a feed without gaps', () => {
  const lengths = fc.oneof(
    fc.bigInt(0n, 300n),
    fc.bigInt(0n, 2n ** 40n),
    fc.bigInt(INDEX_MAX - 40n, INDEX_MAX),
  );
  property.prop([lengths, fc.bigInt(0n, 2n ** 40n)], { numRuns: 60 })(
    'yields the last update that sequential reading finds, whatever its length and start',
    async (count, start) => {
      const after = start < count ? start : start % (count + 3n);
      expect(await latestOf(feedOf(count), after)).toBe(after < count ? count - 1n : undefined);
    },
  );

  test('may use every possible index', async () => {
    expect(await latestOf(feedOf(INDEX_MAX + 1n), INDEX_MAX - 3n)).toBe(INDEX_MAX);
    expect(await latestOf(feedOf(INDEX_MAX + 1n), INDEX_MAX)).toBe(INDEX_MAX);
  });

  test.each([
    [1, 5, 2],
    [2, 6, 3],
    [10, 14, 5],
    [17, 17, 5],
    [300, 30, 9],
    [1000, 34, 9],
    [100_000, 49, 13],
    [2 ** 40, 113, 32],
  ])('of %i updates costs at most %i reads in %i rounds, four at a time', async (count, reads, rounds) => {
    const feed = feedOf(count);
    expect(await latestOf(feed)).toBe(BigInt(count) - 1n);
    expect(feed.asked.length).toBeLessThanOrEqual(reads);
    expect(feed.rounds).toBeLessThanOrEqual(rounds);
    expect(feed.widest).toBeLessThanOrEqual(4);
    expect(new Set(feed.asked).size).toBe(feed.asked.length);
  });

  test('costs a handful of reads when the start is near its end', async () => {
    const feed = feedOf(100_000);
    expect(await latestOf(feed, 99_999n)).toBe(99_999n);
    expect(feed.asked.length).toBe(5);
  });
});

describe('a feed with gaps', () => {
  property.prop([fc.integer({ min: 2, max: 2000 }), fc.nat()], { numRuns: 150 })(
    'is followed across any single update that is lost',
    async (count, at) => {
      const lost = BigInt(1 + (at % (count - 1)));
      const last = BigInt(count) - 1n;
      expect(await latestOf(feedOf(count, [lost]))).toBe(lost === last ? last - 1n : last);
    },
  );

  property.prop([fc.uniqueArray(fc.bigInt(1n, 80n))])(
    'of any kind ends at an existing update, with the next two missing',
    async (lost) => {
      const feed = feedOf(81, lost);
      const latest = await latestOf(feed);
      const present = (index: bigint) => index <= 80n && !lost.includes(index);
      expect(latest !== undefined && present(latest)).toBe(true);
      expect([1n, 2n].map((step) => present((latest ?? 0n) + step))).toEqual([false, false]);
    },
  );
});

describe('a read that fails', () => {
  test('at the start, for a reason other than a missing update, ends the search with that reason', async () => {
    await expect(latestOf(new SimulatedFeed(() => 'broken'))).rejects.toThrow('no peer found');
  });

  test('later counts as missing, but the update after the latest is requested once more', async () => {
    const feed = new SimulatedFeed((index, time) => {
      if (index > 9n) return 'missing';
      return index === 7n && time === 1 ? 'broken' : 'found';
    });
    expect(await latestOf(feed)).toBe(9n);
    const hopeless = new SimulatedFeed((index) => (index > 6n ? 'broken' : 'found'));
    expect(await latestOf(hopeless)).toBe(6n);
    expect(hopeless.asked.filter((index) => index === 7n)).toHaveLength(2);
  });
});

describe('silence', () => {
  test('is tolerated for a second each time, and for five at the end', async () => {
    const manual = new ManualClock();
    const feed = new SimulatedFeed((index) => (index > 2n ? 'silent' : 'found'));
    const found = searchLatest(feed.read, 0n, { clock: manual, signal });
    const first = Promise.race([found, manual.sleep(6_900)]);
    await manual.advance(7_100);
    // The sleep came first, and gives nothing.
    expect(await first).toBeUndefined();
    expect(await found).toMatchObject({ index: 2n });
  });

  test('at the start ends the search after five seconds', async () => {
    const manual = new ManualClock();
    const found = searchLatest(new SimulatedFeed(() => 'silent').read, 0n, { clock: manual, signal });
    const refused = expect(found).rejects.toMatchObject({ code: 'TIMEOUT', afterMs: 5_000 });
    await manual.advance(5_000);
    await refused;
  });

  test('never lets a search take longer than twenty seconds', async () => {
    const manual = new ManualClock();
    // Every step costs the whole patience of a silent request.
    const feed = new SimulatedFeed((index, time) => (index > 0n && time === 1 ? 'silent' : 'found'));
    const found = searchLatest(feed.read, 0n, { clock: manual, signal });
    const refused = expect(found).rejects.toMatchObject({ code: 'TIMEOUT', afterMs: 20_000 });
    await manual.advance(20_000);
    await refused;
  });
});

test('a caller that leaves ends the search', async () => {
  const leaving = new AbortController();
  const found = searchLatest(new SimulatedFeed((index) => (index > 0n ? 'silent' : 'found')).read, 0n, {
    clock,
    signal: leaving.signal,
  });
  const refused = expect(found).rejects.toThrow('gone');
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  leaving.abort(new Error('gone'));
  await refused;
});
