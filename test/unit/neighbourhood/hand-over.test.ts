import { expect, test } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { stampHash } from '../../../formats/chunk/stamp.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createHandOver } from '../../../node/neighbourhood/hand-over.ts';
import { type Peer, StreamError } from '../../../node/p2p/host.ts';
import type { Batch } from '../../../node/postage/ports.ts';
import type { Cursors, Listed } from '../../../node/protocols/pullsync/pullsync.ts';
import { PAGE_SIZE } from '../../../node/protocols/pullsync/rules.ts';
import type { PushResult } from '../../../node/protocols/pushsync/pushsync.ts';
import { NoRoomError, PushsyncError } from '../../../node/protocols/pushsync/rules.ts';
import type { StatusSnapshot } from '../../../node/protocols/status/status.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import type { Reserve, ReserveEntry } from '../../../node/store/ports.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { addressIn, chunkAt, OVERLAY, stamp } from '../store/stores.ts';

/** Fewer entries of a bin than this are pushed without a comparison. */
const COMPARED_MIN = 32;
const PAGE_MS = 5_000;
const BINS = 32;

/** A peer that lists what it was given, under bin ids from 1. */
class Remote {
  readonly peer: Peer;
  radius = 0;
  epoch = 1n;
  /** `bin:start` of every page asked for. */
  readonly asked: string[] = [];
  /** Replaces the answer to a request. */
  answer: ((bin: number, start: bigint, signal: AbortSignal) => Promise<Listed> | undefined) | undefined;
  greet: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  #bins: ReserveEntry[][] = Array.from({ length: BINS }, () => []);

  /** @param bin of the peer, as seen from the overlay of the tests @param shared bits that it shares with chunks of that bin */
  constructor(bin: number, shared: number, number = 1) {
    const overlay = addressIn(bin, number);
    overlay[shared >> 3]! |= 0x80 >> (shared & 7);
    this.peer = { overlayHex: toHex(overlay), overlay } as Peer;
  }

  holds(entries: readonly ReserveEntry[]): void {
    for (const entry of entries) this.#bins[proximityOrder(this.peer.overlay, entry.address)]!.push(entry);
  }

  forget(): void {
    this.#bins = this.#bins.map(() => []);
  }

  cursors(): Cursors {
    return { cursors: this.#bins.map(({ length }) => BigInt(length)), epoch: this.epoch };
  }

  async list(bin: number, start: bigint, signal: AbortSignal): Promise<Listed> {
    this.asked.push(`${bin}:${start}`);
    const special = this.answer?.(bin, start, signal);
    if (special !== undefined) return await special;
    const from = Number(start) - 1;
    const entries = this.#bins[bin]!.slice(from, from + PAGE_SIZE);
    return entries.length === 0 ? await never(signal) : { entries, topmost: BigInt(from + entries.length) };
  }

  /** Takes what was asked since the last time. */
  take(): string[] {
    return this.asked.splice(0);
  }
}

function never<T>(signal: AbortSignal): Promise<T> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

function synced(storerPO: number): PushResult {
  return { outcome: 'synced', receipt: {} as never, storerPO };
}

async function setup({ radius = 1 } = {}) {
  const clock = new ManualClock();
  const log = silentLogger();
  const metrics = createMetrics({ prefix: 'svc' });
  const { reserve } = await createMemoryStore(
    { cacheCapacity: 0, reserveCapacity: 1000, radius },
    { clock, log, overlay: OVERLAY },
  );
  let remotes: readonly Remote[] = [];
  const given = { immutable: false };
  const of = (peer: Peer) => {
    const found = remotes.find((one) => one.peer === peer);
    if (found === undefined) throw new StreamError('PEER_NOT_FOUND', 'not connected');
    return found;
  };
  /** What is pushed, and what becomes of it: without an answer no node takes anything. */
  const pushes = {
    addresses: [] as Uint8Array[],
    answer: (_address: Uint8Array, _signal: AbortSignal): Promise<PushResult> =>
      Promise.reject(new NoRoomError('1')),
  };
  const handOver = createHandOver({
    overlay: OVERLAY,
    topology: { peers: () => remotes.map(({ peer }) => peer) },
    status: {
      async request(peer, signal) {
        await of(peer).greet(signal);
        return { storageRadius: of(peer).radius } as StatusSnapshot;
      },
    },
    pullsync: {
      cursors: async (peer) => of(peer).cursors(),
      list: (peer, bin, start, signal) => of(peer).list(bin, start, signal),
    },
    pushsync: {
      push({ address }, _stamp, { signal }) {
        pushes.addresses.push(address);
        return pushes.answer(address, signal);
      },
    },
    batches: { get: () => ({ immutable: given.immutable }) as Batch },
    reserve,
    clock,
    log,
    metrics,
  });
  let index = 0;
  /** Puts chunks of a bin here. */
  const fill = async (bin: number, count: number): Promise<ReserveEntry[]> => {
    const entries: ReserveEntry[] = [];
    for (let n = 0; n < count; n++, index++) {
      const [chunk, stamped] = [chunkAt(addressIn(bin, index)), stamp({ index })];
      await reserve.put(chunk, stamped);
      entries.push({ address: chunk.address, batchId: stamped.batchId, stampHash: stampHash(stamped) });
    }
    return entries;
  };
  return {
    clock,
    reserve,
    handOver,
    given,
    pushes,
    fill,
    connect: (...connected: Remote[]) => {
      remotes = connected;
    },
    release: (count: number, signal = new AbortController().signal) => handOver.release(count, signal),
    metric: async (name: string) =>
      Number(new RegExp(`^svc_localstore_${name} (\\S+)$`, 'm').exec(await metrics.expose())?.[1] ?? 0),
  };
}

/** Entries per bin, the first bins. */
function counts(reserve: Reserve, bins = 3): number[] {
  return Array.from({ length: bins }, (_, bin) => reserve.items(bin, 1n, 10_000).length);
}

// ── compare ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('an entry leaves when two peers of its neighbourhood hold it', async () => {
  const { reserve, fill, connect, release, pushes, metric } = await setup();
  const entries = await fill(0, 60);
  const [first, second, third] = [new Remote(0, 4), new Remote(0, 5), new Remote(0, 6)];
  first.holds(entries.slice(0, 40));
  second.holds(entries.slice(20, 60));
  third.holds(entries.slice(0, 10));
  connect(first, second, third);
  expect(await release(60)).toBe(30);
  const isHere = entries.map(({ address, batchId, stampHash }) => reserve.has(address, batchId, stampHash));
  expect(isHere).toEqual(entries.map((_, n) => (n >= 10 && n < 20) || n >= 40));
  expect(pushes.addresses).toEqual([]);
  expect(await metric('handed_over_count\\{how="held"\\}')).toBe(30);
});

test('in a neighbourhood with a single peer, an entry that this peer holds leaves', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries.slice(0, 35));
  connect(only);
  expect(await release(40)).toBe(35);
  expect(reserve.size()).toBe(5);
});

test('what the disk did not let go has not left, and leaves once it does', async () => {
  const { reserve, fill, connect, release, metric } = await setup();
  const entries = await fill(0, 40);
  const [first, second] = [new Remote(0, 4), new Remote(0, 5)];
  for (const remote of [first, second]) remote.holds(entries);
  connect(first, second);
  const taken = reserve.release.bind(reserve);
  reserve.release = () => Promise.reject(new Error('EROFS: Read-only file system'));
  expect(await release(40)).toBe(0);
  expect(await metric('handed_over_count\\{how="held"\\}')).toBe(0);
  reserve.release = taken;
  expect(await release(40)).toBe(40);
  expect(reserve.size()).toBe(0);
});

test('without a peer in its neighbourhood an entry stays', async () => {
  const { reserve, fill, connect, release } = await setup({ radius: 2 });
  const entries = await fill(0, 40);
  const [beside, deeper] = [new Remote(1, 4), new Remote(5, 6)];
  for (const remote of [beside, deeper]) remote.holds(entries);
  connect(beside, deeper);
  expect(await release(40)).toBe(0);
  expect([reserve.size(), beside.asked, deeper.asked]).toEqual([40, [], []]);
});

test('a peer counts only for what lies within its own radius, and is asked for nothing else', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries);
  only.radius = 5;
  connect(only);
  expect([await release(40), only.take()]).toEqual([0, []]);
  only.radius = 4;
  expect([await release(40), only.take()]).toEqual([40, ['4:1']]);
  expect(reserve.size()).toBe(0);
});

test('a peer is asked for no bin that is too shallow for the chunks of its neighbourhood', async () => {
  const { fill, connect, release } = await setup({ radius: 3 });
  const entries = await fill(2, 40);
  const only = new Remote(2, 3);
  only.holds([...entries, ...(await fill(0, 1)), ...(await fill(1, 1)), ...(await fill(5, 1))]);
  connect(only);
  await release(100);
  expect(only.take()).toEqual(['3:1']);
});

test('an entry listed in a wrong bin, under another stamp or within the own radius does not leave', async () => {
  const { reserve, fill, connect, release } = await setup({ radius: 2 });
  const [other, beside, own] = [await fill(0, 40), await fill(1, 40), await fill(2, 40)];
  const restamped = beside.map((entry) => ({ ...entry, stampHash: new Uint8Array(32).fill(7) }));
  const only = new Remote(1, 4);
  only.answer = async (bin, start) =>
    bin === 4 && start === 1n
      ? { entries: [...other, ...own, ...restamped, beside[0]!], topmost: 1000n }
      : { entries: [], topmost: 0n };
  only.holds(beside);
  connect(only);
  expect(await release(200)).toBe(1);
  expect(counts(reserve)).toEqual([40, 39, 40]);
});

test('the bin that was left out last time goes first, and the others stay when that is enough', async () => {
  const { reserve, fill, connect, release } = await setup({ radius: 2 });
  const [shallow, deep] = [new Remote(0, 4), new Remote(1, 4)];
  shallow.holds(await fill(0, 40));
  deep.holds(await fill(1, 40));
  connect(shallow, deep);
  expect(await release(30)).toBe(30);
  expect([counts(reserve), shallow.take()]).toEqual([[40, 10, 0], []]);
  expect(await release(30)).toBe(30);
  expect(counts(reserve)).toEqual([10, 10, 0]);
});

test('no further page is requested when enough has left', async () => {
  const { fill, connect, release } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, 3 * PAGE_SIZE));
  connect(only);
  expect([await release(PAGE_SIZE + 1), only.take()]).toEqual([PAGE_SIZE + 1, ['4:1', '4:251']]);
});

test('the slow end of a list is requested when its full pages were not enough', async () => {
  const { fill, connect, release } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, PAGE_SIZE + 40));
  connect(only);
  expect([await release(PAGE_SIZE), only.take()]).toEqual([PAGE_SIZE, ['4:1']]);
  expect([await release(1), only.take()]).toEqual([1, ['4:251']]);
});

test('a list that was compared is not requested again, only what has been added since', async () => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 100);
  const only = new Remote(0, 4);
  only.holds(entries.slice(0, 60));
  connect(only);
  expect([await release(100), only.take()]).toEqual([60, ['4:1']]);
  expect([await release(100), only.take()]).toEqual([0, []]);
  only.holds(entries.slice(60, 70));
  expect([await release(100), only.take()]).toEqual([10, ['4:61']]);
});

test('a second holder counts even when it is seen later than the first', async () => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const [early, late] = [new Remote(0, 4), new Remote(0, 5)];
  early.holds(entries);
  connect(early, late);
  expect(await release(40)).toBe(0);
  late.holds(entries);
  expect(await release(40)).toBe(40);
});

test('a peer that lists an entry twice counts as one holder', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const [twice, other] = [new Remote(0, 4), new Remote(0, 5)];
  twice.holds([...entries, ...entries]);
  connect(twice, other);
  expect(await release(40)).toBe(0);
  twice.holds(entries);
  expect([await release(40), reserve.size()]).toEqual([0, 40]);
});

test('a list that names an entry twice does not affect other stamps of its chunk', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const { address, batchId } = entries[0]!;
  const other = stamp({ index: 900 });
  await reserve.put(chunkAt(address), other);
  const only = new Remote(0, 4);
  only.holds([entries[0]!, entries[0]!, entries[0]!]);
  connect(only);
  expect([await release(40), reserve.size()]).toEqual([1, 40]);
  expect(reserve.load(address, batchId, stampHash(other))?.chunk.address).toEqual(address);
});

test('a peer whose bin ids have restarted is compared from the beginning', async () => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 60);
  const only = new Remote(0, 4);
  only.holds(entries.slice(0, 20));
  connect(only);
  expect([await release(60), only.take()]).toEqual([20, ['4:1']]);
  only.forget();
  only.epoch = 2n;
  only.holds(entries.slice(0, 40));
  expect([await release(60), only.take()]).toEqual([20, ['4:1']]);
});

test('after a change of radius lists are compared from the beginning', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries);
  connect(only);
  expect(await release(40)).toBe(40);
  // The same chunks come here once more while they are within the radius.
  await reserve.setRadius(0);
  for (const [index, { address }] of entries.entries()) await reserve.put(chunkAt(address), stamp({ index }));
  await reserve.setRadius(1);
  only.take();
  expect([await release(40), only.take()]).toEqual([40, ['4:1']]);
});

test('a page that takes longer than five seconds is left for the next time, together with its bin', async () => {
  const { clock, fill, connect, release } = await setup();
  const entries = await fill(0, 2 * PAGE_SIZE);
  const only = new Remote(0, 4);
  only.holds(entries);
  only.answer = (_bin, start, signal) => (start > 1n ? never(signal) : undefined);
  connect(only);
  let released: number | undefined;
  const releasing = release(1000).then((count) => {
    released = count;
    return undefined;
  });
  await clock.advance(2 * PAGE_MS - 1);
  expect(released).toBeUndefined();
  await clock.advance(1);
  await releasing;
  // Once for the full pages, once for the end of the list.
  expect([released, only.take()]).toEqual([PAGE_SIZE, ['4:1', '4:251', '4:251']]);
  only.answer = undefined;
  expect([await release(1000), only.take()]).toEqual([PAGE_SIZE, ['4:251']]);
  expect(clock.running).toBe(0);
});

test.each([
  ['does not tell its radius', (remote: Remote) => void (remote.greet = () => Promise.reject(gone()))],
  ['breaks off', (remote: Remote) => void (remote.answer = () => Promise.reject(gone()))],
])('a peer that %s does not keep others from being compared', async (_, spoil) => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const [bad, good, better] = [new Remote(0, 4), new Remote(0, 5), new Remote(0, 6)];
  for (const remote of [bad, good, better]) remote.holds(entries);
  spoil(bad);
  connect(bad, good, better);
  expect(await release(40)).toBe(40);
});

function gone(): Error {
  return new StreamError('STREAM_RESET', 'gone');
}

test('a peer whose list never ends does not keep the hand-over from ending', async () => {
  const { clock, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const endless = new Remote(0, 4);
  endless.cursors = () => ({ cursors: Array.from({ length: BINS }, () => 2n ** 64n - 1n), epoch: 1n });
  endless.answer = async (_bin, start, signal) => {
    await clock.sleep(1_000, signal);
    return { entries: [{ ...entries[0]!, stampHash: new Uint8Array(32) }], topmost: start };
  };
  connect(endless);
  let isOver = false;
  const ending = new AbortController();
  const releasing = release(40, ending.signal).finally(() => {
    isOver = true;
  });
  await clock.advance(300_000);
  const wasOver = isOver;
  ending.abort();
  await releasing;
  expect(wasOver, 'over after five minutes').toBe(true);
});

test('the signal ends a comparison at once', async () => {
  const { clock, reserve, fill, connect, release, pushes } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries);
  only.answer = (_bin, _start, signal) => never(signal);
  connect(only);
  const ending = new AbortController();
  const releasing = release(40, ending.signal);
  await clock.settle();
  ending.abort();
  expect(await releasing).toBe(0);
  expect([reserve.size(), pushes.addresses, clock.running]).toEqual([40, [], 0]);
});

test('no peer is asked after the signal', async () => {
  const { fill, connect, release, pushes } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, 40));
  connect(only);
  expect([await release(40, AbortSignal.abort()), only.take(), pushes.addresses]).toEqual([0, [], []]);
});

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
  // One run finds that all have been tried, the next one starts again.
  for (let run = 0; run < 2; run++) await release(5);
  expect([reserve.size(), handOver.refusal]).toEqual([0, undefined]);
});

test('sixteen failures in a row end a run', async () => {
  const { fill, release, pushes } = await setup();
  await fill(0, 31);
  expect(await release(31)).toBe(0);
  // Those that were under way when the sixteenth failed come on top.
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
