/**
 * Every option of a cluster, once: its key in a cluster file and in `Cluster.start`, its flag, or both. The schema, the
 * commands' flags, the line that repeats a run, and what a snapshot leaves to choose follow from this table.
 * `DefinitionInput` declares the keys for users of the library.
 */
import type { z } from 'zod';
import { CARRIERS } from '../../../../node/p2p/address/underlay.ts';
import { DIALECT_NAMES } from '../../../client/dialect.ts';
import { FLAVOUR_NAME } from '../../../flavours/declared/file.ts';
import { BEHAVIOUR_NAMES } from '../../../flavours/dishonest/names.ts';
import { FLAVOUR_NAMES, type FlavourName } from '../../../flavours/flavour.ts';
import { CREDITS, PROFILES } from '../../../flavours/profiles.ts';
import { DRIVER_DEFAULT, DRIVER_NAMES } from '../../../places/facts.ts';
import { KNOB_NAMES } from '../../../places/simulated/odd/knobs.ts';
import * as field from '../fields.ts';
import { PRESET_NAMES } from '../presets/names.ts';
import { TRUST } from '../trust.ts';
import { collect, type FlagSpec, oneOf, seed, someOf, whole } from './flag.ts';
import { INTERNET, network, networkFlag, writtenNetwork } from './network.ts';
import { batches, flavours, NODES_DEFAULT, NODES_MAX, nodes } from './nodes.ts';
import { chain, cors, funds, hostNames, otlp, ports, prepare, swap, topology } from './values.ts';

export interface ClusterFlag extends FlagSpec {
  readonly flag: string;
  readonly fallback?: string;
  /** Whether it is true of any running cluster; others are only for a fresh one. */
  readonly anyCluster?: true;
}

interface ClusterOption {
  /** Described for a file's reader; absent: no key stands for the flag. */
  readonly schema?: z.ZodType;
  /** Absent: only files and programs can say it. */
  readonly flag?: ClusterFlag;
  /** May be chosen beside a snapshot. */
  readonly besideSnapshot?: true;
}

export interface FlavourCount {
  readonly flavour: FlavourName;
  readonly count: number;
  readonly binary?: string;
}

function flavourCount(text: string, before: readonly FlavourCount[]): readonly FlavourCount[] {
  const [, name = '', binary, count = '1'] = /^([^=@]*)(?:@(.+?))?(?:=([^=]*))?$/.exec(text) ?? [];
  // A flavour file may add one; known once all options are read.
  const flavour = FLAVOUR_NAME.test(name) ? name : oneOf(FLAVOUR_NAMES)(name);
  return [
    ...before,
    { flavour, count: whole(1, NODES_MAX)(count), ...(binary === undefined ? {} : { binary }) },
  ];
}

export const CLUSTER_OPTIONS = {
  preset: {
    schema: field
      .oneOf(PRESET_NAMES)
      .optional()
      .describe(
        'Definition that supplies all keys not given here: factory is the five-node stack of the ecosystem.',
      ),
    flag: {
      flag: '--preset <preset>',
      help: `base definition: ${PRESET_NAMES.join(', ')}`,
      parse: oneOf(PRESET_NAMES),
    },
  },
  file: {
    flag: {
      flag: '-f, --file <path>',
      help: 'cluster file (YAML) of the fresh cluster; options override it',
    },
  },
  trust: {
    flag: {
      flag: TRUST,
      help: 'run code and programs that a foreign or copied file or run names',
      anyCluster: true,
    },
  },
  name: {
    schema: field.clusterName.optional().describe('Name of the cluster, for the option --name of commands.'),
    flag: {
      flag: '--name <cluster>',
      help: 'name of the cluster',
      fallback: 'local, or the preset',
      anyCluster: true,
    },
    besideSnapshot: true,
  },
  seed: {
    schema: field.seed
      .optional()
      .describe(
        'Seed for every random choice: keys, overlays, batch ids. Default: random. Write it as text when above 2^53.',
      ),
    flag: {
      flag: '--seed <number>',
      help: 'seed for every random choice',
      fallback: 'random',
      parse: seed,
      anyCluster: true,
    },
  },
  nodes: {
    schema: nodes.prefault(NODES_DEFAULT).describe('Number of nodes, or a list of groups of nodes.'),
    flag: {
      flag: '-n, --nodes <count>',
      help: 'number of svc nodes',
      fallback: String(NODES_DEFAULT),
      parse: whole(0, NODES_MAX),
    },
  },
  light: {
    flag: {
      flag: '--light <count>',
      help: 'additional light svc nodes',
      fallback: '0',
      parse: whole(0, NODES_MAX),
    },
  },
  flavours: {
    schema: flavours
      .default([])
      .describe('Node programs that this package does not know: paths of flavour files, or their content.'),
  },
  flavour: {
    flag: {
      flag: '--flavour <file>',
      help: 'flavour file of another node program, for --with NAME=COUNT (repeatable)',
      parse: collect,
      repeatable: true,
    },
  },
  with: {
    flag: {
      flag: '--with <flavour=count>',
      help: 'additional nodes of another flavour, with @PROGRAM before = for another program (repeatable)',
      parse: flavourCount,
      repeatable: true,
      write: ({ flavour, count, binary }: FlavourCount) =>
        `${flavour}${binary === undefined ? '' : `@${binary}`}=${count}`,
    },
  },
  beeBinary: {
    flag: {
      flag: '--bee-binary <path>',
      help: 'executable of nodes of flavour bee',
      fallback: 'SVCNET_BEE_BINARY',
    },
  },
  dishonest: {
    flag: {
      flag: '--dishonest <behaviours>',
      help: `comma-separated behaviours of one dishonest node, or of all that --with dishonest=COUNT adds: ${BEHAVIOUR_NAMES.join(', ')}`,
      parse: someOf(BEHAVIOUR_NAMES),
    },
  },
  trace: {
    flag: { flag: '--trace', help: 'record chunk events on svc nodes, for svcnet trace' },
  },
  chain: { schema: chain.prefault({}).describe('The chain of the cluster.') },
  driver: {
    schema: field.oneOf(DRIVER_NAMES).default(DRIVER_DEFAULT).describe('Where the nodes run.'),
    flag: {
      flag: '--driver <driver>',
      help: 'where nodes run: process (one each), embedded (all in one process), docker (a container each), simulated (in virtual time)',
      fallback: DRIVER_DEFAULT,
      parse: oneOf(DRIVER_NAMES),
    },
  },
  store: {
    schema: field
      .oneOf(['memory', 'disk'])
      .optional()
      .describe(
        'Where svc nodes keep their data: memory, the default of embedded nodes and only for them, or disk.',
      ),
  },
  shareResults: {
    schema: field.trueOrFalse
      .default(true)
      .describe(
        'Embedded nodes share the results of verifying the same bytes; false: each verifies for itself, as separate processes do.',
      ),
  },
  machineFaults: {
    schema: field.trueOrFalse
      .default(false)
      .describe('Make clocks and disks of svc nodes, and the RPC endpoint, available to svcnet fault.'),
    flag: {
      flag: '--machine-faults',
      help: 'make clocks and disks of svc nodes, and the RPC endpoint, available to svcnet fault',
    },
  },
  profile: {
    schema: field
      .oneOf(PROFILES)
      .default('fast')
      .describe('Timing constants of the nodes: fast for tests, production as on the public network.'),
    flag: {
      flag: '--profile <profile>',
      help: `timing constants: ${PROFILES.join(', ')}`,
      fallback: 'fast',
      parse: oneOf(PROFILES),
    },
  },
  dialect: {
    schema: field
      .oneOf(DIALECT_NAMES)
      .default('svc')
      .describe('API dialect of svc nodes; swarm is the dialect of a Bee.'),
    flag: {
      flag: '--dialect <dialect>',
      help: `API dialect of svc nodes: ${DIALECT_NAMES.join(', ')}`,
      fallback: 'svc',
      parse: oneOf(DIALECT_NAMES),
    },
  },
  listen: {
    schema: field.ipv4.default('127.0.0.1').describe('IPv4 address that the APIs and the chain listen at.'),
  },
  topology: {
    schema: topology
      .default('mesh')
      .describe(
        'Links between the nodes: mesh lets the nodes decide, all others fix the links exactly. Only for svc nodes.',
      ),
  },
  coldGossip: {
    schema: field.trueOrFalse
      .default(false)
      .describe(
        "Svc nodes discover each other by gossip only; false: they start with each other's addresses.",
      ),
    flag: {
      flag: '--cold-gossip',
      help: 'svc nodes discover each other by gossip only',
      fallback: "they start with each other's addresses",
    },
  },
  linkFaults: {
    schema: field.trueOrFalse
      .default(false)
      .describe(
        'Put a proxy between the nodes, so that svcnet fault can impair links; embedded clusters do not need it.',
      ),
    flag: { flag: '--link-faults', help: 'put a proxy between the nodes, for link faults' },
  },
  tap: {
    schema: field.trueOrFalse
      .default(false)
      .describe(
        'Read what the nodes say to each other, for svcnet tap: with a proxy between processes, in the memory of embedded and simulated nodes. Not for driver docker.',
      ),
    flag: {
      flag: '--tap',
      help: 'read what the nodes say to each other, for svcnet tap',
    },
  },
  underlays: {
    schema: field
      .list(field.oneOf(CARRIERS), `a list of ${CARRIERS.join(', ')}`, CARRIERS.length)
      .min(1, { error: `at least one of ${CARRIERS.join(', ')}` })
      .default(['tcp'])
      .describe(
        'What carries connections: tcp, ws (WebSockets) and wss (over TLS, with certificates of an authority of the cluster). Bees always have tcp too.',
      ),
    flag: {
      flag: '--underlays <ways>',
      help: `comma-separated ways to carry connections between nodes: ${CARRIERS.join(', ')}`,
      parse: someOf(CARRIERS),
    },
  },
  network: {
    schema: network
      .optional()
      .describe(
        'What links between the nodes of a simulated cluster are like. Default: all arrives at once.',
      ),
    flag: {
      flag: '--network <network>',
      help: `links of a simulated cluster: a round trip between any two nodes, such as 20ms, or with jitter 20ms,5ms; or ${INTERNET}, regions of the world; and what each node sends at most, such as 20ms,10Mbit/s`,
      fallback: 'all arrives at once',
      parse: networkFlag,
      write: writtenNetwork,
    },
  },
  odd: {
    schema: field
      .list(field.oneOf(KNOB_NAMES), `a list of ${KNOB_NAMES.join(', ')}`, KNOB_NAMES.length)
      .default([])
      .describe(
        'What may be odd about the nodes of a simulated cluster: each draws its values from the seed, within what its protocols allow.',
      ),
    flag: {
      flag: '--odd <knobs>',
      help: `comma-separated, what may be odd about simulated nodes, with values drawn from the seed within what protocols allow: ${KNOB_NAMES.join(', ')}`,
      parse: someOf(KNOB_NAMES),
    },
  },
  ports: {
    schema: ports.prefault('free').describe('free ports, the first of a fixed range, or a map.'),
    flag: {
      flag: '--port <port>',
      help: 'first port of a fixed range: ten per node, the chain on the tenth',
      fallback: 'free ports',
      parse: whole(1024, 65_000),
    },
    besideSnapshot: true,
  },
  cors: {
    schema: cors.prefault([]).describe('Origins allowed to call the nodes from a browser, * for all.'),
    flag: {
      flag: '--cors <origin>',
      help: 'origin allowed to call the nodes from a browser, * for all (repeatable)',
      parse: collect,
      repeatable: true,
    },
  },
  allowedHosts: {
    schema: hostNames
      .default([])
      .describe(
        'Host names that the APIs of svc nodes answer to, in addition to IP addresses, localhost and container names; * for all.',
      ),
  },
  otlp: {
    schema: otlp
      .optional()
      .describe('OpenTelemetry collector that the nodes send traces to (OTLP over HTTP).'),
    flag: { flag: '--otlp <url>', help: 'endpoint that all nodes send traces to (OTLP over HTTP)' },
  },
  batches: {
    schema: batches
      .prefault({})
      .describe('Batches of each node; uploads use the first by default. false: none.'),
    flag: { flag: '--no-batches', help: 'buy no postage batches for the nodes' },
  },
  swap: {
    schema: swap.prefault(true).describe('Pay debts by cheque; false: settle them by time only.'),
  },
  funds: { schema: funds.prefault({}).describe('Initial funds of the account of each node.') },
  prepare: {
    schema: prepare.prefault({}).describe('History of the cluster, made before a start ends.'),
  },
  credit: {
    schema: field
      .oneOf(CREDITS)
      .optional()
      .describe(
        'Debt that peers allow each other before a payment is due: network as on the public network, high for tests, low for cheques.',
      ),
    flag: {
      flag: '--credit <credit>',
      help: `debt that peers allow each other before a payment is due: ${CREDITS.join(', ')}`,
      fallback: 'depends on profile and nodes',
      parse: oneOf(CREDITS),
    },
  },
} as const satisfies Readonly<Record<string, ClusterOption>>;

export type ClusterTable = typeof CLUSTER_OPTIONS;

export type FlaggedOption = {
  [Name in keyof ClusterTable]: ClusterTable[Name] extends { readonly flag: ClusterFlag } ? Name : never;
}[keyof ClusterTable];
