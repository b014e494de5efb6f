/** A flavour: how one implementation of the node is configured, started and probed. */

import type { CarrierName } from '../../node/p2p/address/underlay.ts';
import type { Command } from '../base/machine/processes.ts';
import type { Contracts } from '../chain/contracts.ts';
import type { DialectName } from '../client/dialect.ts';
import type { NodeClient } from '../client/node-client.ts';
import type { Credit, Profile } from './profiles.ts';
import type { TamperSettings } from './tampered/settings.ts';

/** Flavours that keep to the rules and can be compared with each other. */
export const HONEST_FLAVOURS = ['svc', 'bee'] as const;
export const FLAVOUR_NAMES = [...HONEST_FLAVOURS, 'dishonest'] as const;
/** Flavours that this package knows. */
export type OwnFlavour = (typeof FLAVOUR_NAMES)[number];
/** Implementation of a node: one that this package knows, or the name that a flavour file gives. */
export type FlavourName = OwnFlavour | (string & {});

/** Whether it is a node of this package. */
export function isOurs({ flavour }: { readonly flavour: FlavourName }): boolean {
  return flavour === 'svc' || flavour === 'dishonest';
}

/** Whether the network can rely on the flavour's nodes. */
export function isHonest({ flavour }: { readonly flavour: FlavourName }): boolean {
  return flavour !== 'dishonest';
}

/** Those that a program alone is for: of flavours that need one, if there are such, or else of ours. */
export function takersOf<N extends { readonly flavour: FlavourName }>(nodes: readonly N[]): readonly N[] {
  const others = nodes.filter((node) => !isOurs(node));
  return others.length > 0 ? others : nodes;
}

/** `full` stores and forwards; `light` uploads and downloads only; `boot` only introduces nodes to each other. */
export const NODE_MODES = ['full', 'light', 'boot'] as const;
/** What a node does for the network. */
export type NodeMode = (typeof NODE_MODES)[number];

/** What a node has to know about its network. */
interface NetworkFacts {
  readonly networkId: number;
  /** Of the cluster. */
  readonly seed: bigint;
  /** What carries connections between the nodes. */
  readonly underlays: readonly CarrierName[];
  readonly rpc: string;
  readonly contracts: Contracts;
  readonly startBlock: number;
  readonly blockTimeMs: number;
  /** Multiaddresses of the nodes to contact first. */
  readonly bootnodes: readonly string[];
  /** File with address records of its first peers; undefined: it learns them by gossip. */
  readonly peerRecords?: string | undefined;
  /** Multiaddresses of its only peers; undefined: any. */
  readonly onlyPeers: readonly string[] | undefined;
  /** Whether bootnodes are boot nodes, not the first full nodes. */
  readonly dedicatedBootnodes: boolean;
  readonly credit: Credit;
  /** Whether debts are paid by cheque, and a chequebook's first deposit, token units. */
  readonly swap: { readonly deposit: bigint } | false;
}

export interface NodePorts {
  readonly api: number;
  readonly p2p: number;
  readonly debug: number;
}

/** The keys and addresses of a node that a flavour writes or names. */
export interface NodeKeys {
  readonly keys: { readonly swarm: Uint8Array; readonly pss: Uint8Array; readonly libp2p: Uint8Array };
  /** 40 lower-case hex digits. */
  readonly ethereum: string;
  /** 64 lower-case hex digits. */
  readonly overlay: string;
  /** Base58 libp2p identity of a node with an Ed25519 key. */
  readonly peerId: string;
}

export interface NodePlan {
  readonly name: string;
  readonly mode: NodeMode;
  /** Names and values of its HTTP API. */
  readonly dialect: DialectName;
  /** Path of its program, for flavours that need one. */
  readonly binary?: string | undefined;
  /** Image of its container instead of this package's. */
  readonly image?: string | undefined;
  /** Limits of its container; memory in bytes. */
  readonly resources?:
    | { readonly cpus?: number | undefined; readonly memory?: number | undefined }
    | undefined;
  readonly identity: NodeKeys;
  readonly ports: NodePorts;
  /** Address that it listens on. */
  readonly listen: string;
  /** `host:port` advertised to peers; undefined: its interfaces' addresses. */
  readonly advertised?: string | undefined;
  readonly profile: Profile;
  /** Host names that its API answers to, besides addresses and localhost; options may name more. */
  readonly allowedHosts: readonly string[];
  /** Origins that browsers may call its API from; options may name others. */
  readonly cors: readonly string[];
  /** OTLP receiver of its traces: a URL, or `host:port`; undefined: no traces, unless options say so. */
  readonly otlp?: string | undefined;
  /** Node options; they override the profile. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly dataDir: string;
  /** It breaks rules, or its machine can fail; undefined: an honest node. */
  readonly tampered?: TamperSettings | undefined;
  /** Address of its deployed chequebook; undefined: it deploys one, or needs none. */
  readonly chequebook?: string | undefined;
  readonly network: NetworkFacts;
}

/** A file of the data directory, path relative to it. */
export interface PlannedFile {
  readonly path: string;
  readonly content: string;
  /** Absent: UTF-8; `latin1`: one character per byte. */
  readonly encoding?: 'latin1';
}

/** What a node that runs inside another process needs. */
export interface EmbeddedSettings {
  readonly options: Readonly<Record<string, unknown>>;
  /** Secrets, 32 bytes each. */
  readonly keys: NodeKeys['keys'];
}

/** How a node is run in a container. */
export interface ContainerCommand {
  /** For this package's images; undefined: the image defines it. */
  readonly entrypoint?: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Program that exits with 0 when the node is ready; undefined: the image defines it. */
  readonly health?: readonly string[];
}

export interface Flavour {
  readonly name: FlavourName;
  /** The dialect that it speaks; undefined: the one chosen for the cluster. */
  readonly dialect?: DialectName;
  /** Roles that it can take. */
  readonly modes: readonly NodeMode[];
  /** Options of a node that the testbed sets itself, so that a definition cannot. */
  readonly reserved: readonly string[];
  /** Variable that names its program if the definition does not; undefined: this package has it. */
  readonly binaryVariable?: string;
  /** Whether it needs the public network's constants: real block times, equal credit. */
  readonly public: boolean;
  /** Whether it has a debug API besides its API. */
  readonly debugApi: boolean;
  /** Whether it finds peers through bootnodes; if not, it is told them over its API. */
  readonly bootstraps: boolean;
  /** Whether its peers can be restricted to a list. */
  readonly takesLinks: boolean;
  /** Whether it can start with address records. */
  readonly takesRecords: boolean;
  /** Whether it may dial where a peer listens, not where it advertises. */
  readonly learnsListeners: boolean;
  /** Whether it accepts a chequebook deployed for it. */
  readonly adoptsChequebook: boolean;
  /** Whether it stops when its parent process is gone. */
  readonly watchesParent: boolean;
  /** Folders of its data directory with stored content, without keys and configuration. */
  readonly stored: readonly string[];
  /** Pause before it dials an unreachable peer again, ms, if longer than a common start takes. */
  readonly redialMs?: number | undefined;
  /** Time that a stop may take, milliseconds. */
  readonly stopGraceMs: number;
  /** One line per mistake in a definition's options, found without the program. */
  optionMistakes?(options: Readonly<Record<string, unknown>>): string[];
  /** Whether program and options fit. @throws HarnessError naming the group */
  check?(group: {
    where: string;
    binary: string | undefined;
    image: string | undefined;
    options: Readonly<Record<string, unknown>>;
    /** Runs the image's program to its end. @returns its output */
    runImage?: ((image: string, args: readonly string[]) => Promise<string>) | undefined;
  }): Promise<void>;
  /** Loads what a node loads, and ends; for programs compiled when loaded. */
  compile?(): Command;
  files(plan: NodePlan): PlannedFile[] | Promise<PlannedFile[]>;
  /**
   * Removes peers' addresses from stopped nodes, so that copies stay in their own cluster. Absent: nodes cannot be
   * copied.
   */
  forgetPeers?(dataDirs: readonly string[]): Command;
  /** For nodes that can run inside another process. */
  embedded?(plan: NodePlan): EmbeddedSettings;
  command(plan: { dataDir: string; binary?: string | undefined }): Command;
  containerCommand(plan: { dataDir: string; apiPort: number }): ContainerCommand;
  /** Private libp2p key: PKCS #8 in PEM. */
  linkKey(identity: NodeKeys): string;
  /** Multiaddress that peers dial. @param plan.host IPv4 address or name */
  underlay(plan: {
    identity: NodeKeys;
    port: number;
    host: string;
    underlays: readonly CarrierName[];
  }): string;
  /** What a connected node lacks before it can serve; undefined: nothing. */
  lacking?(client: NodeClient, signal: AbortSignal): Promise<string | undefined>;
}
