import type { DialectName } from '../../client/dialect.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { FlavourName, NodeKeys, NodeMode } from '../../flavours/flavour.ts';
import type { TamperSettings } from '../../flavours/tampered/settings.ts';
import type { NodeGroup } from './schema.ts';

/** @param index its number */
export function nodeName(index: number): string {
  return `node-${index}`;
}

/** Number of a node that svcnet started. */
export function numberOf(name: string): number {
  return Number(name.split('-')[1]);
}

/** One node of a cluster, wherever it will run. */
export interface PlannedNode {
  /** Number among all nodes that the cluster ever had, from 0; its name and keys follow from it. */
  readonly index: number;
  readonly name: string;
  readonly flavour: FlavourName;
  /** Its flavour file; undefined: a known flavour. */
  readonly declared: FlavourInput | undefined;
  readonly mode: NodeMode;
  readonly dialect: DialectName;
  /** Path of its program, for flavours that need one. */
  readonly binary: string | undefined;
  /** Name of a container's image; absent: the one that this package builds. */
  readonly image: string | undefined;
  /** Node options of its group. */
  readonly options: NodeGroup['options'];
  /** The batches it owns at the start, if they differ from those of the cluster. */
  readonly batches: NodeGroup['batches'];
  /** Limits of its container. */
  readonly resources: NodeGroup['resources'];
  /** Its surroundings can fail, or it breaks rules; undefined: neither. */
  readonly tampered: TamperSettings | undefined;
  readonly identity: NodeKeys;
  /** Names of its only peers; undefined: any. */
  readonly peers: readonly string[] | undefined;
}
