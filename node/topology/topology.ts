import type { Peer } from '../p2p/host.ts';

/** Peer choice and depth; the table is `kademlia.ts`. */
export interface Topology {
  /**
   * By XOR distance; 'self' with `includeSelf` when no peer is closer; undefined without a candidate. Peers in the address's
   * neighbourhood come first; then healthy reachable ones, reachable ones, any. A node that others cannot reach never counts
   * itself.
   */
  closestPeer(
    address: Uint8Array,
    options: { skip: ReadonlySet<string>; includeSelf: boolean },
  ): Peer | 'self' | undefined;
  /** Peers are known, but no usable one is connected. */
  isCutOff(): boolean;
  /** Connected full peers without mere bootnodes, shallow to deep. */
  peers(): readonly Peer[];
  connectedCount(): number;
  /** What `/topology` shows as depth. */
  storageRadius(): number;
  /** Proximity order >= radius. */
  neighbours(): readonly Peer[];
  /** Salud's rating. @param rating.latencyMs of an answer */
  rated(overlayHex: string, rating: { healthy: boolean; latencyMs?: number }): void;
  snapshot(): TopologySnapshot;
  /** Learnt by gossip or configuration; dialled as needed. */
  addKnown(overlaysHex: readonly string[]): void;
  onChange(listener: () => void): () => void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export type Reachability = 'Unknown' | 'Public' | 'Private';

/** The answer to `GET /topology`, before a dialect. */
export interface TopologySnapshot {
  readonly baseAddr: string;
  readonly population: number;
  readonly connected: number;
  readonly nnLowWatermark: number;
  readonly depth: number;
  readonly reachability: Reachability;
  readonly networkAvailability: 'Unknown' | 'Available' | 'Unavailable';
  /** Shallow to deep. */
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
    readonly connectionTotalDuration: number;
    readonly sessionConnectionDuration: number;
    readonly sessionConnectionDirection: 'inbound' | 'outbound' | '';
    readonly latencyEWMA: number;
    readonly reachability: Reachability;
    readonly healthy: boolean;
  };
}
