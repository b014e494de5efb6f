import { describe, expect, test } from 'vitest';
import { TimeoutError } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createPuller, type Puller } from '../../../node/neighbourhood/puller.ts';
import { type Peer, StreamError } from '../../../node/p2p/host.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import type {
  BinRange,
  Changed,
  Cursors,
  Pulled,
  Pullsync,
} from '../../../node/protocols/pullsync/pullsync.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import { memoryRecords } from '../p2p/memory-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { fakePeer } from '../topology/fake-peer.ts';

const OWN = new Uint8Array(32);
const MINUTE_MS = 60_000;
const MAX = 2n ** 64n - 1n;

/** An overlay with so many leading bits in common with ours, which is all zeros. */
function overlayAt(po: number, n = 1): Uint8Array {
  const overlay = new Uint8Array(32).fill(n, 8);
  overlay[po >> 3] = 0x80 >> (po & 7);
  return overlay;
}

/** A peer and what it answers. */
class Remote {
  readonly overlay: Uint8Array;
  readonly id: string;
  readonly lastIds = new Map<number, bigint>();
  epoch = 1n;
  /** It waits until it has something new, as our own nodes do; else it answers at once, as those of the public network. */
  tells = false;
  pageSize = 10n;
  cursorsAsked = 0;
  /** `bin:start` of every page asked for. */
  readonly asked: string[] = [];
  /** Replaces the answer of one page. */
  answer:
    | ((bin: number, start: bigint, signal: AbortSignal, offerMs?: number) => Promise<Pulled> | undefined)
    | undefined;
  greet: () => Promise<void> = async () => undefined;
  session: { peer: Peer; controller: AbortController } | undefined;
  #waiting: (() => void)[] = [];

  constructor(po: number, bins: Record<number, bigint> = {}, n = 1) {
    this.overlay = overlayAt(po, n);
    this.id = toHex(this.overlay);
    for (const [bin, last] of Object.entries(bins)) this.lastIds.set(Number(bin), last);
  }

  async changes({ from, to }: BinRange, known: Cursors | undefined, signal: AbortSignal): Promise<Changed> {
    this.cursorsAsked++;
    for (;;) {
      await this.greet();
      signal.throwIfAborted();
      const cursors = Array.from({ length: 32 }, (_, bin) => this.lastIds.get(bin) ?? 0n);
      const moved = cursors.some((cursor, bin) => bin >= from && bin <= to && cursor !== known?.cursors[bin]);
      if (!this.tells || moved || this.epoch !== known?.epoch) {
        return { cursors, epoch: this.epoch, longPolls: this.tells };
      }
      await this.#change(signal);
    }
  }

  async #change(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
  }

  async sync(bin: number, start: bigint, signal: AbortSignal, offerMs?: number): Promise<Pulled> {
    this.asked.push(`${bin}:${start}`);
    const special = this.answer?.(bin, start, signal, offerMs);
    if (special !== undefined) return await special;
    for (;;) {
      signal.throwIfAborted();
      const last = this.lastIds.get(bin) ?? 0n;
      if (last >= start) {
        const topmost = last < start + this.pageSize - 1n ? last : start + this.pageSize - 1n;
        return { topmost, count: Number(topmost - start + 1n), errors: [] };
      }
      await this.#change(signal);
    }
  }

  grow(bin: number, last: bigint): void {
    this.lastIds.set(bin, last);
    this.wake();
  }

  /** Those that wait look again. */
  wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Takes what was asked since the last time. */
  take(): string[] {
    return this.asked.splice(0).sort();
  }
}

interface Setup {
  readonly radius?: number;
  readonly state?: KeyValueStore;
  readonly clock?: ManualClock;
  readonly started?: boolean;
  readonly rateWindowMs?: number;
  /** The node was started with records of all peers. */
  readonly given?: boolean;
  /** Overlays without a record in the address book. */
  readonly strangers?: readonly string[];
}

function setup({ radius = 0, state = memoryRecords(), clock = new ManualClock(), ...options }: Setup = {}) {
  const remotes = new Map<string, Remote>();
  const metrics = createMetrics({ prefix: 'svc' });
  const connected: ((peer: Peer) => void)[] = [];
  const disconnected: ((peer: Peer, reason: string) => void)[] = [];
  const radiusListeners = new Set<(radius: number, before: number) => void>();
  let current = radius;
  const of = (peer: Peer): Remote => {
    const remote = remotes.get(peer.overlayHex);
    if (remote?.session?.peer !== peer) throw new StreamError('PEER_NOT_FOUND', 'not connected');
    return remote;
  };
  const pullsync: Pullsync = {
    cursors: () => Promise.reject(new Error('the puller asks for changes')),
    changes: async (peer, bins, known, signal) => await of(peer).changes(bins, known, signal),
    sync: async (peer, bin, start, signal, offerMs) => await of(peer).sync(bin, start, signal, offerMs),
    list: () => Promise.reject(new Error('the puller never asks for a list')),
  };
  const puller: Puller = createPuller(
    { rateWindowMs: options.rateWindowMs ?? 900_000 },
    {
      host: {
        overlay: OWN,
        onConnected: (listener) => void connected.push(listener),
        onDisconnected: (listener) => void disconnected.push(listener),
      },
      topology: {
        peers: () =>
          [...remotes.values()]
            .flatMap(({ session }) => session?.peer ?? [])
            .filter(({ fullNode }) => fullNode),
      },
      isGiven: () => options.given === true,
      isKnown: (id) => options.strangers?.includes(id) !== true,
      pullsync,
      reserve: {
        radius: () => current,
        onRadius(listener) {
          radiusListeners.add(listener);
          return () => radiusListeners.delete(listener);
        },
      },
      state,
      clock,
      log: silentLogger(),
      metrics,
    },
  );
  if (options.started !== false) puller.start();
  return {
    puller,
    clock,
    state,
    connect: (remote: Remote, { fullNode = true } = {}) => {
      const controller = new AbortController();
      const peer = fakePeer(remote.overlay, { overlayHex: remote.id, fullNode, closed: controller.signal });
      remote.session = { peer, controller };
      remotes.set(remote.id, remote);
      for (const listener of connected) listener(peer);
      return clock.settle();
    },
    disconnect: (remote: Remote) => {
      const { session } = remote;
      remote.session = undefined;
      session!.controller.abort(new StreamError('STREAM_RESET', 'gone'));
      for (const listener of disconnected) listener(session!.peer, 'gone');
      return clock.settle();
    },
    setRadius: async (to: number) => {
      const before = current;
      current = to;
      for (const listener of radiusListeners) listener(to, before);
      await clock.settle();
    },
    metric: async (name: string) => {
      return Number(new RegExp(`^svc_${name} (\\S+)$`, 'm').exec(await metrics.expose())?.[1]);
    },
  };
}

function bins(from: number, to = 31, start = 1): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => `${from + i}:${start}`).sort();
}

test('a neighbour is asked for all bins from the radius on', async () => {
  const { connect } = setup({ radius: 3 });
  const remote = new Remote(3);
  await connect(remote);
  expect(remote.take()).toEqual(bins(3));
});

test('old and new entries are pulled at the same time', async () => {
  const { connect, clock } = setup({ radius: 30 });
  const remote = new Remote(31, { 30: 25n });
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['30:1', '30:11', '30:21', '30:26', '31:1']);
  remote.grow(30, 27n);
  await clock.settle();
  expect(remote.take()).toEqual(['30:28']);
});

test.each([
  [5, 5],
  [4, 4],
])('of a peer at %i, outside of radius 6, only bin %i is pulled', async (po, bin) => {
  const { connect } = setup({ radius: 6 });
  const remote = new Remote(po);
  await connect(remote);
  expect(remote.take()).toEqual([`${bin}:1`]);
});

test('a peer farther outside, and a light one, is not even asked for cursors', async () => {
  const { connect, clock } = setup({ radius: 6 });
  const [far, light] = [new Remote(3, { 3: 5n }), new Remote(7)];
  await connect(far);
  await connect(light, { fullNode: false });
  await clock.advance(10 * MINUTE_MS);
  expect([far.cursorsAsked, light.cursorsAsked]).toEqual([0, 0]);
});

test('nothing is pulled before the start; peers that connected earlier are pulled then', async () => {
  const { connect, puller, clock } = setup({ radius: 31, started: false });
  const remote = new Remote(31);
  await connect(remote);
  expect(remote.take()).toEqual([]);
  puller.start();
  await clock.settle();
  expect(remote.take()).toEqual(['31:1']);
});

test('a peer that was disconnected before the puller heard of it is left alone', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  const connecting = connect(remote);
  remote.session!.controller.abort();
  await connecting;
  await clock.advance(MINUTE_MS);
  expect(remote.asked.length).toBeLessThanOrEqual(1);
});

test('cursors are asked for once per connection', async () => {
  const { connect, disconnect, setRadius, clock } = setup({ radius: 1 });
  const remote = new Remote(31);
  await connect(remote);
  await setRadius(2);
  await setRadius(1);
  await connect(new Remote(30));
  await clock.advance(20 * MINUTE_MS);
  expect(remote.cursorsAsked).toBe(1);
  await disconnect(remote);
  await connect(remote);
  expect(remote.cursorsAsked).toBe(2);
});

test('a peer that does not send its cursors holds up no other peer', async () => {
  const { connect } = setup({ radius: 31 });
  const [stuck, remote] = [new Remote(31, {}, 1), new Remote(31, {}, 2)];
  stuck.greet = () => new Promise(() => undefined);
  await connect(stuck);
  await connect(remote);
  expect(remote.take()).toEqual(['31:1']);
});

test('a peer that refuses its cursors is asked again at growing intervals', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.greet = () => Promise.reject(new StreamError('STREAM_RESET', 'no'));
  await connect(remote);
  await clock.advance(499);
  expect(remote.cursorsAsked).toBe(1);
  await clock.advance(1);
  expect(remote.cursorsAsked).toBe(2);
  await clock.advance(1000);
  expect(remote.cursorsAsked).toBe(3);
  remote.greet = async () => undefined;
  await clock.advance(2000);
  expect(remote.take()).toEqual(['31:1']);
});

test('pulling resumes after a restart where it stopped', async () => {
  const { connect, state, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 35n });
  remote.answer = (_bin, start) => (start >= 21n ? new Promise(() => undefined) : undefined);
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1', '31:11', '31:21', '31:36']);

  const again = setup({ radius: 31, state });
  remote.answer = undefined;
  remote.lastIds.set(31, 40n);
  await again.connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:21', '31:31', '31:41']);
});

test('with a thousand peers nothing is kept of a stranger that has left, unlike of one that is there or in the address book', async () => {
  const [gone, here, known] = [1, 2, 3].map((n) => new Remote(31, { 31: 5n }, n)) as [Remote, Remote, Remote];
  const { connect, disconnect, clock, state } = setup({ radius: 31, strangers: [gone.id, here.id] });
  for (const remote of [gone, here, known]) await connect(remote);
  for (const remote of [gone, known]) await disconnect(remote);
  const kept = () =>
    [gone, here, known].map(({ id }) => [...state.entries('')].some(([key]) => key.includes(id)));
  await clock.advance(10 * MINUTE_MS);
  expect(kept()).toEqual([true, true, true]);
  for (let n = 3; n < 1_000; n++) await state.put(`epoch/${n}`, Uint8Array.of(1));
  await clock.advance(10 * MINUTE_MS);
  expect(kept()).toEqual([false, true, true]);
});

test('a gap between old and new entries that a restart left is closed', async () => {
  const { connect, state, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 20n });
  remote.answer = (_bin, start) => (start === 11n ? new Promise(() => undefined) : undefined);
  await connect(remote);
  remote.grow(31, 25n);
  await clock.settle();
  remote.take();
  remote.answer = undefined;
  await setup({ radius: 31, state }).connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:11', '31:26']);
});

test('unreadable records cost a second look at everything', async () => {
  const state = memoryRecords();
  await state.put(`interval/${new Remote(31).id}/31`, Buffer.from('nonsense'));
  await state.put(`epoch/${new Remote(31).id}`, Buffer.from('1'));
  const { connect, clock } = setup({ radius: 31, state });
  const remote = new Remote(31, { 31: 5n });
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1', '31:6']);
});

test('a peer with a new epoch is pulled from the beginning, others are not', async () => {
  const { connect, disconnect, clock } = setup({ radius: 31 });
  const [renewed, same] = [new Remote(31, { 31: 5n }, 1), new Remote(31, { 31: 5n }, 2)];
  for (const remote of [renewed, same]) await connect(remote);
  await clock.settle();
  for (const remote of [renewed, same]) {
    remote.take();
    await disconnect(remote);
  }
  renewed.epoch = 2n;
  for (const remote of [renewed, same]) await connect(remote);
  await clock.settle();
  expect(renewed.take()).toEqual(['31:1', '31:6']);
  expect(same.take()).toEqual(['31:6']);
});

test('the work for a peer ends with its connection', async () => {
  const { connect, disconnect, metric } = setup({ radius: 28 });
  const remote = new Remote(31);
  await connect(remote);
  expect(await metric('puller_worker')).toBe(4);
  await disconnect(remote);
  expect(await metric('puller_worker')).toBe(0);
});

test('the next session of a peer begins when the work of the last one has ended', async () => {
  const { connect, disconnect, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 5n });
  const storing = Promise.withResolvers<Pulled>();
  remote.answer = () => storing.promise;
  await connect(remote);
  await disconnect(remote);
  remote.take();
  await connect(remote);
  await clock.advance(MINUTE_MS);
  expect([remote.cursorsAsked, remote.take()]).toEqual([1, []]);
  remote.answer = undefined;
  storing.resolve({ topmost: 5n, count: 5, errors: [] });
  await clock.settle();
  expect([remote.cursorsAsked, remote.take()]).toEqual([2, ['31:6']]);
});

test('a larger radius ends the work on the bins below it, and keeps the progress', async () => {
  const { connect, setRadius, metric, clock } = setup({ radius: 28 });
  const remote = new Remote(31, { 28: 5n, 31: 5n });
  await connect(remote);
  await clock.settle();
  remote.take();
  await setRadius(31);
  expect(await metric('puller_worker')).toBe(1);
  expect(remote.take()).toEqual([]);
});

test('a larger radius turns a neighbour into a peer outside the radius, and then drops it', async () => {
  const { connect, setRadius, metric } = setup({ radius: 4 });
  const remote = new Remote(5);
  await connect(remote);
  expect(await metric('puller_worker')).toBe(28);
  await setRadius(7);
  expect(await metric('puller_worker')).toBe(1);
  await setRadius(8);
  expect(await metric('puller_worker')).toBe(0);
});

test('with a smaller radius neighbours offer the bins below the old one again, other peers offer everything', async () => {
  const { connect, setRadius, clock } = setup({ radius: 4 });
  const neighbour = new Remote(31, { 3: 5n, 4: 5n, 5: 5n });
  const outside = new Remote(3, { 3: 5n, 4: 5n, 5: 5n });
  for (const remote of [neighbour, outside]) await connect(remote);
  await clock.settle();
  expect(neighbour.take()).toEqual(
    [...bins(4).filter((one) => !/^[45]:/.test(one)), '4:1', '4:6', '5:1', '5:6'].sort(),
  );
  expect(outside.take()).toEqual(['3:1', '3:6']);
  await setRadius(3);
  await clock.settle();
  expect(neighbour.take()).toEqual([...bins(6), '3:1', '3:6', '4:6', '5:6'].sort());
  expect(outside.take()).toEqual([...bins(6), '3:1', '3:6', '4:1', '4:6', '5:1', '5:6'].sort());
});

test('a radius that shrank before a crash is noticed afterwards', async () => {
  const state = memoryRecords();
  const first = setup({ radius: 31, state });
  const remote = new Remote(30, { 30: 5n });
  await first.connect(remote);
  await first.clock.settle();
  remote.take();
  const second = setup({ radius: 30, state });
  await second.connect(remote);
  await second.clock.settle();
  expect(remote.take()).toEqual(['30:1', '30:6', '31:1']);
  const third = setup({ radius: 30, state });
  await third.connect(remote);
  await third.clock.settle();
  expect(remote.take()).toEqual(['30:6', '31:1']);
});

test('a failed page is requested again at growing intervals, at least once a minute', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.answer = () => Promise.reject(new Error('disk full'));
  await connect(remote);
  const counts = [];
  for (const ms of [499, 1, 999, 1, 2000, 4000]) {
    await clock.advance(ms);
    counts.push(remote.asked.length);
  }
  expect(counts).toEqual([1, 2, 2, 3, 4, 5]);
  await clock.advance(5 * MINUTE_MS);
  remote.take();
  await clock.advance(10 * MINUTE_MS);
  expect(remote.take()).toEqual(Array.from({ length: 10 }, () => '31:1'));
  expect(await metric('puller_worker_errors')).toBeGreaterThan(10);
});

test('a success resets the pauses', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  let failures = 3;
  remote.answer = () => (failures-- > 0 ? Promise.reject(new Error('no')) : undefined);
  await connect(remote);
  await clock.advance(500 + 1000 + 2000);
  expect(remote.take()).toEqual(['31:1', '31:1', '31:1', '31:1']);
  failures = 1;
  remote.grow(31, 5n);
  await clock.advance(499);
  expect(remote.take()).toEqual(['31:6']);
  await clock.advance(1);
  expect(remote.take()).toEqual(['31:6']);
});

test('a peer that returns an empty page at once is not asked again at once', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.answer = async () => ({ topmost: 0n, count: 0, errors: [] });
  await connect(remote);
  await clock.advance(1400);
  expect(remote.asked).toHaveLength(2);
});

test('a peer is slowed down when all its chunks are refused, but not when only some are', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const [bad, mixed] = [new Remote(31, { 31: 100n }, 1), new Remote(31, { 31: 100n }, 2)];
  const page = (count: number) => async (_bin: number, start: bigint) => ({
    topmost: start + 9n,
    count,
    errors: [new Error('invalid')],
  });
  bad.answer = (bin, start) => (start <= 100n ? page(0)(bin, start) : undefined);
  mixed.answer = (bin, start) => (start <= 100n ? page(1)(bin, start) : undefined);
  for (const remote of [bad, mixed]) await connect(remote);
  await clock.settle();
  expect([bad.take(), mixed.take().length]).toEqual([['31:1', '31:101'], 11]);
  await clock.advance(500);
  expect(bad.take()).toEqual(['31:11']);
});

describe('a page with chunks of a batch that this node does not know', () => {
  const unknown = new PostageError('BATCH_NOT_FOUND', 'batch not found');
  const page = async (start: bigint, error?: Error): Promise<Pulled> => ({
    topmost: start + 9n,
    count: 9,
    errors: error === undefined ? [] : [error],
  });
  /** A chunk of its second page is refused until a moment, milliseconds. */
  const refusing = (clock: ManualClock, { until = Infinity, error = unknown } = {}) => {
    const remote = new Remote(31, { 31: 30n });
    remote.answer = (_bin, start) =>
      start === 11n ? page(start, clock.monotonic() < until ? error : undefined) : undefined;
    return remote;
  };

  test('holds up none of the others, and is asked for again until the chunks are accepted', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = refusing(clock, { until: MINUTE_MS });
    await connect(remote);
    expect(remote.take()).toEqual(['31:1', '31:11', '31:21', '31:31']);
    await clock.advance(5_000);
    expect(remote.take()).toEqual(['31:11']);
    await clock.advance(MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
  });

  test('counts as pulled when they are never accepted', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take().filter((asked) => asked === '31:11')).toHaveLength(4);
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['31:31']);
  });

  test('is asked for by the next session when this one ends before', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    remote.take();
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['31:11', '31:31']);
  });

  test('is pulled at once when no chain can change the refusal', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = refusing(clock, { error: new PostageError('STAMP_INVALID', 'wrong signer') });
    await connect(remote);
    remote.take();
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
  });

  test('counts as pulled when the peer has nothing there any more, and delays no other page for long', async () => {
    const { connect, clock, state } = setup({ radius: 30 });
    const remote = new Remote(31, { 30: 10n, 31: 10n });
    const refuse = () => Promise.resolve({ topmost: 10n, count: 9, errors: [unknown] });
    remote.answer = (_bin, start) => (start === 1n ? refuse() : undefined);
    await connect(remote);
    expect(remote.take()).toEqual(['30:1', '30:11', '31:1', '31:11']);
    const nothing = async (start: bigint, offerMs: number) => {
      await clock.sleep(offerMs);
      return { topmost: start - 1n, count: 0, errors: [] };
    };
    remote.answer = (bin, start, _signal, offerMs) =>
      start === 1n && bin === 30 ? nothing(start, offerMs as number) : undefined;
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual(['30:1', '31:1']);
    await setup({ radius: 30, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['30:11', '31:11']);
  });

  test('is asked for again when its chunks come too slowly', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    remote.take();
    const late = async (): Promise<Pulled> => {
      await clock.sleep(3 * MINUTE_MS);
      throw new TimeoutError(3 * MINUTE_MS);
    };
    remote.answer = (_bin, start) => (start === 11n ? late() : undefined);
    await clock.advance(4 * MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
    remote.answer = (_bin, start) => (start === 11n ? page(start) : undefined);
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
  });

  test('is asked for by the next session when the last answer is missing', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    await clock.advance(5 * MINUTE_MS);
    expect(remote.take().filter((asked) => asked === '31:11')).toHaveLength(3);
    remote.answer = (_bin, start) =>
      start === 11n ? Promise.reject(new StreamError('STREAM_RESET', 'no')) : undefined;
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['31:11', '31:31']);
  });

  test('waits with at most 63 others of its bin, and further ones count as pulled', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = new Remote(31, { 31: 25_000n });
    remote.answer = (_bin, start) =>
      start <= 25_000n ? Promise.resolve({ topmost: start + 249n, count: 1, errors: [unknown] }) : undefined;
    await connect(remote);
    expect(remote.take()).toHaveLength(101);
    await clock.advance(10_000);
    expect(remote.take()).toHaveLength(64);
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toHaveLength(65);
  });
});

test('the highest possible bin id ends the work until the peers are reviewed again', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.answer = async () => ({ topmost: MAX, count: 1, errors: [] });
  await connect(remote);
  await clock.advance(4 * MINUTE_MS);
  expect(remote.take()).toEqual(['31:1']);
  expect(await metric('puller_max_uint_errors')).toBe(1);
  expect(await metric('puller_worker')).toBe(0);
  await clock.advance(MINUTE_MS);
  expect(remote.take()).toEqual(['31:1']);
});

test('a cursor at the highest bin id leaves nothing to wait for', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: MAX });
  remote.answer = () => new Promise(() => undefined);
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1']);
});

test('progress that cannot be stored costs a second look after a restart', async () => {
  const state = memoryRecords();
  const { connect, clock } = setup({ radius: 31, state });
  const remote = new Remote(31, { 31: 5n });
  const put = state.put.bind(state);
  let full = true;
  state.put = (key, value) => (full ? Promise.reject(new Error('disk full')) : put(key, value));
  await connect(remote);
  full = false;
  await clock.advance(500);
  expect(remote.take()).toEqual(['31:1', '31:6']);
  await setup({ radius: 31, state }).connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1', '31:6']);
});

test('at most a thousand chunks per second are pulled from all peers together', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remotes = [1, 2, 3].map((n) => new Remote(31, { 31: 2_000n }, n));
  for (const remote of remotes) remote.pageSize = 250n;
  for (const remote of remotes) await connect(remote);
  await clock.settle();
  const pages = () =>
    remotes.reduce((sum, { asked }) => sum + asked.filter((one) => one !== '31:2001').length, 0);
  expect(pages()).toBeLessThanOrEqual(4 + 3);
  await clock.advance(1000);
  expect(pages()).toBeLessThanOrEqual(8 + 3);
  await clock.advance(4000);
  expect(pages()).toBe(24);
});

test('the rate counts old entries, not new ones, over two windows', async () => {
  const clock = new ManualClock();
  const { connect, puller } = setup({ radius: 31, clock, rateWindowMs: 10_000 });
  await clock.advance(10_000 - (clock.now() % 10_000));
  const remote = new Remote(31, { 31: 100n });
  await connect(remote);
  await clock.settle();
  remote.grow(31, 150n);
  await clock.settle();
  expect(puller.rate()).toBe(10);
  await clock.advance(10_000);
  expect(puller.rate()).toBe(10);
  await clock.advance(4_000);
  expect(puller.rate()).toBe(6);
  await clock.advance(6_000);
  expect(puller.rate()).toBe(0);
});

test('the counters distinguish old entries from new ones', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 30n });
  await connect(remote);
  await clock.settle();
  remote.grow(31, 35n);
  await clock.settle();
  expect(await metric('puller_synced_chunks\\{type="historical"\\}')).toBe(30);
  expect(await metric('puller_synced_chunks\\{type="live"\\}')).toBe(5);
  expect(await metric('puller_worker_iterations')).toBe(5);
});

test('the first full sync is complete once everything older has been pulled, and is counted once', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 30n });
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(0);
  await connect(remote);
  await clock.settle();
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(1);
  await connect(new Remote(31, { 31: 30n }));
  await clock.settle();
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(1);
});

test('a peer that leaves, or a node that stops, before everything has been pulled completes no full sync', async () => {
  const { connect, disconnect, puller, clock, metric } = setup({ radius: 31 });
  const remotes = [new Remote(31, { 31: 30n }, 1), new Remote(31, { 31: 30n }, 2)] as const;
  for (const remote of remotes) {
    // The page never comes.
    remote.answer = (_bin, _start, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
  await connect(remotes[0]);
  await clock.settle();
  expect(remotes[0].asked).toContain('31:1');
  await disconnect(remotes[0]);
  await connect(remotes[1]);
  await clock.settle();
  await puller.stop();
  expect(await metric('puller_worker')).toBe(0);
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(0);
});

test('stopping waits for what is being stored, and nothing is asked for afterwards', async () => {
  const { connect, puller, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 5n });
  const storing = Promise.withResolvers<Pulled>();
  remote.answer = (_bin, start) => (start === 1n ? storing.promise : undefined);
  await connect(remote);
  let stopped = false;
  const stopping = puller.stop().then(() => {
    stopped = true;
    return undefined;
  });
  await clock.advance(MINUTE_MS);
  expect(stopped).toBe(false);
  storing.resolve({ topmost: 5n, count: 5, errors: [] });
  await stopping;
  remote.take();
  await connect(new Remote(31, {}, 2));
  await clock.advance(10 * MINUTE_MS);
  expect(remote.take()).toEqual([]);
  expect(await metric('puller_worker')).toBe(0);
});

test('a puller that was never started can be stopped', async () => {
  const { connect, puller } = setup({ started: false });
  await connect(new Remote(31));
  await expect(puller.stop()).resolves.toBeUndefined();
});

describe('a peer that announces news', () => {
  function telling(po: number, last: Record<number, bigint> = {}, n = 1): Remote {
    const remote = new Remote(po, last, n);
    remote.tells = true;
    return remote;
  }

  test('has only one question waiting for it', async () => {
    const { connect, clock, metric } = setup({ radius: 0 });
    const remote = telling(3, { 0: 25n, 5: 1n });
    await connect(remote);
    await clock.settle();
    expect(remote.take()).toEqual(['0:1', '0:11', '0:21', '5:1']);
    await clock.advance(4 * MINUTE_MS);
    expect([remote.take(), remote.cursorsAsked, await metric('puller_worker')]).toEqual([[], 2, 0]);
  });

  test('is asked for what is new, page by page, and for nothing else', async () => {
    const { connect, clock, metric } = setup({ radius: 0 });
    const remote = telling(3, { 0: 5n, 4: 5n });
    await connect(remote);
    await clock.settle();
    remote.take();
    remote.grow(0, 27n);
    await clock.settle();
    expect(remote.take()).toEqual(['0:16', '0:26', '0:6']);
    expect(await metric('puller_synced_chunks\\{type="live"\\}')).toBe(22);
  });

  test('is asked for the first entry of a deep bin as soon as it announces it', async () => {
    const { connect, clock } = setup({ radius: 0 });
    const remote = telling(3);
    await connect(remote);
    await clock.advance(20 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
    remote.grow(29, 1n);
    await clock.settle();
    expect(remote.take()).toEqual(['29:1']);
  });

  test('is asked again when its answer is missing, and nothing is missed', async () => {
    const { connect, clock } = setup({ radius: 0 });
    const remote = telling(3, { 0: 5n });
    await connect(remote);
    await clock.settle();
    remote.take();
    remote.greet = () => Promise.reject(new StreamError('STREAM_RESET', 'lost'));
    remote.grow(0, 7n);
    await clock.settle();
    expect(remote.take()).toEqual([]);
    remote.greet = async () => undefined;
    await clock.advance(500);
    expect(remote.take()).toEqual(['0:6']);
  });

  test('is pulled to its end when it grows while a page is under way', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = telling(31);
    await connect(remote);
    const page = Promise.withResolvers<Pulled>();
    remote.answer = (_bin, start) => (start === 1n ? page.promise : undefined);
    remote.grow(31, 3n);
    await clock.settle();
    remote.grow(31, 4n);
    await clock.settle();
    page.resolve({ topmost: 3n, count: 3, errors: [] });
    await clock.settle();
    expect(remote.take()).toEqual(['31:1', '31:4']);
  });

  test('is pulled from the beginning when its epoch changes within a connection', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = telling(31, { 31: 5n });
    await connect(remote);
    await clock.settle();
    remote.take();
    remote.epoch = 2n;
    remote.grow(31, 3n);
    await clock.settle();
    expect(remote.take()).toEqual(['31:1']);
  });

  test('is asked about the bins of the new radius when that changes', async () => {
    const { connect, setRadius, clock } = setup({ radius: 2 });
    const remote = telling(31, { 1: 5n, 2: 5n });
    await connect(remote);
    await clock.settle();
    expect(remote.take()).toEqual(['2:1']);
    remote.grow(1, 6n);
    await clock.settle();
    expect(remote.take()).toEqual([]);
    await setRadius(1);
    await clock.settle();
    expect(remote.take()).toEqual(['1:1', '1:6']);
    remote.grow(1, 7n);
    await clock.settle();
    expect(remote.take()).toEqual(['1:7']);
  });

  test('is left alone once it lies too far outside, and asked again when it no longer does', async () => {
    const { connect, setRadius, clock } = setup({ radius: 4 });
    const remote = telling(4, { 4: 5n });
    await connect(remote);
    await clock.settle();
    await setRadius(9);
    remote.take();
    remote.grow(4, 6n);
    await clock.advance(10 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
    await setRadius(5);
    await clock.settle();
    // Below the radius that it had before, everything is offered again.
    expect(remote.take()).toEqual(['4:1', '4:6']);
  });

  test('of the same testbed is pulled however far outside it lies, while little of its bin is unread', async () => {
    const { connect, setRadius, clock } = setup({ radius: 9, given: true });
    const [small, large] = [telling(4, { 4: 10_000n }), telling(3, { 3: 10_001n })];
    for (const remote of [small, large]) {
      remote.pageSize = 20_000n;
      await connect(remote);
    }
    // A page of so many chunks takes its time.
    await clock.advance(20_000);
    expect([small.take(), large.take()]).toEqual([['4:1'], []]);
    small.grow(4, 10_001n);
    large.grow(3, 10_002n);
    await clock.advance(20_000);
    expect([small.take(), large.take()]).toEqual([['4:10001'], []]);
    small.grow(4, 20_002n);
    await clock.advance(20_000);
    expect(small.take()).toEqual([]);
    await setRadius(5);
    await clock.advance(60_000);
    expect(large.take()).toEqual(['3:1', '3:10002']);
  });

  test('does not delay the stop of the puller', async () => {
    const { connect, puller } = setup({ radius: 0 });
    await connect(telling(3));
    await expect(puller.stop()).resolves.toBeUndefined();
  });
});

test('a peer that has lost its last entries is pulled from the beginning in the affected bins', async () => {
  const { connect, disconnect, clock } = setup({ radius: 30 });
  const remote = new Remote(31, { 30: 5n, 31: 5n });
  await connect(remote);
  await clock.settle();
  await disconnect(remote);
  remote.take();
  remote.lastIds.set(30, 3n);
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['30:1', '30:4', '31:6']);
});
