/** The shape of a cluster's definition, from the table of options: its keys, their defaults, and what is expected. */
import { z } from 'zod';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import { CLUSTER_OPTIONS, type ClusterTable } from './options/table.ts';

/** Options that are keys of a file. */
type Shape = {
  -readonly [Key in keyof ClusterTable as ClusterTable[Key] extends { readonly schema: z.ZodType }
    ? Key
    : never]: ClusterTable[Key] extends { readonly schema: infer Schema } ? Schema : never;
};

const shape = Object.fromEntries(
  Object.entries(CLUSTER_OPTIONS).flatMap(([key, option]) =>
    'schema' in option ? [[key, option.schema]] : [],
  ),
) as Shape;

/** `DefinitionInput` declares the type of its input. */
export const schema = z.strictObject(shape, { error: 'a map' });

/** Changes of nodes since the start. Added ones are the last groups. */
export interface Growth {
  /** Nodes at the start, which its chain was made with. */
  readonly from: number;
  /** Numbers of nodes that were removed for good, or whose addition failed: never given again. */
  readonly gone: readonly number[];
}

/** A definition with every default filled in; `DefinitionInput` is what people write. */
export type Definition = Omit<Written, 'nodes'> & {
  readonly nodes: readonly NodeGroup[];
  readonly grown?: Growth | undefined;
  /** What nodes are now that got another program or mode since their start, by number. */
  readonly upgraded?: Readonly<Record<number, NodeGroup>> | undefined;
  /**
   * What such nodes were under other flavours, one for each, the latest first: back there, they have its options
   * again.
   */
  readonly formerly?: Readonly<Record<number, readonly NodeGroup[]>> | undefined;
};
export type NodeGroup = Written['nodes'][number] & {
  /** Its flavour's file; absent: a known flavour. */
  readonly declared?: FlavourInput | undefined;
};
type Written = z.output<typeof schema>;

interface Marked {
  readonly $bigint: string;
}

/** @returns JSON that can be read back, with marked bigints */
export function writtenDefinition(definition: unknown): unknown {
  const text = JSON.stringify(definition, (_key, value: unknown) =>
    typeof value === 'bigint' ? ({ $bigint: value.toString() } satisfies Marked) : value,
  );
  return JSON.parse(text) as unknown;
}

/** @param written by this version's `writtenDefinition` */
export function readDefinition(written: unknown): Definition {
  return JSON.parse(JSON.stringify(written), (_key, value: unknown) =>
    isMarked(value) ? BigInt(value.$bigint) : value,
  ) as Definition;
}

function isMarked(value: unknown): value is Marked {
  return typeof value === 'object' && value !== null && '$bigint' in value;
}
