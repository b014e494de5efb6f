/** Two JSON files and the report lines of k6. `scenarios/k6` reads and writes them. */

/** Variable of k6 that names the first file. */
export const CONFIG_VARIABLE = 'SVCNET_LOAD';
/**
 * Variable of k6 with the nodes' `Authorization` headers, JSON by name. The load's folder is kept, so they are in no file.
 */
export const AUTHORIZATION_VARIABLE = 'SVCNET_LOAD_AUTHORIZATION';
export const RECORD_MARK = 'svcnet ';

/** Bytes. */
export type SizeRange =
  | { readonly kind: 'uniform'; readonly min: number; readonly max: number }
  | { readonly kind: 'lognormal'; readonly median: number; readonly sigma: number; readonly max: number };

/** Sizes of payloads with their weights, which are positive. */
export interface SizeDistribution {
  readonly text: string;
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
  readonly api: string;
  /** 64 hex digits. */
  readonly overlay: string;
  readonly mode: 'full' | 'light' | 'boot';
  readonly headerPrefix: string;
  readonly files: string;
  readonly batch: string;
}

/** Something that was uploaded before the load began. */
export interface StoredObject {
  readonly reference: string;
  readonly size: number;
  readonly index: string;
  readonly sha256: string;
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
  /** The share of reads in the operations of `mixed`, 0 to 1. */
  readonly readShare: number;
  /** The share of downloads compared byte by byte; the others are compared by hash. */
  readonly compareShare: number;
  readonly files: number;
  readonly options: Readonly<Record<string, unknown>>;
  readonly summary: string;
  readonly data: string;
  readonly feeds: FeedsConfig;
}

/** Feeds that a load updates. */
export interface FeedsConfig {
  /** 40 hex digits. */
  readonly owner: string;
  readonly topics: readonly string[];
  readonly size: number;
  readonly warmupUpdates: number;
}

export interface LoadData {
  readonly objects: readonly StoredObject[];
  /** Ids and signatures, 194 hex digits each: update i is number floor(i / feeds) of feed i % feeds. */
  readonly signatures: readonly string[];
}

/** Times are ms since the epoch. */
export interface OperationRecord {
  readonly operation: string;
  readonly node: string;
  readonly scenarioMs: number;
  readonly endMs: number;
  readonly iteration: number;
  readonly warmup?: true;
  /** Counts from the intended start in an open model; successes only. */
  readonly latencyMs?: number;
  readonly bytes?: number;
  readonly subject?: string;
  readonly upload?: UploadRecord;
  readonly failure?: FailureRecord;
}

/** An upload of a load; sizes in bytes. */
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
  readonly class?: string;
  /** 0: no answer. */
  readonly status?: number;
  readonly code?: number;
  readonly message: string;
}
