import type { Clock } from '../../../formats/clock.ts';
import type { Uploaded } from '../../client/types.ts';
import type { Driver } from '../../places/driver.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import type { Definition } from '../plan/schema.ts';
import type { ClusterRecord } from '../state/state.ts';

/** Steps of the start of a cluster, in their order. */
export type StartStep = 'image' | 'chain' | 'nodes' | 'mesh' | 'postage' | 'state';
/** A step of the start of a cluster, as it begins, progresses and ends. */
export interface StartProgress {
  readonly step: StartStep;
  readonly done: boolean;
  readonly detail: string;
  /** What the step still waits for, where its detail does not say so. */
  readonly missing?: string;
  /** Duration of the step, when it is done. */
  readonly ms?: number;
}

export interface StartContext {
  readonly clock: Clock;
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly definition: Definition;
  readonly seed: bigint;
  readonly driver: Driver;
  readonly ephemeral: boolean;
  /** Chain and nodes find their data, from a snapshot or their own, in the cluster's folder. */
  readonly continued: boolean;
  readonly before?: ClusterRecord | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly onProgress: (progress: StartProgress) => void;
  readonly onUploaded: (node: ClusterNode, uploaded: Uploaded) => void;
}
