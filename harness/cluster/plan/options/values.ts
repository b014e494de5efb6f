import { z } from 'zod';
import { ENGINE_DEFAULT, ENGINE_NAMES } from '../../../../chain/engine/engine.ts';
import { DURATION_EXPECTED } from '../../../../formats/units.ts';
import { OPTIONS } from '../../../../node/options.ts';
import { durationMs, sizeBytes } from '../../../base/fields.ts';
import { amount, list, nodeName, oneOf, text, trueOrFalse, whole } from '../fields.ts';
import { NODES_MAX, REAL_NODES_MAX } from './nodes.ts';

/** Real nodes treat these as public; a test cluster must not be mistaken for one. */
const PUBLIC_NETWORK_IDS = [1, 5, 10];
const PUBLIC_CHAIN_IDS = [100, 11_155_111];
/** The lowest price the oracle accepts. */
const STORAGE_PRICE_MIN = 24_000;
/** Ten of the oracle's 32 bits are fractions. */
const STORAGE_PRICE_MAX = 2 ** 22 - 1;
/** Leaves room for the chain's, and gives readable numbers. */
const PORT_STRIDE = 10;
const UINT32_MAX = 4_294_967_295;
/** Nodes of ours accept no longer one. */
const BLOCK_TIME_MAX_MS = 3_600_000;
const LINKS_MAX = (REAL_NODES_MAX * (REAL_NODES_MAX - 1)) / 2;
const UPLOADS_MAX = 1000;
const CHEQUES_MAX = 10_000;
const ORIGINS_MAX = 100;
/** Token units: 50 tokens (contracts.md 12). */
const DEFAULT_DEPOSIT = 500_000_000_000_000_000n;

export const chain = z.strictObject(
  {
    engine: oneOf(ENGINE_NAMES)
      .default(ENGINE_DEFAULT)
      .describe("What computes the blocks: Anvil, or an EVM in the chain's own process."),
    blockTime: durationMs
      .refine((ms) => ms <= BLOCK_TIME_MAX_MS, { error: `${DURATION_EXPECTED}, at most 1h` })
      .default(1000)
      .describe('Time between two blocks; 0s: blocks are mined on demand only.'),
    chainId: whole(1, UINT32_MAX)
      .refine((id) => !PUBLIC_CHAIN_IDS.includes(id), {
        error: `an id that no public chain has (not ${PUBLIC_CHAIN_IDS.join(', ')})`,
      })
      .default(31_337)
      .describe('Chain id; must not be that of a public chain.'),
    networkId: whole(1, UINT32_MAX)
      .refine((id) => !PUBLIC_NETWORK_IDS.includes(id), {
        error: `an id that no public network has (not ${PUBLIC_NETWORK_IDS.join(', ')})`,
      })
      .default(4020)
      .describe('Network id; must not be that of a public network.'),
    port: whole(0, 65_535).default(0).describe('Port of the JSON-RPC endpoint; 0: a free port.'),
    gate: trueOrFalse
      .default(false)
      .describe('Let the RPC endpoint be made to fail, for one node or for all.'),
    storagePrice: whole(STORAGE_PRICE_MIN, STORAGE_PRICE_MAX)
      .default(STORAGE_PRICE_MIN)
      .describe('Price of one chunk for one block, token units.'),
  },
  { error: 'a map with engine, blockTime, chainId, networkId, port, gate and storagePrice' },
);

const SWAP_EXPECTED = 'true, false, or a map with deposit';
export const swap = z
  .union(
    [
      z.boolean(),
      z.strictObject(
        {
          deposit: amount
            .default(DEFAULT_DEPOSIT)
            .describe('Initial deposit of each chequebook, in base units (10^16 are one token).'),
        },
        { error: SWAP_EXPECTED },
      ),
    ],
    { error: SWAP_EXPECTED },
  )
  .transform((value) => (value === true ? { deposit: DEFAULT_DEPOSIT } : value));

const PORTS_EXPECTED =
  "'free', the first port of a fixed range, from 1024 to 65000, or a map with first, stride and debug";
const firstPort = z
  .int({ error: PORTS_EXPECTED })
  .min(1024, { error: PORTS_EXPECTED })
  .max(65_000, { error: PORTS_EXPECTED });
export const ports = z
  .union(
    [
      z.literal('free'),
      firstPort,
      z.strictObject(
        {
          first: firstPort.describe('API port of the first node; its p2p port is one above.'),
          stride: whole(2, 1000)
            .default(PORT_STRIDE)
            .describe('Distance between the API ports of two nodes.'),
          debug: oneOf(['range', 'free'])
            .default('range')
            .describe('Debug API ports. range: two above the API port; free: any free port.'),
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
export const topology = z.union(
  [
    oneOf(['mesh', 'ring', 'star']),
    z.strictObject(
      {
        random: whole(1, NODES_MAX).describe(
          'Minimum number of peers of each node; the links follow from the seed.',
        ),
      },
      { error: TOPOLOGY_EXPECTED },
    ),
    z.strictObject(
      {
        links: list(
          z.tuple([nodeName, nodeName], { error: 'a pair of nodes, such as [node-0, node-1]' }),
          'a list of pairs of nodes',
          LINKS_MAX,
        )
          .min(1, { error: 'at least one pair of nodes' })
          .describe('Pairs of nodes.'),
      },
      { error: TOPOLOGY_EXPECTED },
    ),
  ],
  { error: TOPOLOGY_EXPECTED },
);

/** Base units (contracts.md 12). */
export const funds = z.strictObject(
  {
    native: amount.default(10n ** 19n).describe('Native coins, in base units (10^18 are one coin).'),
    tokens: amount.default(10n ** 20n).describe('Tokens, in base units (10^16 are one token).'),
  },
  { error: 'a map with native and tokens' },
);

const uploader = nodeName.describe('Node that uploads.');
export const prepare = z.strictObject(
  {
    uploads: list(
      z.union(
        [
          z.strictObject({ node: uploader, size: sizeBytes.describe('Size, for example 64KiB.') }),
          z.strictObject({
            node: uploader,
            path: text('a path').describe(
              'File or folder, relative to the cluster file and below its folder.',
            ),
          }),
        ],
        { error: 'a map with node and either size or path' },
      ),
      'a list of uploads',
      UPLOADS_MAX,
    )
      .default([])
      .describe('Uploads by nodes: a number of bytes generated from the seed, or a path.'),
    cheques: list(
      z.strictObject(
        { from: nodeName.describe('Node that pays.'), to: nodeName.describe('Node that is paid.') },
        { error: 'a map with from and to' },
      ),
      'a list of cheques',
      CHEQUES_MAX,
    )
      .default([])
      .describe('Cheques sent from one node to another.'),
    height: whole(1, 1_000_000).optional().describe('Minimum block height of the chain.'),
  },
  { error: 'a map with uploads, cheques and height' },
);

const CORS_EXPECTED = OPTIONS['cors-allowed-origins'].expected;
const origin = z
  .string({ error: CORS_EXPECTED })
  .refine((value) => OPTIONS['cors-allowed-origins'].parse(value)?.length === 1, { error: CORS_EXPECTED });
export const cors = z
  .union([origin, list(origin, 'a list of origins', ORIGINS_MAX)], {
    error: `${CORS_EXPECTED}, or a list of them`,
  })
  .transform((value): readonly string[] => (typeof value === 'string' ? [value] : value));

const HOSTS_EXPECTED = OPTIONS['allowed-hosts'].expected;
export const hostNames = list(
  z
    .string({ error: HOSTS_EXPECTED })
    .refine((value) => OPTIONS['allowed-hosts'].parse(value)?.length === 1, { error: HOSTS_EXPECTED }),
  'a list of host names',
  ORIGINS_MAX,
);

export const otlp = z
  .string({ error: OPTIONS['tracing-endpoint'].expected })
  .refine((value) => OPTIONS['tracing-endpoint'].parse(value) !== undefined, {
    error: OPTIONS['tracing-endpoint'].expected,
  });
