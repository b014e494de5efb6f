/** The shape of a cluster's definition, from the table of options: its keys, their defaults, and what is expected. */
import { z } from 'zod';
import { CLUSTER_OPTIONS, type ClusterTable } from './options/table.ts';

/** The options that are keys of a file, each with its schema. */
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

/** A definition with every default filled in; `DefinitionInput` is what people write. */
export type Definition = z.output<typeof schema>;
export type NodeGroup = Definition['nodes'][number];
