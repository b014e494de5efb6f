import { expect, onTestFinished, test } from 'vitest';
import { type Logger, silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { HandOver, Leftover } from '../../../node/neighbourhood/hand-over.ts';
import { createReserveWorker } from '../../../node/neighbourhood/reserve-worker.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import type { Batch } from '../../../node/postage/ports.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import type { Reserve, ReserveEntry } from '../../../node/store/ports.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { addressIn, chunkAt, OVERLAY, stamp } from '../store/stores.ts';

const WAKE_UP_MS = 900_000;
/** Longest pause of a worker that could not let go of anything. */
const STUCK_PAUSE_MAX_MS = 32_000;

interface Given {
  readonly capacity?: number;
  readonly minimumRadius?: number;
  /** Bins that have a peer: those below this one. */
  readonly covered?: number;
}

/** Lets go of the entries below the radius that are said to be held elsewhere, the highest bin first. */
class FakeHandOver implements HandOver {
  /** Chunks asked for, by call. */
  readonly asked: number[] = [];
  isHeld: (entry: ReserveEntry) => boolean = () => true;
  /** What a call waits for before it lets anything go. */
  before: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  refusal: string | undefined;
  readonly #reserve: Reserve;

  constructor(reserve: Reserve) {
    this.#reserve = reserve;
  }

  async release(count: number, signal: AbortSignal): Promise<number> {
    this.asked.push(count);
    await this.before(signal);
    if (signal.aborted) return 0;
    const held = this.#below().filter((entry) => this.isHeld(entry));
    return await this.#reserve.release(held.slice(0, count));
  }

  leftovers(): Leftover[] {
    return [{ neighbourhood: 'left over', chunks: this.#below().length }];
  }

  #below(): ReserveEntry[] {
    const radius = this.#reserve.radius();
    const bins = Array.from({ length: radius }, (_, n) => radius - 1 - n);
    return bins.flatMap((bin) => this.#reserve.items(bin, 1n, 10_000));
  }
}

/** Notes warnings. */
function logOf(warnings: string[]): Logger {
  const log: Logger = {
    ...silentLogger(),
    warn: (about: object | string, text?: string) => warnings.push(text ?? JSON.stringify(about)),
    child: () => log,
  };
  return log;
}

async function worker({ capacity = 10, minimumRadius = 0, covered = 31 }: Given = {}) {
  const clock = new ManualClock();
  const metrics = createMetrics({ prefix: 'svc' });
  const warnings: string[] = [];
  const log = logOf(warnings);
  const store = await createMemoryStore(
    { cacheCapacity: 100, reserveCapacity: capacity, radius: minimumRadius },
    { clock, log, overlay: OVERLAY },
  );
  const { reserve } = store;
  const handOver = new FakeHandOver(reserve);
  const expired = new Set<number>();
  const listeners = new Set<() => void>();
  const topologyListeners = new Set<() => void>();
  const given = { pullRate: 0, awaited: new Set<number>(), bins: bins(covered) };
  /** Radius at each call of `onSettled`. */
  const settled: number[] = [];
  const create = () => {
    const made = createReserveWorker(
      { wakeUpMs: WAKE_UP_MS, minimumRadius },
      {
        reserve,
        postage: {
          awaited: (id) => given.awaited.has(id[0]!),
          batches: { get: (id) => (expired.has(id[0]!) ? undefined : ({} as Batch)) },
          onExpired(listener) {
            listeners.add(listener);
            return () => listeners.delete(listener);
          },
        },
        handOver,
        topology: {
          peers: () => given.bins.map((bin) => ({ overlay: addressIn(bin, 1) }) as Peer),
          onChange(listener) {
            topologyListeners.add(listener);
            return () => topologyListeners.delete(listener);
          },
        },
        overlay: OVERLAY,
        pullRate: () => given.pullRate,
        onSettled: () => settled.push(reserve.radius()),
        clock,
        log,
        metrics,
      },
    );
    onTestFinished(() => made.stop());
    return made;
  };
  let index = 0;
  /** Chunks in a bin, each under a stamp index of its own. */
  const fill = async (bin: number, count: number, batch = 1): Promise<void> => {
    for (let n = 0; n < count; n++, index++) {
      await reserve.put(chunkAt(addressIn(bin, index)), stamp({ batch, index }));
    }
  };
  const expire = async (batch: number): Promise<void> => {
    expired.add(batch);
    for (const listener of listeners) listener();
    await clock.settle();
  };
  /** Only these bins have a peer from now on. */
  const connect = async (connected: readonly number[]): Promise<void> => {
    given.bins = [...connected];
    for (const listener of topologyListeners) listener();
    await clock.settle();
  };
  const metric = async (name: string): Promise<number> => {
    const exposed = (await metrics.expose()).split('\n');
    return Number(exposed.find((line) => line.startsWith(`svc_localstore_${name} `))?.split(' ')[1]);
  };
  const all = { listeners, topologyListeners };
  return {
    clock,
    store,
    reserve,
    handOver,
    warnings,
    given,
    worker: create(),
    settled,
    listeners: all,
    fill,
    expire,
    connect,
    metric,
  };
}

/** The bins below one. */
function bins(below: number): number[] {
  return Array.from({ length: below }, (_, bin) => bin);
}

/** Entries per bin, the first bins. */
function counts(reserve: Reserve, shown = 4): number[] {
  return bins(shown).map((bin) => reserve.items(bin, 1n, 10_000).length);
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

test('a reserve below its capacity keeps everything', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  running.start();
  await fill(0, 4);
  await fill(1, 5);
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius(), handOver.asked]).toEqual([[4, 5], 0, []]);
});

test('a full reserve hands over chunks below its radius until a tenth of its capacity is free', async () => {
  const { reserve, handOver, fill, worker: running, clock, metric } = await worker({ capacity: 20 });
  await reserve.setRadius(1);
  running.start();
  await fill(0, 15);
  await fill(1, 4);
  await clock.settle();
  expect(handOver.asked).toEqual([]);
  await fill(1, 1);
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius(), handOver.asked]).toEqual([[13, 5], 1, [2]]);
  expect(await metric('evicted_count')).toBe(2);
  expect(await metric('over_cap_trigger_count')).toBe(1);
  expect(await metric('reserve_size')).toBe(18);
  expect(await metric('reserve_size_within_radius')).toBe(5);
  expect(await metric('storage_radius')).toBe(1);
});

test('room is made for a thousand chunks at most', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker({ capacity: 12_000 });
  await reserve.setRadius(1);
  await fill(0, 12_005);
  running.start();
  await clock.settle();
  expect([handOver.asked, reserve.size()]).toEqual([[1005], 11_000]);
});

test('a hand-over that was not enough continues at once', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  await reserve.setRadius(1);
  await fill(0, 15);
  const release = handOver.release.bind(handOver);
  const asked: number[] = [];
  handOver.release = (count, signal) => {
    asked.push(count);
    return release(Math.min(count, 2), signal);
  };
  running.start();
  await clock.settle();
  expect([asked, reserve.size()]).toEqual([[6, 4, 2], 9]);
});

test('the radius grows with the very chunk that fills the neighbourhood, before that is stored', async () => {
  const { reserve, fill, worker: running, clock } = await worker();
  running.start();
  await fill(0, 5);
  await fill(1, 4);
  expect(reserve.radius()).toBe(0);
  const filling = fill(1, 1);
  expect(reserve.radius()).toBe(1);
  await filling;
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius()]).toEqual([[4, 5], 1]);
});

test('the radius grows until the neighbourhood fits, and the chunks left out are handed over', async () => {
  const { reserve, fill, worker: running, clock, metric } = await worker();
  running.start();
  const changes: number[] = [];
  reserve.onRadius((radius) => changes.push(radius));
  await fill(3, 6);
  await fill(2, 3);
  await clock.settle();
  expect(changes).toEqual([]);
  await fill(2, 1);
  await clock.settle();
  expect([counts(reserve), changes]).toEqual([
    [0, 0, 3, 6],
    [1, 2, 3],
  ]);
  expect(await metric('evicted_count')).toBe(1);
});

test('the radius does not grow while chunks below it can leave instead', async () => {
  const { reserve, fill, worker: running, clock } = await worker();
  await reserve.setRadius(2);
  running.start();
  await fill(0, 2);
  await fill(1, 2);
  await fill(2, 7);
  await clock.settle();
  expect([reserve.size(), counts(reserve)[2], reserve.radius()]).toEqual([9, 7, 2]);
});

test('the radius does not grow beyond adjacent neighbourhoods that have a node', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ covered: 2 });
  running.start();
  await fill(5, 10);
  await clock.advance(60_000);
  expect([counts(reserve, 6), reserve.radius()]).toEqual([[0, 0, 0, 0, 0, 10], 2]);
  expect(reserve.hasRoomFor(OVERLAY)).toBe(false);
  expect(running.congestion()).toMatchObject({ full: true, missing: '001' });
});

test('the radius grows as soon as the missing node is there', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker({ covered: 2 });
  running.start();
  await fill(2, 5);
  await fill(5, 5);
  await clock.settle();
  expect(reserve.radius()).toBe(2);
  await connect([0, 1, 2]);
  expect([reserve.radius(), counts(reserve, 6)]).toEqual([3, [0, 0, 4, 0, 0, 5]]);
  expect(running.congestion()).toEqual({
    full: false,
    missing: undefined,
    leftovers: [],
    refusal: undefined,
  });
});

test.each([
  { waiting: 10, radius: 2 },
  { waiting: 11, radius: 1 },
])(
  'with a capacity of 10 and $waiting chunks to hand over, a full radius of 1 becomes $radius',
  async (given) => {
    const { reserve, handOver, fill, worker: running, clock } = await worker();
    handOver.isHeld = () => false;
    await reserve.setRadius(1);
    await fill(0, given.waiting);
    await fill(1, 3);
    await fill(2, 7);
    running.start();
    await clock.advance(60_000);
    expect(reserve.radius()).toBe(given.radius);
    handOver.isHeld = () => true;
    await clock.advance(STUCK_PAUSE_MAX_MS);
    expect([reserve.radius(), reserve.size()]).toEqual([2, 9]);
  },
);

test('the radius also grows while chunks are being handed over', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.before = aborted;
  await reserve.setRadius(1);
  await fill(0, 5);
  await fill(1, 5);
  running.start();
  await clock.settle();
  expect(handOver.asked).toEqual([1]);
  await fill(2, 5);
  expect([reserve.radius(), handOver.asked]).toEqual([2, [1]]);
});

test('a reserve that is full at the highest radius stays full, and the worker keeps running', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 2 });
  running.start();
  await fill(31, 3);
  await clock.settle();
  expect([reserve.size(), reserve.radius()]).toEqual([3, 31]);
  await fill(5, 1);
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect([reserve.size(), reserve.radius()]).toEqual([3, 31]);
});

test('chunks that no node takes stay, and are tried again after pauses of 250 ms to 32 s', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.isHeld = () => false;
  const times: number[] = [];
  handOver.before = async () => void times.push(clock.monotonic());
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(127_750);
  expect(times).toEqual([0, 250, 750, 1750, 3750, 7750, 15_750, 31_750, 63_750, 95_750, 127_750]);
  expect(reserve.size()).toBe(10);
});

test('the pauses restart once something could leave', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  await reserve.setRadius(1);
  handOver.isHeld = () => false;
  await fill(0, 10);
  running.start();
  await clock.advance(10_000);
  handOver.isHeld = () => true;
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect(reserve.size()).toBe(9);
  handOver.isHeld = () => false;
  const before = handOver.asked.length;
  await fill(0, 1);
  await clock.advance(249);
  expect(handOver.asked.length - before).toBe(1);
  await clock.advance(1);
  expect(handOver.asked.length - before).toBe(2);
});

test('chunks that no node takes are tried again at once when a peer connects', async () => {
  const { reserve, handOver, fill, connect, worker: running, clock } = await worker({ covered: 1 });
  handOver.isHeld = () => false;
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(60_000);
  handOver.isHeld = () => true;
  await connect([0, 1]);
  expect(reserve.size()).toBe(9);
});

test('arriving chunks do not shorten the pause after a hand-over that let nothing go', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker({ capacity: 100 });
  const times: number[] = [];
  handOver.isHeld = () => false;
  handOver.before = () => {
    times.push(clock.monotonic());
    return clock.sleep(100);
  };
  await reserve.setRadius(1);
  await fill(0, 100);
  running.start();
  // Some come while chunks are being handed over, some while the worker rests.
  await clock.advance(25);
  for (let put = 0; put < 60; put++) {
    await fill(1, 1);
    await clock.advance(50);
  }
  expect(times).toEqual([0, 350, 950, 2050]);
});

test('a worker that cannot let go of anything logs so once', async () => {
  const { reserve, handOver, fill, worker: running, clock, warnings } = await worker();
  handOver.isHeld = () => false;
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(7749);
  expect(warnings).toEqual([]);
  await clock.advance(600_000);
  expect(warnings).toEqual(['the reserve is full, and no node takes from it']);
});

test('the reason for a full reserve is reported as long as no node takes its chunks', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.isHeld = () => false;
  handOver.refusal = 'no room';
  await reserve.setRadius(1);
  await fill(0, 9);
  running.start();
  await clock.settle();
  const nothing = { full: false, missing: undefined, leftovers: [], refusal: undefined };
  expect(running.congestion()).toEqual(nothing);
  await fill(0, 1);
  await clock.settle();
  const leftovers = [{ neighbourhood: 'left over', chunks: 10 }];
  expect(running.congestion()).toEqual({ ...nothing, leftovers, refusal: 'no room' });
  handOver.isHeld = () => true;
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect(running.congestion()).toEqual(nothing);
});

test('an expired batch leaves with all its chunks, including those within the radius', async () => {
  const { reserve, fill, worker: running, expire, metric } = await worker({ capacity: 1000 });
  await reserve.setRadius(1);
  running.start();
  await fill(0, 100, 1);
  await fill(3, 100, 1);
  await fill(3, 5, 2);
  await expire(1);
  expect(counts(reserve)).toEqual([0, 0, 0, 5]);
  expect(await metric('expired_count')).toBe(200);
  expect(await metric('evicted_count')).toBe(0);
  expect(reserve.radius()).toBe(1);
});

test('chunks of unknown batches leave at the start', async () => {
  const { reserve, fill, worker: running, expire, metric, clock } = await worker({ capacity: 1000 });
  for (let batch = 1; batch <= 200; batch++) await fill(2, 1, batch);
  for (let batch = 1; batch <= 199; batch++) await expire(batch);
  expect(reserve.size()).toBe(200);
  running.start();
  await clock.settle();
  expect(reserve.items(2, 1n, 10).map(({ batchId }) => batchId[0])).toEqual([200]);
  expect(await metric('reserve_missing_batch')).toBe(199);
});

test('chunks of a batch that may come back stay until it is given up', async () => {
  const { reserve, given, fill, worker: running, expire, clock } = await worker({ capacity: 20 });
  running.start();
  await fill(0, 5, 1);
  await fill(0, 5, 2);
  given.awaited.add(1);
  await expire(1);
  await expire(2);
  expect(reserve.items(0, 1n, 100).map(({ batchId }) => batchId[0])).toEqual([1, 1, 1, 1, 1]);
  given.awaited.delete(1);
  await expire(1);
  expect(reserve.size()).toBe(0);
  await clock.settle();
});

test('a chunk that arrived while its batch expired leaves at the next look', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  running.start();
  await expire(1);
  await fill(0, 1, 1);
  await clock.settle();
  expect(reserve.size()).toBe(1);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(0);
});

test('a node without a radius of its own starts with the network radius, once', async () => {
  const { reserve, settled, worker: running, clock } = await worker({ minimumRadius: 1 });
  running.start();
  await clock.settle();
  expect(settled).toEqual([]);
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([4, [4]]);
  running.networkRadius(6);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([4, [4]]);
});

test('a node with a radius of its own keeps it', async () => {
  const { reserve, settled, worker: running, clock } = await worker({ minimumRadius: 1 });
  await reserve.setRadius(2);
  running.start();
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([2, [2]]);
});

test('a start radius that cannot be stored is tried again at the next look', async () => {
  const { reserve, settled, worker: running, clock } = await worker();
  const setRadius = reserve.setRadius.bind(reserve);
  let failures = 1;
  reserve.setRadius = (radius) =>
    failures-- > 0 ? Promise.reject(new Error('disk full')) : setRadius(radius);
  running.start();
  running.networkRadius(4);
  await clock.advance(WAKE_UP_MS - 1);
  expect([reserve.radius(), settled]).toEqual([0, []]);
  await clock.advance(1);
  expect(settled).toEqual([4]);
});

test('a network radius that arrives after the stop is ignored', async () => {
  const { reserve, settled, worker: running, clock } = await worker();
  running.start();
  await running.stop();
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([0, []]);
});

test('an expiry ends a hand-over, as there may be nothing left to do afterwards', async () => {
  const { reserve, handOver, fill, worker: running, expire, clock, metric } = await worker();
  handOver.before = aborted;
  await reserve.setRadius(1);
  await fill(0, 5, 2);
  await fill(0, 5, 3);
  running.start();
  await clock.settle();
  expect(handOver.asked).toEqual([1]);
  await expire(3);
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect([reserve.size(), handOver.asked]).toEqual([5, [1]]);
  expect(await metric('expired_count')).toBe(5);
  expect(await metric('evicted_count')).toBe(0);
});

test('a hand-over that an expiry ended resumes when the reserve is still full', async () => {
  const { reserve, handOver, fill, worker: running, expire, clock } = await worker();
  let sizes: number[] = [];
  handOver.before = (signal) => {
    sizes.push(reserve.size());
    return sizes.length === 1 ? aborted(signal) : Promise.resolve();
  };
  await reserve.setRadius(1);
  await fill(0, 12, 2);
  await fill(0, 5, 3);
  running.start();
  await clock.settle();
  await expire(3);
  expect([sizes, handOver.asked, reserve.size()]).toEqual([[17, 12], [8, 3], 9]);
  // An expiry that changes nothing here ends a hand-over as well, for a moment.
  sizes = [];
  await fill(0, 1, 2);
  await clock.settle();
  await expire(4);
  expect([sizes, reserve.size()]).toEqual([[10, 10], 9]);
});

test('an expiry makes a worker whose chunks no node takes try again at once', async () => {
  const { reserve, handOver, fill, worker: running, expire, clock } = await worker();
  handOver.isHeld = () => false;
  await reserve.setRadius(1);
  await fill(0, 12, 2);
  await fill(0, 1, 3);
  running.start();
  await clock.advance(60_000);
  handOver.isHeld = () => true;
  await expire(3);
  expect(reserve.size()).toBe(9);
});

test('a reserve that is less than half full reduces its radius by one per look, down to the minimum', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 10, minimumRadius: 1 });
  await reserve.setRadius(4);
  await fill(4, 5);
  running.start();
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(4);
  await reserve.setRadius(5);
  await clock.advance(WAKE_UP_MS - 1);
  expect(reserve.radius()).toBe(5);
  await clock.advance(1);
  expect(reserve.radius()).toBe(4);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(4);
});

test('with nothing within the radius it shrinks to the minimum and no further', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 10, minimumRadius: 1 });
  await reserve.setRadius(3);
  await fill(0, 4);
  running.start();
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
  await clock.advance(5 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(1);
});

test('the radius does not shrink while chunks arrive from peers', async () => {
  const { reserve, given, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  given.pullRate = 0.001;
  running.start();
  await clock.advance(3 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  given.pullRate = 0;
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test('the radius does not shrink while what it leaves out would fill the reserve again', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  await reserve.setRadius(3);
  await fill(2, 7, 1);
  await fill(2, 1, 2);
  running.start();
  await clock.advance(3 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  await expire(2);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test.each([12, 15, 100])(
  'a reserve of %i chunks does not shrink its radius because of the room that its growth has made',
  async (capacity) => {
    const { reserve, fill, worker: running, clock } = await worker({ capacity });
    running.start();
    const own = Math.floor(capacity * 0.4);
    await fill(1, own);
    await fill(0, capacity - own);
    await clock.advance(3 * WAKE_UP_MS);
    expect([reserve.radius(), counts(reserve, 2)[1]]).toEqual([1, own]);
  },
);

test('a node takes over the adjacent neighbourhood at the third look that finds no node there', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  await fill(3, 6);
  running.start();
  await connect([0, 1, 3]);
  await clock.advance(2 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
  await clock.advance(5 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test('looks that find the adjacent neighbourhood empty count from the last one that found a node', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  await fill(3, 6);
  running.start();
  await connect([0, 1]);
  await clock.advance(2 * WAKE_UP_MS);
  await connect([0, 1, 2]);
  await clock.advance(WAKE_UP_MS);
  await connect([0, 1]);
  await clock.advance(2 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test('a node without room takes over no neighbourhood', async () => {
  const { reserve, handOver, fill, connect, worker: running, clock } = await worker();
  handOver.isHeld = () => false;
  await reserve.setRadius(3);
  await fill(2, 4);
  await fill(3, 6);
  running.start();
  await connect([0, 1]);
  await clock.advance(5 * WAKE_UP_MS);
  expect([reserve.radius(), counts(reserve)]).toEqual([3, [0, 0, 4, 6]]);
});

test('a node that has lost all its peers takes over no neighbourhood', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  await fill(3, 6);
  running.start();
  await connect([]);
  await clock.advance(5 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
});

test('a chunk that the cache or an upload also holds outlives its place in the reserve', async () => {
  const { store, reserve, worker: running, expire } = await worker();
  const [cached, uploaded, lost] = [0, 1, 2].map((n) => chunkAt(addressIn(1, n)));
  store.cache.put(cached!);
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  await session.put(uploaded!, stamp({ index: 9 }));
  await session.done();
  for (const [n, chunk] of [cached!, uploaded!, lost!].entries())
    await reserve.put(chunk, stamp({ index: n }));
  running.start();
  await expire(1);
  expect(reserve.size()).toBe(0);
  expect([cached, uploaded, lost].map((chunk) => store.chunks.has(chunk!.address))).toEqual([
    true,
    true,
    false,
  ]);
  expect(store.uploads.pending(0, 10)).toHaveLength(1);
});

test('a stopped worker leaves the rest to its successor', async () => {
  const { reserve, fill, worker: running, expire, listeners, clock } = await worker({ capacity: 10_000 });
  running.start();
  await fill(0, 5000, 1);
  const expiring = expire(1);
  await running.stop();
  await expiring;
  const left = reserve.size();
  expect(left).toBeGreaterThan(0);
  expect([listeners.listeners.size, listeners.topologyListeners.size]).toEqual([0, 0]);
  await fill(0, 1, 1);
  await clock.advance(2 * WAKE_UP_MS);
  expect(reserve.size()).toBe(left + 1);
});

test('stopping ends a hand-over and leaves no timer', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.before = aborted;
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.settle();
  expect(handOver.asked).toEqual([1]);
  await running.stop();
  expect(clock.running).toBe(0);
});

test('chunks of an expired batch that cannot be taken out leave at the next look', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  const evict = reserve.evictBatch.bind(reserve);
  let failures = 1;
  reserve.evictBatch = (id) => (failures-- > 0 ? Promise.reject(new Error('disk full')) : evict(id));
  running.start();
  await fill(0, 3, 1);
  await expire(1);
  expect(reserve.size()).toBe(3);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(0);
});

test('a hand-over that the disk refuses is tried again, even if nothing else happens', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  let failures = 1;
  handOver.before = async () => {
    if (failures-- > 0) throw new Error('disk full');
  };
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(9);
});
