/**
 * A script, how its iterations are started over time, and what they move. An open model starts them by the clock, whatever
 * the network answers; in a closed one each user starts its next iteration when the last one has ended.
 */
import type { OperationSummary, Recorder } from '../../metrics/recorder.ts';
import type { ReadPattern, SizeDistribution, StoredObject, TargetNode, UploadRecord } from './k6/config.ts';
import type { Threshold, ThresholdVerdict } from './thresholds.ts';

export const LOAD_PROFILES = ['constant', 'ramp', 'spike', 'soak'] as const;
/** How the rate of a load changes over its time. */
export type LoadProfile = (typeof LOAD_PROFILES)[number];

/** Iterations per second, or users; the highest for `ramp` and `spike`. */
export type LoadModel =
  | { readonly model: 'open'; readonly rate: number }
  | { readonly model: 'closed'; readonly vus: number };

/** A load as data: it alone determines what k6 receives. */
export interface LoadPlan {
  /** Built-in, or a path. */
  readonly script: string;
  readonly profile: LoadProfile;
  readonly model: LoadModel;
  /** The only uploader; undefined: all with a batch, in turn. */
  readonly node: string | undefined;
  readonly durationMs: number;
  readonly warmupMs: number;
  readonly sizes: SizeDistribution;
  readonly mode: 'direct' | 'deferred';
  readonly encrypt: boolean;
  /** 0 to 4. */
  readonly redundancyLevel: number;
  readonly reads: ReadPattern;
  readonly objects: number;
  /** The share of reads in the operations of `mixed`, 0 to 1. */
  readonly readShare: number;
  /** The share of downloads compared byte by byte; the others are compared by hash. */
  readonly compareShare: number;
  readonly files: number;
  readonly thresholds: readonly Threshold[];
  /** All content follows from it and from the label. */
  readonly seed: bigint;
  readonly label: string;
}

/** About once a second. Rates are of the last seconds, percentiles of all of it. */
export interface LoadProgress {
  /** Operations per second. */
  readonly rate: number;
  readonly p95Ms: number | null;
  readonly operations: number;
  readonly errors: number;
  /** Since the first operation, and planned in total, with the warm-up. */
  readonly goneMs: number;
  readonly totalMs: number;
}

/** Something that k6 has uploaded, in the warm-up too. */
export interface LoadUpload extends UploadRecord {
  readonly node: string;
  readonly acknowledgedAtMs: number;
}

/** The result of a load. Only `uploads` includes the warm-up. */
export interface LoadStep {
  /** Iterations per second. */
  readonly startedRate: number;
  /** Iterations per second without any error. */
  readonly achievedRate: number;
  /** Those that the script did not catch; in the warm-up too. */
  readonly exceptions: { readonly count: number; readonly first: string | undefined };
  /** The script itself has called the load failed (`exec.test.fail()`). */
  readonly markedFailed: boolean;
  /** Iterations for which every user was busy. Open models only. */
  readonly dropped: number;
  readonly operations: readonly OperationSummary[];
  readonly thresholds: readonly ThresholdVerdict[];
  /** Shares of one core; undefined where it cannot be told. */
  readonly k6Cpu: number | undefined;
  /** k6's: 0, 99 for a threshold, 110 when `markedFailed`. */
  readonly exitCode: number;
  /** When the measured part began, ms since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly uploads: readonly LoadUpload[];
}

/** Batches and things to read, shared by a plan's loads. */
export interface PreparedLoad {
  readonly nodes: readonly TargetNode[];
  readonly batches: readonly PreparedBatch[];
  readonly objects: readonly StoredObject[];
}

/** A batch that a load stamps with. */
export interface PreparedBatch {
  readonly node: string;
  readonly id: string;
  readonly depth: number;
  /** False: the node already had it. */
  readonly bought: boolean;
}

/** Options of one load. */
export interface LoadOptions {
  readonly signal: AbortSignal;
  readonly folder: string;
  /** Program; default: `SVCNET_K6`, then `PATH`, then the container image. */
  readonly k6?: string | undefined;
  readonly prepared?: PreparedLoad;
  /** The plan's rate must apply: a script that chooses its own is refused. */
  readonly planned?: true;
  readonly onProgress?: (progress: LoadProgress) => void;
  /** Receives every measured operation as it ends. */
  readonly recorder?: Pick<Recorder, 'succeeded' | 'failed'>;
}
