/** The interface to k6: two JSON files and its report lines. `scenarios/k6` reads and writes them. */

/** Variable of k6 that names the first file. */
export const CONFIG_VARIABLE = 'SVCNET_LOAD';
/**
 * Variable of k6 with the nodes' `Authorization` headers, JSON by name. Not a file, because the load's folder
 * is kept.
 */
export const AUTHORIZATION_VARIABLE = 'SVCNET_LOAD_AUTHORIZATION';
/** Prefix of the helper library's lines; all others are the script's own. */
export const RECORD_MARK = 'svcnet ';

/** Sizes that payloads are drawn from, bytes. */
export type SizeRange =
  | { readonly kind: 'uniform'; readonly min: number; readonly max: number }
  | { readonly kind: 'lognormal'; readonly median: number; readonly sigma: number; readonly max: number };

/** Sizes of payloads with their weights. */
export interface SizeDistribution {
  /** As it was given. */
  readonly text: string;
  /** Weights are positive. */
  readonly parts: readonly { readonly weight: number; readonly of: SizeRange }[];
}

/**
 * `zipf`: the n-th thing is read 1/n^exponent as often as the first, perhaps from caches. `cold`: all alike, from the
 * network.
 */
export type ReadPattern = { readonly kind: 'zipf'; readonly exponent: number } | { readonly kind: 'cold' };

/** A node that takes part in the load. */
export interface TargetNode {
  readonly name: string;
  /** URL of its API, as k6 reaches it. */
  readonly api: string;
  /** 64 hex digits. */
  readonly overlay: string;
  readonly mode: 'full' | 'light' | 'boot';
  /** Prefix of its header names. */
  readonly headerPrefix: string;
  /** Path of its files and collections. */
  readonly files: string;
  /** Batch for uploads there; empty: it has none, and only reads. */
  readonly batch: string;
}

/** Something that was uploaded before the load began. */
export interface StoredObject {
  readonly reference: string;
  readonly size: number;
  readonly index: string;
  /** Of its bytes, hex. */
  readonly sha256: string;
  /** Name of the node that it was uploaded on. */
  readonly node: string;
}

export interface LoadConfig {
  readonly seed: string;
  readonly label: string;
  readonly nodes: readonly TargetNode[];
  readonly sizes: SizeDistribution;
  readonly mode: 'direct' | 'deferred';
  readonly encrypt: boolean;
  readonly redundancyLevel: number;
  readonly reads: ReadPattern;
  /** Share of reads in the operations of `mixed`, 0 to 1. */
  readonly readShare: number;
  /** Share of downloads that is compared byte by byte; the others are compared by hash. */
  readonly compareShare: number;
  /** Files of a directory. */
  readonly files: number;
  /** Options of k6 that the script does not set itself. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Path of the summary that k6 writes at its end. */
  readonly summary: string;
  /** Path of the second file. */
  readonly data: string;
  /** The load's own feeds; for scripts that update feeds. */
  readonly feeds: FeedsConfig;
}

/** Feeds that a load updates. */
export interface FeedsConfig {
  /** 40 hex digits. */
  readonly owner: string;
  /** 64 hex digits each. */
  readonly topics: readonly string[];
  /** Bytes of an update. */
  readonly size: number;
  /** Updates that the warm-up may make; the load continues after them. */
  readonly warmupUpdates: number;
}

export interface LoadData {
  readonly objects: readonly StoredObject[];
  /** Ids and signatures of updates, 194 hex digits each: update i is number floor(i / feeds) of feed i % feeds. */
  readonly signatures: readonly string[];
}

/** One operation, as the helper library writes it. Times are ms since the epoch. */
export interface OperationRecord {
  readonly operation: string;
  readonly node: string;
  /** Start of the k6 scenario that it belongs to. */
  readonly scenarioMs: number;
  readonly endMs: number;
  /** Number of the iteration in its scenario. */
  readonly iteration: number;
  readonly warmup?: true;
  /** From the intended start, in an open model; successes only. */
  readonly latencyMs?: number;
  readonly bytes?: number;
  readonly subject?: string;
  readonly upload?: UploadRecord;
  readonly failure?: FailureRecord;
}

/** An upload that a load has made; sizes in bytes. */
export interface UploadRecord {
  readonly kind: 'bytes' | 'directory' | 'chunks' | 'feed';
  readonly batch: string;
  readonly reference: string;
  readonly size: number;
  readonly index: string;
  readonly tag?: number;
  readonly requestedAtMs: number;
}

export interface FailureRecord {
  /** Class of the taxonomy, where the script knows it. */
  readonly class?: string;
  /** HTTP status; 0: no answer. */
  readonly status?: number;
  /** k6's error code, when there was no answer. */
  readonly code?: number;
  readonly message: string;
}
