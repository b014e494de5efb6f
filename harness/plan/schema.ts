/** The shape of a cluster's definition: its keys, their defaults, and what was expected where something else is given. */
import { z } from 'zod';
import { OPTIONS } from '../../node/options.ts';
import { parseDurationMs } from '../base/words.ts';
import { FLAVOUR_NAMES, type FlavourName, NODE_MODES, type NodeMode } from '../flavours/flavour.ts';
import { CREDITS, PROFILES } from '../flavours/profiles.ts';
import type { NodeOptionsInput } from '../flavours/svc-options.ts';
import { DRIVER_DEFAULT, DRIVER_NAMES } from '../places/driver.ts';

/** More do not fit on one machine: each is a process of about 100 MB. */
export const NODES_MAX = 200;
/** Networks that real nodes treat as public; a test cluster must not be taken for one. */
const PUBLIC_NETWORK_IDS = [1, 5, 10];
const PUBLIC_CHAIN_IDS = [100, 11_155_111];
const UINT32_MAX = 4_294_967_295;
/** Smallest depth a batch may have: one more than its 16 buckets bits. */
const BATCH_DEPTH_MIN = 17;
const BATCH_DEPTH_MAX = 40;

const DEFAULT_BATCH_TTL_MS = 86_400_000;
/** Of a chequebook, token units: 50 tokens, half of what an account starts with (contracts.md 12). */
const DEFAULT_DEPOSIT = 500_000_000_000_000_000n;

const whole = (min: number, max: number) => {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

const oneOf = <const W extends readonly [string, ...string[]]>(words: W) =>
  z.enum(words, { error: `one of ${words.join(', ')}` });

const durationMs = z.string({ error: 'a duration such as 500ms, 5s or 2m' }).transform((text, context) => {
  const ms = parseDurationMs(text);
  if (ms === undefined) context.addIssue({ code: 'custom', message: 'a duration such as 500ms, 5s or 2m' });
  return ms ?? z.NEVER;
});

const NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,39}$/;
const clusterName = z.string({ error: 'text' }).regex(NAME_PATTERN, {
  error: 'at most 40 lower-case letters, digits and hyphens, starting with a letter or digit',
});

const SEED_EXPECTED = 'a whole number from 0 to 2^64 - 1';
const seed = z
  .union(
    [z.bigint(), z.int(), z.string().regex(/^(\d{1,20}|0x[0-9a-fA-F]{1,16})$/, { error: SEED_EXPECTED })],
    {
      error: SEED_EXPECTED,
    },
  )
  .transform(BigInt)
  .refine((value) => value >= 0n && value >> 64n === 0n, { error: SEED_EXPECTED });

const optionValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string({ error: 'text' }))], {
  error: 'text, a number, true, false or a list of texts',
});

const group = z.strictObject(
  {
    flavour: oneOf(FLAVOUR_NAMES).default('svc'),
    mode: oneOf(NODE_MODES).default('full'),
    count: whole(1, NODES_MAX).default(1),
    /** Path of the program, of flavours that are not part of this package. */
    binary: z.string({ error: 'path of a program' }).min(1, { error: 'path of a program' }).optional(),
    options: z.record(z.string(), optionValue, { error: 'a map of node options to values' }).default({}),
  },
  { error: 'a map with flavour, mode, count, binary and options' },
);

const nodes = z
  .union(
    [
      whole(1, NODES_MAX),
      z.array(group, { error: 'a list of groups' }).min(1, { error: 'at least one group' }),
    ],
    { error: `a whole number from 1 to ${NODES_MAX}, or a list of at least one group` },
  )
  .transform((value) => (typeof value === 'number' ? [group.parse({ count: value })] : value));

const chain = z.strictObject(
  {
    blockTime: durationMs.default(1000),
    chainId: whole(1, UINT32_MAX)
      .refine((id) => !PUBLIC_CHAIN_IDS.includes(id), {
        error: `an id that no public chain has (not ${PUBLIC_CHAIN_IDS.join(', ')})`,
      })
      .default(31_337),
    networkId: whole(1, UINT32_MAX)
      .refine((id) => !PUBLIC_NETWORK_IDS.includes(id), {
        error: `an id that no public network has (not ${PUBLIC_NETWORK_IDS.join(', ')})`,
      })
      .default(4020),
    port: whole(0, 65_535).default(0),
    /** Nodes reach it through a door that can be made to fail. */
    gate: z.boolean({ error: 'true or false' }).default(false),
  },
  { error: 'a map with blockTime, chainId, networkId, port and gate' },
);

const BATCHES_EXPECTED = 'false, or a map with depth, ttl and immutable';
const batches = z.union(
  [
    z.literal(false),
    z.strictObject(
      {
        depth: whole(BATCH_DEPTH_MIN, BATCH_DEPTH_MAX).default(20),
        ttl: durationMs.default(DEFAULT_BATCH_TTL_MS),
        immutable: z.boolean({ error: 'true or false' }).default(true),
      },
      { error: BATCHES_EXPECTED },
    ),
  ],
  { error: BATCHES_EXPECTED },
);

const AMOUNT_EXPECTED = 'a whole number of token units, as text when above 2^53';
const amount = z
  .union(
    [
      z.bigint(),
      z.int({ error: AMOUNT_EXPECTED }),
      z.string().regex(/^\d{1,78}$/, { error: AMOUNT_EXPECTED }),
    ],
    {
      error: AMOUNT_EXPECTED,
    },
  )
  .transform(BigInt)
  .refine((value) => value >= 0n, { error: AMOUNT_EXPECTED });

const SWAP_EXPECTED = 'true, false, or a map with deposit';
/** Debts are paid by cheques, each node from a chequebook of its own. */
const swap = z
  .union(
    [z.boolean(), z.strictObject({ deposit: amount.default(DEFAULT_DEPOSIT) }, { error: SWAP_EXPECTED })],
    { error: SWAP_EXPECTED },
  )
  .transform((value) => (value === true ? { deposit: DEFAULT_DEPOSIT } : value));

const PORTS_EXPECTED = "'free' or the first port of a fixed range, from 1024 to 65000";
const ports = z.union(
  [z.literal('free'), z.int().min(1024, { error: PORTS_EXPECTED }).max(65_000, { error: PORTS_EXPECTED })],
  { error: PORTS_EXPECTED },
);

const CORS_EXPECTED = OPTIONS['cors-allowed-origins'].expected;
const origin = z
  .string({ error: CORS_EXPECTED })
  .refine((text) => OPTIONS['cors-allowed-origins'].parse(text)?.length === 1, { error: CORS_EXPECTED });
/** Web origins that browsers may call the nodes from. */
const cors = z
  .union([origin, z.array(origin, { error: 'a list of origins' })], {
    error: `${CORS_EXPECTED}, or a list of them`,
  })
  .transform((value): readonly string[] => (typeof value === 'string' ? [value] : value));

const STORES = ['memory', 'disk'] as const;

export const schema = z.strictObject(
  {
    name: clusterName.optional(),
    seed: seed.optional(),
    nodes: nodes.prefault(5),
    chain: chain.prefault({}),
    driver: oneOf(DRIVER_NAMES).default(DRIVER_DEFAULT),
    /** Where nodes of our own keep their data; only embedded ones can do without a disk, and by default do. */
    store: oneOf(STORES).optional(),
    profile: oneOf(PROFILES).default('fast'),
    ports: ports.default('free'),
    cors: cors.prefault([]),
    batches: batches.prefault({}),
    swap: swap.prefault(true),
    /** How much peers lend each other before they want to be paid. */
    credit: oneOf(CREDITS).optional(),
  },
  { error: 'a map' },
);

interface GroupOf<F extends FlavourName, Options> {
  readonly flavour: F;
  readonly mode?: NodeMode;
  readonly count?: number;
  readonly binary?: string;
  readonly options?: Options;
}
type OptionValue = string | number | boolean | readonly string[];
/** Nodes of one kind. The options of our own are those of the node's option table; a Bee has its own. */
export type GroupInput =
  | (Omit<GroupOf<'svc', NodeOptionsInput>, 'flavour' | 'binary'> & { readonly flavour?: 'svc' })
  | GroupOf<'bee', Readonly<Record<string, OptionValue>>>;

/** What people write. */
export type DefinitionInput = Omit<z.input<typeof schema>, 'nodes'> & {
  readonly nodes?: number | readonly GroupInput[];
};
/** The same with every default filled in. */
export type Definition = z.output<typeof schema>;
export type NodeGroup = Definition['nodes'][number];

/** Keys that a place of the document may have. */
export function keysAt(path: readonly PropertyKey[]): string[] {
  const [top] = path;
  if (top === 'nodes') return Object.keys(group.shape);
  if (top === 'chain') return Object.keys(chain.shape);
  if (top === 'batches') return Object.keys(batches.options[1].shape);
  if (top === 'swap') return ['deposit'];
  return Object.keys(schema.shape);
}
