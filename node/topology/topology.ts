import type { Peer } from '../p2p/host.ts';

/** Peer choice and depth, for the chunk protocols and the API; the table behind it is `kademlia.ts`. */
export interface Topology {
  /**
   * The connected full peer closest to `address` by XOR distance; 'self' when `includeSelf` and no peer is closer;
   * undefined when no candidate is left. Peers in the address's neighbourhood come first. Among those, and among the
   * rest, healthy reachable ones come first, then reachable ones, then any. A node that others cannot reach never
   * counts itself.
   */
  closestPeer(
    address: Uint8Array,
    options: { skip: ReadonlySet<string>; includeSelf: boolean },
  ): Peer | 'self' | undefined;
  /** Whether no usable peer is connected although some are known: just started, or behind a broken network. */
  isCutOff(): boolean;
  /** Connected full peers usable for more than introductions, shallow to deep. */
  peers(): readonly Peer[];
  /** All connected full peers, bootnodes too. */
  connectedCount(): number;
  /** Depth from which this node stores chunks (what `/topology` shows as depth). */
  storageRadius(): number;
  /** Connected full peers with proximity order >= radius. */
  neighbours(): Peer[];
  /** Reports salud's rating of a connected peer. @param rating.latencyMs of its answer, if there was one */
  rated(overlayHex: string, rating: { healthy: boolean; latencyMs?: number }): void;
  snapshot(): TopologySnapshot;
  /** Peers learnt by gossip or configuration; dialled in the background as the table needs them. */
  addKnown(overlaysHex: readonly string[]): void;
  /** Resolves when no dial is running or due now: for tests and the harness's `meshed` wait. */
  onChange(listener: () => void): () => void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export type Reachability = 'Unknown' | 'Public' | 'Private';

/** `GET /topology`, before the dialect's names are applied. */
export interface TopologySnapshot {
  readonly baseAddr: string;
  readonly population: number;
  readonly connected: number;
  readonly nnLowWatermark: number;
  readonly depth: number;
  readonly reachability: Reachability;
  readonly networkAvailability: 'Unknown' | 'Available' | 'Unavailable';
  /** 32 bins, shallow to deep. */
  readonly bins: readonly BinSnapshot[];
  readonly lightNodes: BinSnapshot;
}

export interface BinSnapshot {
  readonly population: number;
  readonly connected: number;
  readonly disconnectedPeers: readonly PeerSnapshot[];
  readonly connectedPeers: readonly PeerSnapshot[];
}

export interface PeerSnapshot {
  readonly address: string;
  readonly metrics?: {
    /** Unix seconds. */
    readonly lastSeenTimestamp: number;
    readonly sessionConnectionRetry: number;
    /** Whole seconds. */
    readonly connectionTotalDuration: number;
    readonly sessionConnectionDuration: number;
    readonly sessionConnectionDirection: 'inbound' | 'outbound' | '';
    /** Whole milliseconds. */
    readonly latencyEWMA: number;
    readonly reachability: Reachability;
    readonly healthy: boolean;
  };
}
