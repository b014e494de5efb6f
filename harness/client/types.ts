/** Amounts are `bigint`, names are the same in both dialects. */

import type { ChunkEventPage } from '../../node/env/chunk-events.ts';

/** Addresses of a node. `ethereum`: 40 hex digits. Keys: 66 hex digits, compressed. */
export interface Addresses {
  /** 64 hex digits. */
  readonly overlay: string;
  /** Multiaddresses. */
  readonly underlay: readonly string[];
  readonly ethereum: string;
  readonly publicKey: string;
  readonly pssPublicKey: string;
}

/** A node's health, as it reports it, and its versions. */
export interface Health {
  readonly status: string;
  readonly version: string;
  readonly apiVersion: string;
}

/** A node's own kind, as it reports it. */
export interface NodeInfo {
  readonly mode: string;
  readonly chequebookEnabled: boolean;
  readonly swapEnabled: boolean;
}

/** A connected peer. */
export interface PeerEntry {
  /** Overlay. */
  readonly address: string;
  readonly fullNode: boolean;
}

/** A peer, with its node's measurements of it. */
export interface TopologyPeer {
  readonly address: string;
  readonly metrics?: {
    /** Milliseconds. */
    readonly latencyEWMA: number;
    readonly sessionConnectionDirection: string;
    readonly reachability: string;
    readonly healthy: boolean;
  };
}

/** Peers of one proximity order. */
export interface TopologyBin {
  /** Known peers. */
  readonly population: number;
  /** Connected peers. */
  readonly connected: number;
  readonly connectedPeers: readonly TopologyPeer[] | null;
  readonly disconnectedPeers: readonly TopologyPeer[] | null;
}

/** The peers of a node by proximity. */
export interface Topology {
  readonly baseAddr: string;
  /** When it answered, by its own clock: RFC 3339. */
  readonly timestamp: string;
  /** Known peers of all bins. */
  readonly population: number;
  /** Connected peers of all bins. */
  readonly connected: number;
  /** Depth of its neighbourhood, bits. */
  readonly depth: number;
  readonly reachability: string;
  readonly networkAvailability: string;
  readonly bins: Readonly<Record<string, TopologyBin>>;
  /** Connected light peers. */
  readonly lightNodes: TopologyBin;
}

/** A node's own status: counts, radii in bits, the rate of pull syncing in chunks per second. */
export interface StatusRecord {
  readonly overlay: string;
  readonly mode: string;
  /** Proximity order to the node that was asked, bits. */
  readonly proximity: number;
  /** Chunks. */
  readonly reserveSize: number;
  /** Chunks. */
  readonly reserveSizeWithinRadius: number;
  /** Chunks per second. */
  readonly pullsyncRate: number;
  /** Bits. */
  readonly storageRadius: number;
  /** Count. */
  readonly connectedPeers: number;
  /** Peers in its neighbourhood. */
  readonly neighborhoodSize: number;
  /** Chunks that all batches of the network can stamp. */
  readonly batchCommitment: number;
  readonly isReachable: boolean;
  readonly isWarmingUp: boolean;
  /** Block number. */
  readonly lastSyncedBlock: number;
}

/** A peer's own record. */
export interface PeerStatus
  extends Pick<StatusRecord, 'overlay' | 'proximity' | 'reserveSize' | 'storageRadius' | 'connectedPeers'> {
  /** Only when it has not answered. */
  readonly requestFailed?: boolean;
}

/** The radii of a node, bits, and how many chunks the network commits to. */
export interface ReserveState {
  /** Bits. */
  readonly radius: number;
  /** Bits. */
  readonly storageRadius: number;
  /** Chunks that all batches of the network can stamp. */
  readonly commitment: number;
}

/** What a node cannot place, by neighbourhood: the first bits of the addresses, as `0` and `1`. */
export interface Backlog {
  readonly reserve: {
    /** Chunks, per stamp. */
    readonly capacity: number;
    /** Chunks. */
    readonly size: number;
    /** Chunks. */
    readonly sizeWithinRadius: number;
    /** Bits. */
    readonly storageRadius: number;
    /** It accepts no more chunks of its own neighbourhood. */
    readonly full: boolean;
    /** Where another node would help it. */
    readonly missing?: string;
    /** Below the radius, and taken by no other node. */
    readonly leftovers: readonly { readonly neighborhood: string; readonly chunks: number }[];
    readonly refusal?: string;
  };
  /** Absent for older nodes. */
  readonly disk?: { readonly full: boolean };
  readonly uploads: readonly {
    readonly neighborhood: string;
    readonly chunks: number;
    readonly reason: string;
    /** Unix milliseconds. */
    readonly since: number;
  }[];
}

/** A page of the events that a node keeps; for all chunks, oldest first. */
export interface ChunkEvents extends ChunkEventPage {
  /** Most events that it keeps; 0: none, because its option `chunk-events` is 0. */
  readonly capacity: number;
}

/** The chain as a node sees it: block numbers, prices in token units. */
export interface ChainState {
  /** Number of the newest block. */
  readonly chainTip: number;
  /** Number of the newest block whose events it has read. */
  readonly block: number;
  /** What one chunk has paid since the contract began, token units. */
  readonly totalAmount: bigint;
  /** Price of a chunk per block, token units. */
  readonly currentPrice: bigint;
}

/** A peer that a node refuses for a while. */
export interface BlockedPeer {
  readonly address: string;
  readonly reason: string;
  /** Seconds. */
  readonly duration: number;
}

/** A batch as the network knows it. */
export interface NetworkBatch {
  readonly batchID: string;
  /** Normalised: what one chunk has paid in total when the batch expires. */
  readonly value: bigint;
  /** Block in which it was bought. */
  readonly start: number;
  /** 40 hex digits. */
  readonly owner: string;
  /** It stamps 2^depth chunks. */
  readonly depth: number;
  /** It has 2^bucketDepth buckets. */
  readonly bucketDepth: number;
  /** Seconds, -1 when unknown. */
  readonly batchTTL: number;
}

/** A postage batch as its owner sees it. Amounts in token units, times in seconds. */
export interface Stamp {
  readonly batchID: string;
  /** Stamps used in its fullest bucket. */
  readonly utilization: number;
  readonly usable: boolean;
  readonly label: string;
  /** It stamps 2^depth chunks. */
  readonly depth: number;
  /** What each chunk was paid for at the purchase, token units. */
  readonly amount: bigint;
  /** It has 2^bucketDepth buckets. */
  readonly bucketDepth: number;
  /** Block in which it was bought. */
  readonly blockNumber: number;
  readonly immutableFlag: boolean;
  readonly exists: boolean;
  /** Seconds, -1 when unknown. */
  readonly batchTTL: number;
  /** Stamps of a mutable batch that have taken the place of older chunks; nodes of ours in the dialect `svc` tell it. */
  readonly displaced?: number;
}

/** How full the buckets of a batch are, as its owner counts. */
export interface StampBuckets {
  readonly depth: number;
  /** Leading bits of an address that decide its bucket. */
  readonly bucketDepth: number;
  /** Slots of a bucket. */
  readonly bucketUpperBound: number;
  /** Slots given to chunks so far; a mutable batch begins again when a bucket is full. */
  readonly buckets: readonly { readonly bucketID: number; readonly collisions: number }[];
}

/** Progress of an upload, counts of chunks. */
export interface Tag {
  /** Its number, for the option `tag` of uploads. */
  readonly uid: number;
  /** Chunks that the content was split into. */
  readonly split: number;
  /** Chunks that the node had already. */
  readonly seen: number;
  /** Chunks stored by the node. */
  readonly stored: number;
  /** Chunks sent towards their neighbourhood. */
  readonly sent: number;
  /** Chunks that their neighbourhood has confirmed. */
  readonly synced: number;
  /** Root reference once the session is closed; empty before. */
  readonly address: string;
  readonly startedAt: string;
}

/** State of the chunks of a pinned root. */
export interface PinCheck {
  readonly reference: string;
  /** Chunks. */
  readonly total: number;
  /** Chunks. */
  readonly missing: number;
  /** Chunks whose bytes are damaged. */
  readonly invalid: number;
}

/** The result of an upload; references are 64 hex digits, 128 when encrypted. */
export interface Uploaded {
  /** With access control it is encrypted: useful only together with the history and its publisher. */
  readonly reference: string;
  /** Absent for a direct upload. */
  readonly tag?: number | undefined;
  /** For access-controlled content, 64 hex digits. */
  readonly history?: string | undefined;
}

/** Options of uploads. Default: deferred, stamped with the default batch. */
export interface UploadOptions {
  /** Default: the batch that the node got when its cluster started. */
  readonly batch?: string;
  /** Number of an existing tag. Default: a new one for a deferred upload. */
  readonly tag?: number | undefined;
  /** Default: the node's own, which is true. */
  readonly deferred?: boolean;
  readonly pin?: boolean;
  /** Encrypted content has a reference of 128 hex digits. */
  readonly encrypt?: boolean;
  /** 0 to 4. Default: the node's own: 0 for ours, 1 for some Bees. */
  readonly redundancyLevel?: number;
  /** Only readers listed in the history may read: at first the node alone. */
  readonly act?: boolean;
  /** 64 hex digits. Default: a new one. */
  readonly actHistory?: string;
  /** Limit for the whole upload, milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** What it takes to read access-controlled content, besides the reference and the key of a reader. */
export interface ReadAccess {
  /** Public key of the publisher, hex. */
  readonly publisher: string;
  /** 64 hex digits. */
  readonly history: string;
  /** With the readers of that time, seconds since the Unix epoch. Default: now. */
  readonly timestamp?: number;
}

/** A file whose bytes are still to come. */
export interface OpenedFile {
  readonly contentType: string;
  /** Undefined when the manifest names none. */
  readonly filename: string | undefined;
  /** Leaving the loop early ends the transfer. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** Options of downloads. */
export interface DownloadOptions {
  readonly access?: ReadAccess;
  /** Whether chunks fetched from the network stay in the node's cache. Default: the node's own, which is true. */
  readonly cache?: boolean;
  /** Limit for the whole download, milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}
