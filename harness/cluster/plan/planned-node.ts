import type { DialectName } from '../../client/dialect.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { FlavourName, NodeKeys, NodeMode } from '../../flavours/flavour.ts';
import type { TamperSettings } from '../../flavours/tampered/settings.ts';
import type { NodeGroup } from './schema.ts';

export function nodeName(index: number): string {
  return `node-${index}`;
}

export function numberOf(name: string): number {
  return Number(name.split('-')[1]);
}

export interface PlannedNode {
  /** Number among all nodes that the cluster ever had, from 0; name and keys follow from it. */
  readonly index: number;
  readonly name: string;
  readonly flavour: FlavourName;
  readonly declared: FlavourInput | undefined;
  readonly mode: NodeMode;
  readonly dialect: DialectName;
  /** Path of its program, for flavours that need one. */
  readonly binary: string | undefined;
  readonly image: string | undefined;
  readonly options: NodeGroup['options'];
  readonly batches: NodeGroup['batches'];
  readonly resources: NodeGroup['resources'];
  readonly tampered: TamperSettings | undefined;
  readonly identity: NodeKeys;
  readonly peers: readonly string[] | undefined;
}
