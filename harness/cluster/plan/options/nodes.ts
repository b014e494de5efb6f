import { z } from 'zod';
import { durationMs, sizeBytes } from '../../../base/fields.ts';
import { FLAVOUR_NAME, flavourFile } from '../../../flavours/declared/file.ts';
import { BEHAVIOUR_NAMES } from '../../../flavours/dishonest/names.ts';
import { FLAVOUR_NAMES, NODE_MODES } from '../../../flavours/flavour.ts';
import { list, oneOf, optionValue, prefix, privateKey, text, trueOrFalse, whole } from '../fields.ts';

/** A cluster has nodes of fewer programs. */
const FLAVOURS_MAX = 20;
export const NODES_DEFAULT = 5;
/** Simulated nodes take a few MB each. */
export const NODES_MAX = 1000;
/** Each is a process of about 100 MB. */
export const REAL_NODES_MAX = 200;
/** One more than its 16 bucket bits. */
const BATCH_DEPTH_MIN = 17;
const BATCH_DEPTH_MAX = 40;
/** A node buys one after the other. */
const BATCHES_MAX = 100;
/** A node has fewer options. */
const OPTIONS_MAX = 200;
const DEFAULT_BATCH_TTL_MS = 86_400_000;

const BATCHES_EXPECTED = 'false, a map with depth, ttl and immutable, or a list of such maps';
const batch = z.strictObject(
  {
    depth: whole(BATCH_DEPTH_MIN, BATCH_DEPTH_MAX)
      .default(20)
      .describe('Batch depth: the batch stamps 2^depth chunks.'),
    ttl: durationMs.default(DEFAULT_BATCH_TTL_MS).describe('Time to live of the batch.'),
    immutable: trueOrFalse
      .default(true)
      .describe('A full bucket refuses more stamps; false: it overwrites its oldest stamp.'),
  },
  { error: BATCHES_EXPECTED },
);
export const batches = z
  .union(
    [z.literal(false), batch, list(batch, 'a list of maps with depth, ttl and immutable', BATCHES_MAX)],
    { error: BATCHES_EXPECTED },
  )
  .transform((value) => (value === false ? [] : Array.isArray(value) ? value : [value]));

const CPUS_EXPECTED = 'a number of processors from 0.01 to 256';
const resources = z.strictObject(
  {
    cpus: z
      .number({ error: CPUS_EXPECTED })
      .min(0.01, { error: CPUS_EXPECTED })
      .max(256, { error: CPUS_EXPECTED })
      .optional()
      .describe('Processors.'),
    memory: sizeBytes.optional().describe('Memory limit, for example 512MiB.'),
  },
  { error: 'a map with cpus and memory' },
);

const FLAVOUR_EXPECTED = `one of ${FLAVOUR_NAMES.join(', ')}, or the name in a flavour file`;
const BEHAVIOURS_EXPECTED = `a list of ${BEHAVIOUR_NAMES.join(', ')}`;
const NEIGHBOURHOODS_EXPECTED = 'the bits that overlays begin with, or a list of them, one for each node';
const group = z.strictObject(
  {
    flavour: z
      .string({ error: FLAVOUR_EXPECTED })
      .regex(FLAVOUR_NAME, { error: FLAVOUR_EXPECTED })
      .default('svc')
      .describe(
        'Implementation of the nodes: svc is the node of this package, bee a real Bee, dishonest an svc node that breaks rules; others are described under flavours.',
      ),
    mode: oneOf(NODE_MODES)
      .default('full')
      .describe(
        'full stores and forwards; light only uploads and downloads through others; boot only introduces nodes to each other.',
      ),
    count: whole(1, NODES_MAX).default(1).describe('Number of nodes in the group.'),
    binary: text('path of a program')
      .optional()
      .describe('Path of the program, for a Bee, a flavour file, or another program of our node.'),
    image: text('name of an image')
      .optional()
      .describe('Container image, instead of the one that this package builds.'),
    options: z
      .record(z.string(), optionValue, { error: 'a map of node options to values' })
      .refine((options) => Object.keys(options).length <= OPTIONS_MAX, {
        error: `a map of at most ${OPTIONS_MAX} node options to values`,
      })
      .default({})
      .describe('Node options, except those that the testbed sets itself.'),
    keys: list(privateKey, 'a list of private keys', NODES_MAX)
      .optional()
      .describe(
        'Private keys of the accounts, one per node, instead of keys derived from the seed. They are stored in the state folder.',
      ),
    neighbourhoods: z
      .union([prefix, list(prefix, NEIGHBOURHOODS_EXPECTED, NODES_MAX)], {
        error: NEIGHBOURHOODS_EXPECTED,
      })
      .optional()
      .describe(
        'Leading bits that overlays are mined for, at most 16: one text for all nodes, or a list with one per node.',
      ),
    batches: batches
      .optional()
      .describe('Batches of each node of the group, instead of those of the cluster; false: none.'),
    resources: resources.optional().describe('Resource limits of each node of the group; containers only.'),
    dishonest: list(oneOf(BEHAVIOUR_NAMES), BEHAVIOURS_EXPECTED, BEHAVIOUR_NAMES.length)
      .min(1, { error: BEHAVIOURS_EXPECTED })
      .optional()
      .describe('Behaviours that break the rules; they make the flavour of the group dishonest.'),
  },
  { error: 'a map with flavour, mode, count, options and more' },
);

export const nodes = z
  .union(
    [whole(1, NODES_MAX), list(group, 'a list of groups', NODES_MAX).min(1, { error: 'at least one group' })],
    { error: `a whole number from 1 to ${NODES_MAX}, or a list of at least one group` },
  )
  .transform((value) =>
    typeof value === 'number'
      ? [group.parse({ count: value })]
      : value.map((one) =>
          one.dishonest !== undefined && one.flavour === 'svc'
            ? { ...one, flavour: 'dishonest' as const }
            : one,
        ),
  );

export const flavours = list(flavourFile, 'a list of flavour files', FLAVOURS_MAX);
