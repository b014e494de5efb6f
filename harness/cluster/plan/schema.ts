import { z } from 'zod';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import { CLUSTER_OPTIONS, type ClusterTable } from './options/table.ts';

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

export const schema = z.strictObject(shape, { error: 'a map' });

export interface Growth {
  /** Nodes at the start, which its chain was made with. */
  readonly from: number;
  /** Numbers never given again: of nodes removed for good, or whose addition failed. */
  readonly gone: readonly number[];
}

/** `DefinitionInput` with every default filled in. */
export type Definition = Omit<Written, 'nodes'> & {
  readonly nodes: readonly NodeGroup[];
  readonly grown?: Growth | undefined;
  /** What upgraded nodes are now, by number. */
  readonly upgraded?: Readonly<Record<number, NodeGroup>> | undefined;
  /** What such nodes were under other flavours, the latest first: back there, they have its options again. */
  readonly formerly?: Readonly<Record<number, readonly NodeGroup[]>> | undefined;
};
export type NodeGroup = Written['nodes'][number] & {
  readonly declared?: FlavourInput | undefined;
};
type Written = z.output<typeof schema>;

interface Marked {
  readonly $bigint: string;
}

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
