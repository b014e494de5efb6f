/**
 * The options of `Cluster.start` and the keys of a cluster file. Durations are text such as `500ms`, `5s` or `2m`, sizes
 * text such as `64KiB`, amounts whole numbers of the smallest unit, as text or bigint when above 2^53. `schema.ts` fills in
 * the defaults.
 */
import type { EngineName } from '../../../chain/engine/engine.ts';
import type { DialectName } from '../../client/dialect.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { BehaviourName } from '../../flavours/dishonest/names.ts';
import type { NodeMode } from '../../flavours/flavour.ts';
import type { NodeOptionsInput } from '../../flavours/node-options.gen.ts';
import type { Credit, Profile } from '../../flavours/profiles.ts';
import type { StartingDriver } from '../../places/facts.ts';
import type { KnobName } from '../../places/simulated/odd/knobs.ts';

/** Amount in the smallest unit, at least 0: a whole number, decimal text or bigint. */
export type AmountInput = bigint | number | string;

/** A postage batch that a node owns from the start. */
export interface BatchInput {
  /** Logarithm of the number of chunks, 17 to 40. Default: 20. */
  readonly depth?: number | undefined;
  /** Time that the batch lasts. Default: `24h`. */
  readonly ttl?: string | undefined;
  /** A full bucket refuses more chunks; false: it overwrites its oldest chunk. Default: true. */
  readonly immutable?: boolean | undefined;
}

/** `false`: none. The first of a list is the default batch of the node's uploads. */
export type BatchesInput = false | BatchInput | readonly BatchInput[];

/** Limits of a container. */
export interface ResourcesInput {
  /** Processors, 0.01 to 256. */
  readonly cpus?: number | undefined;
  /** Memory, such as `512MiB`. */
  readonly memory?: string | undefined;
}

/** Keys of every kind of group. */
export interface GroupKeys {
  /** Default: `full`. */
  readonly mode?: NodeMode;
  /** Number of nodes, 1 to 1000, of other drivers than `simulated` at most 200. Default: 1. */
  readonly count?: number;
  /** Private keys of the nodes' accounts, 64 hex digits each, instead of those that follow from the seed. */
  readonly keys?: readonly string[];
  /** First bits of the overlays, 1 to 16 digits `0` and `1`: one text for all nodes, or a list with one for each. */
  readonly neighbourhoods?: string | readonly string[];
  /** Batches of each node of the group, instead of those of the cluster. */
  readonly batches?: BatchesInput | undefined;
  /** Limits of each node of the group. Only the docker driver has them. */
  readonly resources?: ResourcesInput | undefined;
}

/** Nodes of this package. */
export interface SvcGroupInput extends GroupKeys {
  readonly flavour?: 'svc';
  /** Path of another program of our node: a script for Node.js, such as `node/main.ts` of a clone, or an executable. */
  readonly binary?: string;
  /** Image of their containers, instead of the one that this package builds. */
  readonly image?: string;
  readonly options?: NodeOptionsInput;
}

/** Nodes of this package that break rules of the protocols. */
export interface DishonestGroupInput extends GroupKeys {
  readonly flavour?: 'dishonest';
  /** Their rule-breaking behaviours; at least one. */
  readonly dishonest: readonly BehaviourName[];
  readonly options?: NodeOptionsInput;
}

/** Real Bees. */
export interface BeeGroupInput extends GroupKeys {
  readonly flavour: 'bee';
  /** Path of the program. Default: `SVCNET_BEE_BINARY`. */
  readonly binary?: string;
  /** Image of their containers. */
  readonly image?: string;
  /** Options by name, as the program defines them. */
  readonly options?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Nodes of a program that a flavour file describes. */
export interface DeclaredGroupInput extends GroupKeys {
  /** Name in the flavour file. */
  readonly flavour: string;
  /** Path of the program. Default: `SVCNET_NAME_BINARY`, else the one of the flavour file. */
  readonly binary?: string;
  /** Options by name, if the flavour file says where they go. */
  readonly options?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Nodes of one kind. */
export type GroupInput = SvcGroupInput | DishonestGroupInput | BeeGroupInput | DeclaredGroupInput;

/** The chain of a cluster. */
export interface ChainInput {
  /** What computes the blocks: Anvil, or an EVM in the chain's own process. Default: `anvil`. */
  readonly engine?: EngineName | undefined;
  /** Time between two blocks; `0s`: blocks are mined on demand only. Default: `1s`. */
  readonly blockTime?: string | undefined;
  /** Must not be that of a public chain. Default: 31337. */
  readonly chainId?: number | undefined;
  /** Must not be that of a public network. Default: 4020. */
  readonly networkId?: number | undefined;
  /** Port of the JSON-RPC endpoint; 0: a free one. Default: 0. */
  readonly port?: number | undefined;
  /** Puts a fault-injecting proxy in front of the endpoint. Default: false. */
  readonly gate?: boolean | undefined;
  /** Price of one chunk for one block, token units, 24,000 to 4,194,303. Default: 24,000. */
  readonly storagePrice?: number | undefined;
}

/** A fixed range of ports. */
export interface PortsInput {
  /** Port of the first node's API, 1024 to 65,000; its p2p listener is one above. */
  readonly first: number;
  /** Distance from one node to the next, 2 to 1000. Default: 10. */
  readonly stride?: number | undefined;
  /** Port of the debug API: two above the API, or any free one. Default: `range`. */
  readonly debug?: 'range' | 'free' | undefined;
}

/** Which nodes are connected. `mesh` leaves it to the nodes; the others fix the links exactly. */
export type TopologyInput =
  | 'mesh'
  | 'ring'
  | 'star'
  /** Each node has at least this many peers, drawn from the seed. */
  | { readonly random: number }
  /** Pairs of node names. */
  | { readonly links: readonly (readonly [string, string])[] };

/** Data that a node uploads before the start completes. */
export type PreparedUploadInput =
  /** Bytes that follow from the seed; size such as `64KiB`. */
  | { readonly node: string; readonly size: string }
  /** A file or folder. */
  | { readonly node: string; readonly path: string };

/** History that a cluster gets before its start completes. */
export interface PrepareInput {
  readonly uploads?: readonly PreparedUploadInput[] | undefined;
  /** Cheques that one node sends to another, by node name. */
  readonly cheques?: readonly { readonly from: string; readonly to: string }[] | undefined;
  /** Minimum block height of the chain: mined after everything else, or before the nodes start if one is a Bee. */
  readonly height?: number | undefined;
}

/** Regions of the world, each with its share of the nodes, and how far they are from each other. */
export interface RegionsInput {
  /** Where the figures come from. */
  readonly about?: string | undefined;
  /** By name, relative to the sum of all. */
  readonly shares: Readonly<Record<string, number>>;
  /** Round trips between two regions and within each, milliseconds: each pair once, either way round. */
  readonly roundTripMs: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What links between the nodes of a simulated cluster are like. */
export interface NetworkShapeInput {
  /** Round trip between any two nodes. */
  readonly latency?: string | undefined;
  /** A round trip varies by up to this much either way, drawn from the seed. */
  readonly jitter?: string | undefined;
  /** Instead of one latency: the seed places each node in a region. `internet`: six regions with rough figures. */
  readonly regions?: 'internet' | RegionsInput | undefined;
  /** What each node sends at most, on all its links together, such as `10Mbit/s`. Default: no limit. */
  readonly bandwidth?: string | undefined;
}

/** Definition of a cluster. Every key has a default: `{}` is five nodes, a chain, and a batch for each node. */
export interface DefinitionInput {
  /** Source of every key not given here: `factory` is the ecosystem's five-node stack. */
  readonly preset?: 'factory' | undefined;
  /** At most 40 lower-case letters, digits and hyphens. Default: `net-` and eight random digits. */
  readonly name?: string | undefined;
  /** Seed for every random choice, 0 to 2^64 - 1: keys, overlays, batch ids. Default: random. */
  readonly seed?: bigint | number | string | undefined;
  /** Number of nodes, 1 to 1000, or groups of them; of other drivers than `simulated` at most 200. Default: 5. */
  readonly nodes?: number | readonly GroupInput[];
  /** Node programs that this package does not know: what `readFlavour` returns. */
  readonly flavours?: readonly FlavourInput[] | undefined;
  readonly chain?: ChainInput | undefined;
  /** Where the nodes run: a process each, all in this process, or a container each. Default: `process`. */
  readonly driver?: StartingDriver | undefined;
  /**
   * Where nodes of this package keep their data. Default: `memory` for embedded nodes, which alone support
   * it, else `disk`.
   */
  readonly store?: 'memory' | 'disk' | undefined;
  /** Embedded nodes verify the same bytes once for all of them. Default: true. */
  readonly shareResults?: boolean | undefined;
  /** Clocks and disks of nodes of this package, and the chain's endpoint, can be made to fail. Default: false. */
  readonly machineFaults?: boolean | undefined;
  /** Timing of the nodes: `fast` for tests, `production` as on the public network. Default: `fast`. */
  readonly profile?: Profile | undefined;
  /** Names and values that nodes of this package use on HTTP; `swarm` is a Bee's. Default: `svc`. */
  readonly dialect?: DialectName | undefined;
  /** IPv4 address that the APIs and the chain listen on. Default: `127.0.0.1`. */
  readonly listen?: string | undefined;
  /** Default: `mesh`. */
  readonly topology?: TopologyInput | undefined;
  /** Nodes of this package learn of each other by gossip alone. Default: false, they start with all addresses. */
  readonly coldGossip?: boolean | undefined;
  /** Traffic between nodes passes through a proxy, so that links can be made to fail. Embedded clusters need none. Default: false. */
  readonly linkFaults?: boolean | undefined;
  /** What nodes say to each other can be read, by a proxy between them that also lets links fail. Only for driver `process`. Default: false. */
  readonly tap?: boolean | undefined;
  /** What carries connections. Bees always have `tcp` too. Only for driver `process`. Default: `tcp` alone. */
  readonly underlays?: readonly ('tcp' | 'ws' | 'wss')[] | undefined;
  /** Links of a simulated cluster; no other driver takes it. Default: all arrives at once. */
  readonly network?: NetworkShapeInput | undefined;
  /** What may be odd about the nodes of a simulated cluster, within what their protocols allow; no other driver takes it. Default: nothing. */
  readonly odd?: readonly KnobName[] | undefined;
  /** Free ports, the first one of a fixed range, or such a range. Default: `free`. */
  readonly ports?: 'free' | number | PortsInput | undefined;
  /** Web origins that browsers may call the nodes from, `*` for all. Default: none. */
  readonly cors?: string | readonly string[] | undefined;
  /** Host names that the APIs answer to, besides addresses and localhost, `*` for all. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** URL of a receiver for the nodes' traces, OTLP over HTTP. Default: the nodes do not trace. */
  readonly otlp?: string | undefined;
  /** Batches of each node. Default: one of depth 20 for 24 hours. */
  readonly batches?: BatchesInput | undefined;
  /** Debts are paid by cheques; false: they are settled by time alone. `deposit`: token units in each chequebook, default 5×10^17. */
  readonly swap?: boolean | { readonly deposit?: AmountInput | undefined } | undefined;
  /** What each account starts with: base units of the native coin, default 10^19, and token units, default 10^20. */
  readonly funds?:
    | { readonly native?: AmountInput | undefined; readonly tokens?: AmountInput | undefined }
    | undefined;
  readonly prepare?: PrepareInput | undefined;
  /** How much peers lend each other before they are paid. Default: by the profile and the flavours. */
  readonly credit?: Credit | undefined;
}
