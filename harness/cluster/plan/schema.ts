/** The shape of a cluster's definition: its keys, their defaults, and messages saying what was expected. */
import { z } from 'zod';
import { DURATION_EXPECTED } from '../../../formats/units.ts';
import { OPTIONS } from '../../../node/options.ts';
import { durationMs, sizeBytes } from '../../base/fields.ts';
import { DIALECT_NAMES } from '../../client/dialect.ts';
import { BEHAVIOUR_NAMES } from '../../flavours/dishonest/names.ts';
import { FLAVOUR_NAMES, NODE_MODES } from '../../flavours/flavour.ts';
import { CREDITS, PROFILES } from '../../flavours/profiles.ts';
import { DRIVER_DEFAULT, DRIVER_NAMES } from '../../places/driver.ts';
import {
  amount,
  clusterName,
  ipv4,
  list,
  nodeName,
  oneOf,
  optionValue,
  prefix,
  privateKey,
  seed,
  whole,
} from './fields.ts';
import { PRESET_NAMES } from './presets/names.ts';

/** More do not fit on one machine: each is a process of about 100 MB. */
export const NODES_MAX = 200;
/** Networks that real nodes treat as public; a test cluster must not be mistaken for one. */
const PUBLIC_NETWORK_IDS = [1, 5, 10];
const PUBLIC_CHAIN_IDS = [100, 11_155_111];
/** The lowest price the oracle accepts. */
const STORAGE_PRICE_MIN = 24_000;
/** The oracle reserves ten of its 32 bits for fractions of a price. */
const STORAGE_PRICE_MAX = 2 ** 22 - 1;
/** Ports of each node in a fixed range: leaves room for the chain's, and gives readable numbers. */
const PORT_STRIDE = 10;
const UINT32_MAX = 4_294_967_295;
/** Nodes of ours accept no longer one. */
const BLOCK_TIME_MAX_MS = 3_600_000;
/** Smallest depth a batch may have: one more than its 16 bucket bits. */
const BATCH_DEPTH_MIN = 17;
const BATCH_DEPTH_MAX = 40;

/** Batches of a node, which buys one after the other. */
const BATCHES_MAX = 100;
/** Between any two nodes. */
const LINKS_MAX = (NODES_MAX * (NODES_MAX - 1)) / 2;
/** A node has fewer options. */
const OPTIONS_MAX = 200;
const UPLOADS_MAX = 1000;
const CHEQUES_MAX = 10_000;
const ORIGINS_MAX = 100;

const DEFAULT_BATCH_TTL_MS = 86_400_000;
/** Deposit of a chequebook, token units: 50 tokens (contracts.md 12). */
const DEFAULT_DEPOSIT = 500_000_000_000_000_000n;

const BATCHES_EXPECTED = 'false, a map with depth, ttl and immutable, or a list of such maps';
const batch = z.strictObject(
  {
    depth: whole(BATCH_DEPTH_MIN, BATCH_DEPTH_MAX).default(20),
    ttl: durationMs.default(DEFAULT_BATCH_TTL_MS),
    immutable: z.boolean({ error: 'true or false' }).default(true),
  },
  { error: BATCHES_EXPECTED },
);
/** What each node owns at the start: one batch for each map. The first one is its default batch. */
const batches = z
  .union(
    [z.literal(false), batch, list(batch, 'a list of maps with depth, ttl and immutable', BATCHES_MAX)],
    { error: BATCHES_EXPECTED },
  )
  .transform((value) => (value === false ? [] : Array.isArray(value) ? value : [value]));

const RESOURCES_EXPECTED = 'a map with cpus and memory';
const CPUS_EXPECTED = 'a number of processors from 0.01 to 256';
/** Limits of each node of a group; only containers have them. */
const resources = z.strictObject(
  {
    cpus: z
      .number({ error: CPUS_EXPECTED })
      .min(0.01, { error: CPUS_EXPECTED })
      .max(256, { error: CPUS_EXPECTED })
      .optional(),
    memory: sizeBytes.optional(),
  },
  { error: RESOURCES_EXPECTED },
);

const BEHAVIOURS_EXPECTED = `a list of ${BEHAVIOUR_NAMES.join(', ')}`;
const NEIGHBOURHOODS_EXPECTED = 'the bits that overlays begin with, or a list of them, one for each node';
const group = z.strictObject(
  {
    flavour: oneOf(FLAVOUR_NAMES).default('svc'),
    mode: oneOf(NODE_MODES).default('full'),
    count: whole(1, NODES_MAX).default(1),
    /** Path of the program, for flavours that are not part of this package. */
    binary: z.string({ error: 'path of a program' }).min(1, { error: 'path of a program' }).optional(),
    /** Image of a container, instead of the one that this package builds. */
    image: z.string({ error: 'name of an image' }).min(1, { error: 'name of an image' }).optional(),
    options: z
      .record(z.string(), optionValue, { error: 'a map of node options to values' })
      .refine((options) => Object.keys(options).length <= OPTIONS_MAX, {
        error: `a map of at most ${OPTIONS_MAX} node options to values`,
      })
      .default({}),
    /** Private keys of the nodes' accounts, one for each; instead of those that follow from the seed. */
    keys: list(privateKey, 'a list of private keys', NODES_MAX).optional(),
    /** Where the overlays are mined: one for all nodes, or one for each. */
    neighbourhoods: z
      .union([prefix, list(prefix, NEIGHBOURHOODS_EXPECTED, NODES_MAX)], {
        error: NEIGHBOURHOODS_EXPECTED,
      })
      .optional(),
    /** Instead of those of the cluster. */
    batches: batches.optional(),
    resources: resources.optional(),
    /** What nodes of flavour dishonest do; giving it makes the group dishonest. */
    dishonest: list(oneOf(BEHAVIOUR_NAMES), BEHAVIOURS_EXPECTED, BEHAVIOUR_NAMES.length)
      .min(1, { error: BEHAVIOURS_EXPECTED })
      .optional(),
  },
  { error: 'a map with flavour, mode, count, options and more' },
);

const nodes = z
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

const chain = z.strictObject(
  {
    blockTime: durationMs
      .refine((ms) => ms <= BLOCK_TIME_MAX_MS, { error: `${DURATION_EXPECTED}, at most 1h` })
      .default(1000),
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
    /** Nodes reach the chain through a proxy that can be made to fail. */
    gate: z.boolean({ error: 'true or false' }).default(false),
    /** Of one chunk and block, token units. */
    storagePrice: whole(STORAGE_PRICE_MIN, STORAGE_PRICE_MAX).default(STORAGE_PRICE_MIN),
  },
  { error: 'a map with blockTime, chainId, networkId, port, gate and storagePrice' },
);

const SWAP_EXPECTED = 'true, false, or a map with deposit';
/** Debts are paid by cheques, each node from its own chequebook. */
const swap = z
  .union(
    [z.boolean(), z.strictObject({ deposit: amount.default(DEFAULT_DEPOSIT) }, { error: SWAP_EXPECTED })],
    { error: SWAP_EXPECTED },
  )
  .transform((value) => (value === true ? { deposit: DEFAULT_DEPOSIT } : value));

const PORTS_EXPECTED =
  "'free', the first port of a fixed range, from 1024 to 65000, or a map with first, stride and debug";
const firstPort = z
  .int({ error: PORTS_EXPECTED })
  .min(1024, { error: PORTS_EXPECTED })
  .max(65_000, { error: PORTS_EXPECTED });
/** p2p is one above the API. The debug API is two above it, or anywhere. */
const ports = z
  .union(
    [
      z.literal('free'),
      firstPort,
      z.strictObject(
        {
          first: firstPort,
          stride: whole(2, 1000).default(PORT_STRIDE),
          debug: oneOf(['range', 'free']).default('range'),
        },
        { error: PORTS_EXPECTED },
      ),
    ],
    { error: PORTS_EXPECTED },
  )
  .transform((value) =>
    typeof value === 'number' ? { first: value, stride: PORT_STRIDE, debug: 'range' as const } : value,
  );

const TOPOLOGY_EXPECTED =
  'mesh, ring, star, or a map with random (peers of each node) or links (pairs of nodes)';
/** Which nodes are connected. */
const topology = z.union(
  [
    oneOf(['mesh', 'ring', 'star']),
    z.strictObject({ random: whole(1, NODES_MAX) }, { error: TOPOLOGY_EXPECTED }),
    z.strictObject(
      {
        links: list(
          z.tuple([nodeName, nodeName], { error: 'a pair of nodes, such as [node-0, node-1]' }),
          'a list of pairs of nodes',
          LINKS_MAX,
        ).min(1, { error: 'at least one pair of nodes' }),
      },
      { error: TOPOLOGY_EXPECTED },
    ),
  ],
  { error: TOPOLOGY_EXPECTED },
);

/** What every node's account starts with, base units (contracts.md 12). */
const funds = z.strictObject(
  { native: amount.default(10n ** 19n), tokens: amount.default(10n ** 20n) },
  { error: 'a map with native and tokens' },
);

const UPLOAD_EXPECTED = 'a map with node and either size or path';
/** History that the cluster gets before its start completes. */
const prepare = z.strictObject(
  {
    /** Data that follows from the seed, or files and folders on disk. */
    uploads: list(
      z.union(
        [
          z.strictObject({ node: nodeName, size: sizeBytes }),
          z.strictObject({
            node: nodeName,
            path: z.string({ error: 'a path' }).min(1, { error: 'a path' }),
          }),
        ],
        { error: UPLOAD_EXPECTED },
      ),
      'a list of uploads',
      UPLOADS_MAX,
    ).default([]),
    /** Cheques that one node sends to another for chunks. */
    cheques: list(
      z.strictObject({ from: nodeName, to: nodeName }, { error: 'a map with from and to' }),
      'a list of cheques',
      CHEQUES_MAX,
    ).default([]),
    /** Minimum block height of the chain; mined after everything else, or before the nodes start if one is a Bee. */
    height: whole(1, 1_000_000).optional(),
  },
  { error: 'a map with uploads, cheques and height' },
);

const CORS_EXPECTED = OPTIONS['cors-allowed-origins'].expected;
const origin = z
  .string({ error: CORS_EXPECTED })
  .refine((text) => OPTIONS['cors-allowed-origins'].parse(text)?.length === 1, { error: CORS_EXPECTED });
/** Web origins that browsers may call the nodes from. */
const cors = z
  .union([origin, list(origin, 'a list of origins', ORIGINS_MAX)], {
    error: `${CORS_EXPECTED}, or a list of them`,
  })
  .transform((value): readonly string[] => (typeof value === 'string' ? [value] : value));

const HOSTS_EXPECTED = OPTIONS['allowed-hosts'].expected;
const hostName = z
  .string({ error: HOSTS_EXPECTED })
  .refine((text) => OPTIONS['allowed-hosts'].parse(text)?.length === 1, { error: HOSTS_EXPECTED });

/** Receiver of traces of the nodes, OTLP over HTTP. */
const otlp = z
  .string({ error: OPTIONS['tracing-endpoint'].expected })
  .refine((text) => OPTIONS['tracing-endpoint'].parse(text) !== undefined, {
    error: OPTIONS['tracing-endpoint'].expected,
  });

const STORES = ['memory', 'disk'] as const;

/** `DefinitionInput` declares the type of its input. */
export const schema = z.strictObject(
  {
    /** Source of all keys that are not given. */
    preset: oneOf(PRESET_NAMES).optional(),
    name: clusterName.optional(),
    seed: seed.optional(),
    nodes: nodes.prefault(5),
    chain: chain.prefault({}),
    driver: oneOf(DRIVER_NAMES).default(DRIVER_DEFAULT),
    /**
     * Where our own nodes keep their data; only embedded ones can do without a disk, and do so by default.
     */
    store: oneOf(STORES).optional(),
    /** Whether embedded nodes share results of pure functions; nodes in separate processes cannot. */
    shareResults: z.boolean({ error: 'true or false' }).default(true),
    /** Clocks and disks of our own nodes, and the chain's endpoint, can be made to fail. */
    machineFaults: z.boolean({ error: 'true or false' }).default(false),
    profile: oneOf(PROFILES).default('fast'),
    /** Names and values that our own nodes use on HTTP. */
    dialect: oneOf(DIALECT_NAMES).default('svc'),
    /** Address that the nodes' APIs and the chain listen on. */
    listen: ipv4.default('127.0.0.1'),
    topology: topology.default('mesh'),
    /** Our own nodes start without their peers' addresses, even if the testbed could provide them. */
    coldGossip: z.boolean({ error: 'true or false' }).default(false),
    /** Traffic between nodes passes through a proxy, where it can be delayed, held back or broken. */
    linkFaults: z.boolean({ error: 'true or false' }).default(false),
    ports: ports.default('free'),
    cors: cors.prefault([]),
    /**
     * Host names that our own nodes' APIs answer to, besides addresses, localhost and the nodes' own names.
     */
    allowedHosts: list(hostName, 'a list of host names', ORIGINS_MAX).default([]),
    otlp: otlp.optional(),
    batches: batches.prefault({}),
    swap: swap.prefault(true),
    funds: funds.prefault({}),
    prepare: prepare.prefault({}),
    /** How much peers lend each other before they want to be paid. */
    credit: oneOf(CREDITS).optional(),
  },
  { error: 'a map' },
);

/** A definition with every default filled in; `DefinitionInput` is what people write. */
export type Definition = z.output<typeof schema>;
export type NodeGroup = Definition['nodes'][number];

/** Keys allowed at a path of the document. */
export function keysAt(path: readonly PropertyKey[]): string[] {
  const [top] = path;
  if (top === 'nodes') return keysOfGroup(path);
  if (top === 'chain') return Object.keys(chain.shape);
  if (top === 'batches') return Object.keys(batch.shape);
  if (top === 'swap') return ['deposit'];
  if (top === 'ports') return ['first', 'stride', 'debug'];
  if (top === 'topology') return ['random', 'links'];
  if (top === 'funds') return Object.keys(funds.shape);
  if (top === 'prepare') return keysOfPrepare(path);
  return Object.keys(schema.shape);
}

function keysOfGroup([, , key]: readonly PropertyKey[]): string[] {
  if (key === 'batches') return Object.keys(batch.shape);
  if (key === 'resources') return Object.keys(resources.shape);
  return Object.keys(group.shape);
}

function keysOfPrepare([, key]: readonly PropertyKey[]): string[] {
  if (key === 'uploads') return ['node', 'size', 'path'];
  if (key === 'cheques') return ['from', 'to'];
  return Object.keys(prepare.shape);
}
