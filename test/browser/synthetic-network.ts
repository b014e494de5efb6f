/** A network as the live page's server sees it, without processes: each look finds more work done. */
import type { PartLog } from '../../harness/base/logs/file-log.ts';
import { MACHINE_CLOCK } from '../../harness/base/machine/clock.ts';
import type { Backlog, ChunkEvents, StatusRecord, Topology } from '../../harness/client/types.ts';
import type { Incident } from '../../harness/cluster/nodes/membership.ts';
import type { ObservedNode } from '../../harness/inspect/live/network-observer.ts';
import type { UiDeps } from '../../harness/inspect/live/server.ts';

export interface SyntheticNetwork {
  readonly cluster: UiDeps['cluster'];
  readonly nodes: ObservedNode[];
  readonly tell: (incident: Incident) => void;
}

export interface SyntheticOptions {
  readonly nodes: number;
  readonly storageRadius: number;
  readonly hostile?: string | undefined;
}

export function syntheticNetwork({
  nodes: count,
  storageRadius,
  hostile,
}: SyntheticOptions): SyntheticNetwork {
  const overlays = Array.from({ length: count }, (_, place) => overlayOf(place));
  const listeners = new Set<(incident: Incident) => void>();
  const nodes = overlays.map((_, place) => syntheticNode(place, overlays, { storageRadius, hostile }));
  const lines = [
    hostile ?? '{"time":"2026-01-01T00:00:00.000Z","level":"info","module":"node","msg":"started"}',
  ];
  const log: PartLog = {
    where: 'nowhere',
    tail: () => Promise.resolve(lines),
    end: () => Promise.resolve(0),
    since: () => Promise.resolve([]),
    follow: () => (async function* () {})(),
    failure: () => undefined,
  };
  return {
    nodes,
    cluster: {
      name: 'synthetic',
      clock: MACHINE_CLOCK,
      driver: 'process',
      startedAt: 0,
      seed: 7n,
      nodes,
      chain: { rpc: 'http://127.0.0.1:1', height: () => Promise.resolve(100) },
      membership: {
        onIncident(listener) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
      },
      faults: { active: [] },
      logged: true,
      logOf: () => log,
    },
    tell: (incident) => {
      for (const listener of listeners) listener(incident);
    },
  };
}

/** The same for the same place, and evenly random: the low bits of a product with a large odd number. */
function overlayOf(place: number): string {
  const word = (Math.imul(place + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
  return word.padEnd(64, '5');
}

function syntheticNode(
  place: number,
  overlays: readonly string[],
  { storageRadius, hostile }: Pick<SyntheticOptions, 'storageRadius' | 'hostile'>,
): ObservedNode {
  let work = 0;
  const others = overlays.filter((_, other) => other !== place);
  const pushed = () => place * work * 3;
  const client = {
    clock: MACHINE_CLOCK,
    status(): Promise<Partial<StatusRecord>> {
      if (place === 0 && hostile !== undefined) return Promise.reject(new Error(hostile));
      const reserveSize = 100 * ((place * 7) % 23) + work;
      return Promise.resolve({
        storageRadius,
        reserveSize,
        connectedPeers: others.length,
        isWarmingUp: false,
      });
    },
    metrics(): Promise<string> {
      work += 1 + ((place * 5) % 11);
      return Promise.resolve(
        [
          `svc_pusher_sync_time_count ${pushed()}`,
          `svc_pusher_sync_time_bucket{le="0.05"} ${Math.floor(pushed() / 2)}`,
          `svc_pusher_sync_time_bucket{le="0.1"} ${pushed()}`,
          `svc_pusher_sync_time_bucket{le="+Inf"} ${pushed()}`,
          `svc_retrieval_request_success_count ${work * 2}`,
          `svc_pushsync_storer ${work * 4}`,
          `svc_api_request_count ${work * 20}`,
          `svc_pusher_total_to_push ${pushed() + (place % 5)}`,
          `svc_pusher_total_synced ${pushed()}`,
          `process_cpu_seconds_total ${work / 50}`,
          `process_resident_memory_bytes ${6e7 + 1e6 * (place % 9)}`,
          `nodejs_eventloop_lag_p99_seconds ${0.01 + (place % 7) / 1000}`,
        ].join('\n'),
      );
    },
    backlog(): Promise<Pick<Backlog, 'reserve' | 'uploads'>> {
      const reserve = {
        capacity: 5000,
        size: 0,
        sizeWithinRadius: 0,
        storageRadius,
        full: false,
        leftovers: [],
      };
      return Promise.resolve({ reserve, uploads: [] });
    },
    topology(): Promise<Partial<Topology>> {
      const connectedPeers = others.map((address) => ({
        address,
        metrics: {
          latencyEWMA: 1 + (place % 4),
          sessionConnectionDirection: 'outbound',
          reachability: 'Public',
          healthy: true,
        },
      }));
      const bin = {
        population: others.length,
        connected: others.length,
        connectedPeers,
        disconnectedPeers: null,
      };
      const none = { population: 0, connected: 0, connectedPeers: null, disconnectedPeers: null };
      return Promise.resolve({
        depth: storageRadius,
        connected: others.length,
        bins: { bin_0: bin },
        lightNodes: none,
      });
    },
    chainState: () => Promise.resolve({ chainTip: 100, block: 100, totalAmount: 0n, currentPrice: 0n }),
    balances: () =>
      Promise.resolve(
        others.map((peer, i) => ({
          peer,
          balance: BigInt((i % 6 === 0 ? work : 0) * 10_000 * (i % 2 === 0 ? 1 : -1)),
        })),
      ),
    timeSettlements: () => Promise.resolve({ totalReceived: 0n, totalSent: 0n, settlements: [] }),
    settlements: () => {
      const settlements = others
        .filter((_, i) => i % 9 === 0)
        .map((peer) => ({ peer, sent: BigInt(work) * 10n ** 14n, received: 0n }));
      return Promise.resolve({ totalReceived: 0n, totalSent: 0n, settlements });
    },
    chequebook: {
      balance: () => Promise.resolve({ totalBalance: 5n * 10n ** 17n, availableBalance: 4n * 10n ** 17n }),
    },
    health: () => Promise.resolve({ status: 'ok', version: '0.1.0', apiVersion: '' }),
    chunkEvents({ after = 0 }: { after?: number }): Promise<ChunkEvents> {
      const last = work * 10;
      const seqs = Array.from({ length: Math.max(0, Math.min(last - after, 20)) }, (_, i) => last - i);
      const events = seqs.map((seq) => ({
        seq,
        at: seq,
        address: overlayOf(seq),
        kind: (['push-accepted', 'ask-delivered', 'pulled'] as const)[seq % 3] ?? 'pulled',
        peer: others[seq % others.length] ?? '',
      }));
      return Promise.resolve({ events, last, lost: 0, capacity: 1000 });
    },
  };
  return {
    name: `node-${place}`,
    flavour: place % 10 === 9 ? 'bee' : 'svc',
    mode: place % 10 === 5 ? 'light' : 'full',
    overlay: overlays[place] ?? '',
    ethereum: '',
    api: `http://127.0.0.1:${10_000 + place}`,
    debug: `http://127.0.0.1:${20_000 + place}`,
    p2p: `/ip4/127.0.0.1/tcp/${30_000 + place}`,
    container: undefined,
    state: place === 3 ? 'crashed' : place === 4 ? 'paused' : 'running',
    running: place !== 3 && place !== 4,
    pid: 1000 + place,
    client,
  } as unknown as ObservedNode;
}
