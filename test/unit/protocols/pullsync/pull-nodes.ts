import { proximityOrder } from '../../../../formats/chunk/address.ts';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { encodeStamp, type Stamp, stampHash } from '../../../../formats/chunk/stamp.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics, type Metrics } from '../../../../node/env/metrics.ts';
import type { Host } from '../../../../node/p2p/host.ts';
import type { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import {
  createPullsync,
  type Pullsync,
  type PullsyncDeps,
} from '../../../../node/protocols/pullsync/pullsync.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import type { LocalStore } from '../../../../node/store/ports.ts';
import { memoryNode } from '../../p2p/memory-nodes.ts';
import type { ManualClock } from '../manual-clock.ts';

export interface PullNode {
  readonly host: Host;
  readonly overlay: Uint8Array;
  readonly id: string;
  readonly underlay: () => string;
  readonly store: LocalStore;
  readonly pullsync: Pullsync;
  /** A test may replace a function. */
  readonly reserve: PullsyncDeps['reserve'];
  readonly metrics: Metrics;
  /** Called for every delivery; throws to refuse. */
  validate: (chunk: Chunk, stamp: Stamp) => void;
  readonly seen: Chunk[];
}

export async function pullNode(
  n: number,
  options: { clock: ManualClock; network: MemoryNetwork; radius?: number; bySum?: boolean },
): Promise<PullNode> {
  const { clock, network, radius = 0, bySum = false } = options;
  const { host, underlay } = memoryNode({ network, n, clock });
  const log = silentLogger();
  const metrics = createMetrics({ prefix: 'svc' });
  const store = await createMemoryStore(
    { cacheCapacity: 0, reserveCapacity: 100_000, radius, convergent: bySum },
    { clock, log, overlay: host.overlay },
  );
  const kept = store.reserve;
  const reserve: PullsyncDeps['reserve'] = {
    put: (...given) => kept.put(...given),
    has: (...given) => kept.has(...given),
    sumOf: (entry) => kept.sumOf(entry),
    entryOf: (...given) => kept.entryOf(...given),
    load: (...given) => kept.load(...given),
    items: (...given) => kept.items(...given),
    hasRoomFor: (address) => kept.hasRoomFor(address),
    onPut: (listener) => kept.onPut(listener),
    radius: () => kept.radius(),
    lastBinIds: () => kept.lastBinIds(),
    epoch: () => kept.epoch(),
  };
  const postage = { validate: (chunk: Chunk, stamp: Stamp) => node.validate(chunk, stamp) };
  const node: PullNode = {
    host,
    overlay: host.overlay,
    id: toHex(host.overlay),
    underlay,
    store,
    reserve,
    metrics,
    validate: () => undefined,
    seen: [],
    pullsync: createPullsync(
      { bySum },
      {
        host,
        reserve,
        postage,
        onDelivered: (chunk) => void node.seen.push(chunk),
        clock,
        log,
        metrics,
      },
    ),
  };
  await host.start();
  return node;
}

/** A stamp whose index no other stamp of a test has, unless it is given the same number. */
export function stampNo(index: number, timestamp = 1): Stamp {
  const number = (value: number) => {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setUint32(4, value);
    return bytes;
  };
  return {
    batchId: new Uint8Array(32).fill(7),
    index: number(index),
    timestamp: number(timestamp),
    signature: new Uint8Array(65).fill(9),
  };
}

export interface Stamped {
  readonly chunk: Chunk;
  readonly stamp: Stamp;
}

/** The first `count` chunks of their kind in one bin of a node. */
export function chunksInBin(overlay: Uint8Array, bin: number, count: number): Stamped[] {
  const found: Stamped[] = [];
  for (let i = 0; found.length < count; i++) {
    const payload = new TextEncoder().encode(`chunk ${i}`);
    const chunk = makeCac(BigInt(payload.length), payload);
    if (proximityOrder(overlay, chunk.address) !== bin) continue;
    found.push({ chunk, stamp: stampNo(1000 * bin + found.length) });
  }
  return found;
}

export async function fill({ store }: PullNode, stamped: readonly Stamped[]): Promise<void> {
  for (const { chunk, stamp } of stamped) await store.reserve.put(chunk, stamp);
}

export function holds({ store }: PullNode, { chunk, stamp }: Stamped): boolean {
  return store.reserve.has(chunk.address, stamp.batchId, stampHash(stamp));
}

export function offered({ chunk, stamp }: Stamped) {
  return { address: chunk.address, batchId: stamp.batchId, stampHash: stampHash(stamp) };
}

export function delivered({ chunk, stamp }: Stamped) {
  return { address: chunk.address, data: chunk.data, stamp: encodeStamp(stamp) };
}

export async function metric({ metrics }: Pick<PullNode, 'metrics'>, name: string): Promise<number> {
  const line = new RegExp(`^svc_${name} (\\S+)$`, 'm').exec(await metrics.expose());
  return Number(line?.[1]);
}

/** No rejection goes unhandled while the test waits for other things. */
export function outcome<T>(work: Promise<T>): { value?: T; error?: unknown } {
  const seen: { value?: T; error?: unknown } = {};
  work.then(
    (value) => Object.assign(seen, { value }),
    (error: unknown) => Object.assign(seen, { error }),
  );
  return seen;
}
