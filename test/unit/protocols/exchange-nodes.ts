/** Nodes that trade chunks: accounting, time settlement, retrieval and pushsync, with one manual clock. */
import { closerTo } from '../../../formats/chunk/address.ts';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { type AccountingService, createAccounting } from '../../../node/accounting/accounting.ts';
import type { PaymentTerms } from '../../../node/accounting/terms.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { Host, MessageStream, Peer, ProtocolHandler, ProtocolSpec } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import type { Stampable } from '../../../node/postage/ports.ts';
import { createPseudosettle, type Pseudosettle } from '../../../node/protocols/pseudosettle/pseudosettle.ts';
import { createPushsync, type Pushsync } from '../../../node/protocols/pushsync/pushsync.ts';
import { createRetrieval, type Retrieval } from '../../../node/protocols/retrieval/retrieval.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import type { Topology } from '../../../node/topology/topology.ts';
import { memoryNode, memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from '../p2p/memory-nodes.ts';
import type { ManualClock } from './manual-clock.ts';

export const PRODUCTION: PaymentTerms = {
  paymentThreshold: 13_500_000n,
  tolerancePercent: 25,
  earlyPercent: 50,
  refreshRate: 4_500_000n,
  refreshIntervalMs: 1_020,
  clockToleranceSeconds: 2n,
  intervalToleranceSeconds: 3n,
  thresholdMinimum: 0n,
  fullNode: true,
  lightFactor: 10n,
  pricePerProximity: 10_000n,
  minimumPayment: 900_000n,
  paymentRetryMs: 10_000,
  growthStepSeconds: 100n,
  growthLinearSeconds: 1_800n,
};

/** No node is in the neighbourhood of any chunk. */
export const FAR_RADIUS = 30;

export const never = new AbortController().signal;

export interface ExchangeNode {
  readonly host: Host;
  readonly signer: Signer;
  readonly overlay: Uint8Array;
  readonly id: string;
  readonly accounting: AccountingService;
  readonly pseudosettle: Pseudosettle;
  readonly retrieval: Retrieval;
  readonly pushsync: Pushsync;
  readonly store: FakeStore;
  readonly underlay: () => string;
  readonly losses: readonly string[];
  /** Bits; changes count at once. */
  radius: number;
  readonly unhealthy: Set<string>;
  /** Called for every stored chunk; throws to refuse. */
  validate: (chunk: Stampable, stamp: Stamp) => void;
  readonly seen: Chunk[];
}

export interface ExchangeOptions {
  readonly clock: ManualClock;
  readonly radius?: number;
  readonly network?: MemoryNetwork;
  readonly fullNode?: boolean;
  readonly reachable?: boolean;
  readonly accounting?: PaymentTerms;
  /** One way, milliseconds. */
  readonly latencyMs?: number;
  readonly state?: (subsystem: string) => KeyValueStore;
  /** For one requester at once. */
  readonly searches?: number;
}

class FakeStore {
  readonly held = new Map<string, Chunk>();
  readonly reserved = new Map<string, Stamp>();
  readonly cached = new Map<string, Chunk>();
  hasRoom = true;
  readonly chunks = {
    heal: () => undefined,
    get: (address: Uint8Array) => this.held.get(toHex(address)) ?? this.cached.get(toHex(address)),
  };
  readonly cache = { put: (chunk: Chunk) => void this.cached.set(toHex(chunk.address), chunk) };
  readonly reserve = {
    put: async (chunk: Chunk, stamp: Stamp) => {
      this.hold(chunk);
      this.reserved.set(toHex(chunk.address), stamp);
    },
    has: (address: Uint8Array, _batchId: Uint8Array, hash: Uint8Array) => {
      const stamp = this.reserved.get(toHex(address));
      return stamp !== undefined && equalBytes(stampHash(stamp), hash);
    },
    hasIndex: ({ batchId, index }: Pick<Stamp, 'batchId' | 'index'>) =>
      [...this.reserved.values()].some(
        (stamp) => equalBytes(stamp.batchId, batchId) && equalBytes(stamp.index, index),
      ),
    hasRoomFor: () => this.hasRoom,
  };

  hold(chunk: Chunk): void {
    this.held.set(toHex(chunk.address), chunk);
  }
}

export function exchangeNode(n: number, options: ExchangeOptions): ExchangeNode {
  const { clock, latencyMs = 0, network = new MemoryNetwork() } = options;
  const terms = options.accounting ?? PRODUCTION;
  const { fullNode = true, reachable = true } = options;
  const { host: wire, underlay } = memoryNode({ network, n, clock, fullNode });
  const host = latencyMs === 0 ? wire : delayed(wire, latencyMs, clock);
  const signer = createSigner(testKey(n));
  const store = new FakeStore();
  const shared = { host, clock, log: silentLogger(), metrics: createMetrics({ prefix: 'svc' }) };
  const state = options.state ?? (() => memoryRecords());

  const accounting: AccountingService = createAccounting(terms, {
    ...shared,
    state: state('accounting'),
    refresh: (peer, amount) => pseudosettle.settle(peer, amount),
    announce: () => undefined,
  });
  const pseudosettle = createPseudosettle(terms, { ...shared, accounting, state: state('pseudosettle') });
  const topology = topologyOf(wire, {
    radius: () => node.radius,
    reachable,
    unhealthy: () => node.unhealthy,
  });
  const parts = { ...shared, topology, accounting, store };
  const known = new Set<string>();
  wire.onConnected(({ overlayHex }) => void known.add(overlayHex));
  const losses: string[] = [];
  wire.onDisconnected((_peer, reason) => void losses.push(reason));
  const node: ExchangeNode = {
    host: wire,
    losses,
    signer,
    overlay: host.overlay,
    id: toHex(host.overlay),
    accounting,
    pseudosettle,
    store,
    underlay,
    radius: options.radius ?? 0,
    unhealthy: new Set(),
    validate: () => undefined,
    seen: [],
    retrieval: createRetrieval({ ...parts, searches: options.searches }),
    pushsync: createPushsync(
      { networkId: NETWORK_ID, nonce: ZERO_NONCE, fullNode, reachable, capacityDoubling: 0 },
      {
        ...parts,
        topology: { ...topology, isCutOff: () => wire.peers().length === 0 && known.size > 0 },
        signer,
        postage: { validate: (chunk, stamp) => node.validate(chunk, stamp) },
        onDelivered: (chunk) => void node.seen.push(chunk),
      },
    ),
  };
  return node;
}

export async function exchangeNodes(count: number, options: ExchangeOptions): Promise<ExchangeNode[]> {
  const network = options.network ?? new MemoryNetwork();
  const nodes = Array.from({ length: count }, (_, i) => exchangeNode(i + 1, { ...options, network }));
  for (const { host } of nodes) await host.start();
  return nodes;
}

export interface Stranger {
  readonly host: Host;
  readonly overlay: Uint8Array;
  readonly id: string;
  readonly underlay: () => string;
}

export async function stranger(
  n: number,
  options: { clock: ManualClock; network: MemoryNetwork; protocol: ProtocolSpec; handler: ProtocolHandler },
): Promise<Stranger> {
  const { host, underlay } = memoryNode({ network: options.network, n, clock: options.clock });
  host.handle(options.protocol, options.handler);
  await host.start();
  return { host, overlay: host.overlay, id: toHex(host.overlay), underlay };
}

interface Reachable {
  readonly host: Host;
  readonly underlay: () => string;
}

export async function connect(from: Reachable, to: Reachable, clock: ManualClock): Promise<Peer> {
  const peer = await from.host.connect([to.underlay()], never);
  await clock.settle();
  return peer;
}

export async function line(count: number, options: ExchangeOptions): Promise<ExchangeNode[]> {
  const nodes = await exchangeNodes(count, options);
  for (const [i, node] of nodes.entries()) {
    const next = nodes[i + 1];
    if (next !== undefined) await connect(node, next, options.clock);
  }
  return nodes;
}

export async function mesh(count: number, options: ExchangeOptions): Promise<ExchangeNode[]> {
  const nodes = await exchangeNodes(count, options);
  for (const [i, from] of nodes.entries()) {
    for (const to of nodes.slice(i + 1)) await connect(from, to, options.clock);
  }
  return nodes;
}

/** Farthest from the chunk first. */
export function byDistance<T extends { overlay: Uint8Array }>(nodes: readonly T[], chunk: Chunk): T[] {
  return [...nodes].sort((a, b) => closerTo(chunk.address, b.overlay, a.overlay));
}

/** Healthy ones first, as the real table in a neighbourhood. */
function topologyOf(
  host: Host,
  {
    radius,
    reachable,
    unhealthy,
  }: { radius: () => number; reachable: boolean; unhealthy: () => ReadonlySet<string> },
): Pick<Topology, 'closestPeer' | 'storageRadius' | 'peers'> {
  const peers = () => host.peers().filter(({ fullNode }) => fullNode);
  return {
    storageRadius: radius,
    peers,
    closestPeer(address, { skip, includeSelf }) {
      const [best] = peers()
        .filter(({ overlayHex }) => !skip.has(overlayHex))
        .sort((a, b) => closerTo(address, a.overlay, b.overlay))
        .sort((a, b) => Number(unhealthy().has(a.overlayHex)) - Number(unhealthy().has(b.overlayHex)));
      if (!includeSelf || !reachable) return best;
      return best === undefined || closerTo(address, host.overlay, best.overlay) < 0 ? 'self' : best;
    },
  };
}

/** Time passes on the way there when a stream opens, and back before each message. */
export function delayed(host: Host, latencyMs: number, clock: ManualClock): Host {
  return new Proxy(host, {
    get(target, name) {
      if (name !== 'open')
        return Reflect.get(target, name, target).bind?.(target) ?? Reflect.get(target, name);
      return async (...given: Parameters<Host['open']>) => {
        await clock.sleep(latencyMs);
        const stream = await target.open(...given);
        return withSlowReads(stream, latencyMs, clock);
      };
    },
  });
}

function withSlowReads(stream: MessageStream, latencyMs: number, clock: ManualClock): MessageStream {
  return {
    peer: stream.peer,
    headers: stream.headers,
    async read(table, signal) {
      const message = await stream.read(table, signal);
      await clock.sleep(latencyMs);
      return message;
    },
    write: (table, message) => stream.write(table, message),
    close: () => stream.close(),
    reset: (reason) => stream.reset(reason),
  };
}

/** @param n of its kind */
export function chunkWhere(wanted: (address: Uint8Array) => boolean, n = 0): Chunk {
  for (let i = 0, found = 0; i < 100_000; i++) {
    const payload = new TextEncoder().encode(`chunk ${i}`);
    const chunk = makeCac(BigInt(payload.length), payload);
    if (wanted(chunk.address) && found++ === n) return chunk;
  }
  throw new Error('no such chunk among 100,000');
}

export function chunkNear(
  winner: { overlay: Uint8Array },
  others: readonly { overlay: Uint8Array }[],
  n = 0,
): Chunk {
  return chunkWhere(
    (address) =>
      others.every((other) => other === winner || closerTo(address, winner.overlay, other.overlay) < 0),
    n,
  );
}

export function someStamp(batch = 1): Stamp {
  return {
    batchId: new Uint8Array(32).fill(batch),
    index: new Uint8Array(8),
    timestamp: new Uint8Array(8),
    signature: new Uint8Array(65),
  };
}
