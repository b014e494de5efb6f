import { onTestFinished } from 'vitest';
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

export const WAKE_UP_MS = 900_000;

export const STUCK_PAUSE_MAX_MS = 32_000;

interface Given {
  readonly capacity?: number;
  readonly minimumRadius?: number;
  readonly covered?: number;
}

/** Entries below the radius that are said to be held elsewhere, the highest bin first. */
class FakeHandOver implements HandOver {
  /** Chunks asked for, by call. */
  readonly asked: number[] = [];
  isHeld: (entry: ReserveEntry) => boolean = () => true;
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

function logOf(warnings: string[]): Logger {
  const log: Logger = {
    ...silentLogger(),
    warn: (about: object | string, text?: string) => warnings.push(text ?? JSON.stringify(about)),
    child: () => log,
  };
  return log;
}

export async function worker({ capacity = 10, minimumRadius = 0, covered = 31 }: Given = {}) {
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
  /** Each under its own stamp index. */
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

function bins(below: number): number[] {
  return Array.from({ length: below }, (_, bin) => bin);
}

export function counts(reserve: Reserve, shown = 4): number[] {
  return bins(shown).map((bin) => reserve.items(bin, 1n, 10_000).length);
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
