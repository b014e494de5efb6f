import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createPuller, type Puller } from '../../../node/neighbourhood/puller.ts';
import { type Peer, StreamError } from '../../../node/p2p/host.ts';
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

export const MINUTE_MS = 60_000;

/** An overlay with so many leading bits in common with ours, which is all zeros. */
function overlayAt(po: number, n = 1): Uint8Array {
  const overlay = new Uint8Array(32).fill(n, 8);
  overlay[po >> 3] = 0x80 >> (po & 7);
  return overlay;
}

export class Remote {
  readonly overlay: Uint8Array;
  readonly id: string;
  readonly lastIds = new Map<number, bigint>();
  epoch = 1n;
  /** Waits for something new, as our nodes do; else answers at once, as those of the public network. */
  tells = false;
  pageSize = 10n;
  cursorsAsked = 0;
  readonly asked: string[] = [];
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

  wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

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
  readonly given?: boolean;
  readonly strangers?: readonly string[];
}

export function setup({
  radius = 0,
  state = memoryRecords(),
  clock = new ManualClock(),
  ...options
}: Setup = {}) {
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

export function bins(from: number, to = 31, start = 1): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => `${from + i}:${start}`).sort();
}
