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
import { NoRoomError } from '../../../node/protocols/pushsync/rules.ts';
import type { StatusSnapshot } from '../../../node/protocols/status/status.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import type { Reserve, ReserveEntry } from '../../../node/store/ports.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { addressIn, chunkAt, OVERLAY, stamp } from '../store/stores.ts';

export const BINS = 32;

/** Bin ids begin with 1. */
export class Remote {
  readonly peer: Peer;
  radius = 0;
  epoch = 1n;
  readonly asked: string[] = [];
  answer: ((bin: number, start: bigint, signal: AbortSignal) => Promise<Listed> | undefined) | undefined;
  greet: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  #bins: ReserveEntry[][] = Array.from({ length: BINS }, () => []);

  /** @param bin of the peer, from the overlay of the tests @param shared bits that it shares with chunks of that bin */
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

  take(): string[] {
    return this.asked.splice(0);
  }
}

export function never<T>(signal: AbortSignal): Promise<T> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

export async function setup({ radius = 1 } = {}) {
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
  /** Without an answer no node takes anything. */
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

export function counts(reserve: Reserve, bins = 3): number[] {
  return Array.from({ length: bins }, (_, bin) => reserve.items(bin, 1n, 10_000).length);
}
