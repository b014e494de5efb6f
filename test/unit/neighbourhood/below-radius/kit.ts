/** A node's reserve and what it knows of its peers, for what is done with entries below the storage radius. */
import { proximityOrder } from '../../../../node/chunk/address.ts';
import type { Chunk } from '../../../../node/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../../node/chunk/stamp.ts';
import { toHex } from '../../../../node/crypto/hex.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { type Peer, StreamError } from '../../../../node/p2p/host.ts';
import type { Batch } from '../../../../node/postage/ports.ts';
import type { Cursors, Listed } from '../../../../node/protocols/pullsync/pullsync.ts';
import { PAGE_SIZE } from '../../../../node/protocols/pullsync/rules.ts';
import type { PushResult } from '../../../../node/protocols/pushsync/pushsync.ts';
import { NoRoomError } from '../../../../node/protocols/pushsync/rules.ts';
import type { StatusSnapshot } from '../../../../node/protocols/status/status.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import type { ReserveEntry } from '../../../../node/store/ports.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { addressIn, chunkAt, OVERLAY, stamp } from '../../store/stores.ts';

export const BINS = 32;

/** A peer that lists what it was given, under bin ids from 1. */
export class Remote {
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
    this.peer = { id: toHex(overlay), overlay } as Peer;
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

export function never<T>(signal: AbortSignal): Promise<T> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

export function synced(storerPO: number): PushResult {
  return { outcome: 'synced', receipt: {} as never, storerPO };
}

export async function belowRadius({ radius = 1, capacity = 1000 } = {}) {
  const clock = new ManualClock();
  const log = silentLogger();
  const metrics = createMetrics({ prefix: 'svc' });
  const { reserve } = await createMemoryStore(
    { cacheCapacity: 0, reserveCapacity: capacity, radius },
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
  const listeners = new Set<() => void>();
  const deps = {
    overlay: OVERLAY,
    topology: {
      peers: () => remotes.map(({ peer }) => peer),
      onChange(listener: () => void) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    status: {
      async request(peer: Peer, signal: AbortSignal) {
        await of(peer).greet(signal);
        return { storageRadius: of(peer).radius } as StatusSnapshot;
      },
    },
    pullsync: {
      cursors: async (peer: Peer) => of(peer).cursors(),
      list: (peer: Peer, bin: number, start: bigint, signal: AbortSignal) =>
        of(peer).list(bin, start, signal),
    },
    pushsync: {
      push({ address }: Chunk, _stamp: Stamp, { signal }: { signal: AbortSignal }) {
        pushes.addresses.push(address);
        return pushes.answer(address, signal);
      },
    },
    batches: { get: () => ({ immutable: given.immutable }) as Batch },
    reserve,
    clock,
    log,
    metrics,
  };
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
    deps,
    listeners,
    given,
    pushes,
    fill,
    connect: (...connected: Remote[]) => {
      remotes = connected;
      for (const listener of listeners) listener();
    },
    metric: async (name: string) =>
      Number(new RegExp(`^svc_localstore_${name} (\\S+)$`, 'm').exec(await metrics.expose())?.[1] ?? 0),
  };
}
