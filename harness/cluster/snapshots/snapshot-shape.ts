/** What a snapshot must be like to be listed and started: it may be damaged, or have come from elsewhere. */
import { join } from 'node:path';
import { z } from 'zod';
import { entriesOf, NAME_PATTERN } from '../../base/own-folder.ts';
import { LOCAL_DRIVERS } from '../../places/facts.ts';
import { nodeName as nodeNameText } from '../plan/fields.ts';
import { REAL_NODES_MAX } from '../plan/options/nodes.ts';
import { nodeName } from '../plan/planned-node.ts';

const text = z.string({ error: 'text' });
const count = z.int({ error: 'a whole number' }).min(0, { error: 'a whole number from 0' });

/** The last moment that a date can name. */
const MS_MAX = 8.64e15;

/** Every version can read these. */
const head = z.looseObject(
  {
    format: z.int({ error: 'a number' }),
    version: text,
    anvil: text,
    name: text,
    savedAt: count.max(MS_MAX, { error: 'milliseconds' }),
  },
  { error: 'a snapshot' },
);

/** Nodes of this package alone: what else there is cannot be saved, and needs a program or an image. */
const group = z.looseObject(
  {
    flavour: z.enum(['svc', 'dishonest'], { error: 'svc or dishonest' }),
    count: z
      .int({ error: 'a count' })
      .min(1, { error: 'a count from 1' })
      .max(REAL_NODES_MAX, { error: `a count up to ${REAL_NODES_MAX}` }),
    binary: z.undefined({ error: 'none: a snapshot names no programs' }).optional(),
    image: z.undefined({ error: 'none: a snapshot names no images' }).optional(),
    declared: z.undefined({ error: 'none: a snapshot describes no programs' }).optional(),
    options: z.record(z.string(), z.unknown(), { error: 'a map of node options' }),
  },
  { error: 'a group' },
);
const startable = z.looseObject({
  cluster: text.regex(NAME_PATTERN, { error: 'the name of a cluster' }),
  seed: text.regex(/^\d{1,20}$/, { error: 'decimal digits' }),
  driver: z.enum(LOCAL_DRIVERS, { error: `one of ${LOCAL_DRIVERS.join(', ')}` }),
  definition: z.looseObject(
    {
      nodes: z.array(group, { error: 'a list of groups' }).min(1, { error: 'at least one group' }),
      flavours: z
        .array(z.unknown(), { error: 'a list' })
        .max(0, { error: 'none: a snapshot describes no programs' })
        .optional(),
      driver: z.enum(LOCAL_DRIVERS, { error: `one of ${LOCAL_DRIVERS.join(', ')}` }),
      chain: z.looseObject({ blockTime: z.number({ error: 'milliseconds' }) }, { error: 'a map' }),
      batches: z.array(z.looseObject({ depth: count }), { error: 'a list of batches' }),
      grown: z
        .looseObject(
          { from: count, gone: z.array(count, { error: 'a list of numbers' }) },
          { error: 'a map' },
        )
        .optional(),
      upgraded: z.record(z.string(), group, { error: 'a map of nodes' }).optional(),
      prepare: z.looseObject(
        {
          uploads: z.array(z.unknown(), { error: 'a list' }),
          cheques: z.array(z.unknown(), { error: 'a list' }),
        },
        { error: 'a map' },
      ),
    },
    { error: 'a definition' },
  ),
  batches: z.array(z.looseObject({ id: text, node: nodeNameText, depth: count }), {
    error: 'a list of batches',
  }),
  height: count,
  sizeBytes: count,
  nodes: z
    .array(z.looseObject({ name: nodeNameText }, { error: 'a node' }), { error: 'a list of nodes' })
    .max(REAL_NODES_MAX, { error: `at most ${REAL_NODES_MAX} nodes` }),
});

/** @param folder its name @returns what is wrong with the head; undefined: nothing */
export function headMistake(record: unknown, folder: string): string | undefined {
  const parsed = head.safeParse(record);
  if (!parsed.success) return mistakeOf(parsed.error);
  const { name } = parsed.data;
  return name === folder ? undefined : `name: got '${name}', expected '${folder}', the name of its folder`;
}

/** The same of a record of this version. */
export function recordMistake(record: unknown): string | undefined {
  const parsed = startable.safeParse(record);
  if (!parsed.success) return mistakeOf(parsed.error);
  const { nodes, definition } = parsed.data;
  const names = new Set(nodes.map(({ name }) => name));
  const given = definition.nodes.reduce((sum, one) => sum + one.count, 0);
  const gone = new Set(definition.grown?.gone);
  const wanted = Array.from({ length: given }, (_, index) => index).filter((index) => !gone.has(index));
  if (
    names.size === nodes.length &&
    nodes.length === wanted.length &&
    wanted.every((index) => names.has(nodeName(index)))
  )
    return undefined;
  const without = gone.size === 0 ? '' : ` without ${[...gone].map(nodeName).join(', ')}`;
  return `nodes: got ${nodes.length}, expected node-0 to node-${given - 1}${without}, as its definition says`;
}

/** Copies follow no links. @returns the first entry that is neither file nor folder */
export function oddEntry(folder: string): string | undefined {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory() && !entry.isFile()) return path;
    const odd = entry.isDirectory() ? oddEntry(path) : undefined;
    if (odd !== undefined) return odd;
  }
  return undefined;
}

function mistakeOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join('.') ?? ''}: expected ${issue?.message ?? 'another value'}`.replace(/^: /, '');
}
