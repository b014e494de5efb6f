/** A flavour is one implementation of the node: how it is configured, started and probed, and how it names things. */

import type { CarrierName } from '../../node/p2p/address/underlay.ts';
import type { Command } from '../base/machine/processes.ts';
import type { Contracts } from '../chain/contracts.ts';
import type { DialectName } from '../client/dialect.ts';
import type { NodeClient } from '../client/node-client.ts';
import type { Credit, Profile } from './profiles.ts';
import type { TamperSettings } from './tampered/settings.ts';

/** Flavours that keep to the rules and can be compared with each other. */
export const HONEST_FLAVOURS = ['svc', 'bee'] as const;
export type HonestFlavour = (typeof HONEST_FLAVOURS)[number];
export const FLAVOUR_NAMES = [...HONEST_FLAVOURS, 'dishonest'] as const;
/** Flavours that this package knows. */
export type OwnFlavour = (typeof FLAVOUR_NAMES)[number];
/** Implementation of a node: one that this package knows, or the name that a flavour file gives. */
export type FlavourName = OwnFlavour | (string & {});

/** Whether it is a node of this package. */
export function isOurs({ flavour }: { readonly flavour: FlavourName }): boolean {
  return flavour === 'svc' || flavour === 'dishonest';
}

/** Whether the network can count on nodes of the flavour. */
export function isHonest({ flavour }: { readonly flavour: FlavourName }): boolean {
  return flavour !== 'dishonest';
}

/**
 * Roles of a node in the network. Full: stores and forwards. Light: uploads and downloads, serves no one.
 * Boot: only introduces the others to each other.
 */
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
  /** Path of a file with address records of its first peers; undefined: it learns of them by gossip. */
  readonly peerRecords?: string | undefined;
  /** Multiaddresses of the only peers it may have; undefined: any. */
  readonly onlyPeers: readonly string[] | undefined;
  /** Whether the bootnodes are boot nodes, rather than the first full nodes. */
  readonly dedicatedBootnodes: boolean;
  readonly credit: Credit;
  /** Whether debts are paid by cheques, and what a chequebook starts with, token units. */
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
  /** Image of its container, instead of the one that this package builds. */
  readonly image?: string | undefined;
  /** Limits of its container; memory in bytes. */
  readonly resources?:
    | { readonly cpus?: number | undefined; readonly memory?: number | undefined }
    | undefined;
  readonly identity: NodeKeys;
  readonly ports: NodePorts;
  /** Address that it listens on. */
  readonly listen: string;
  /** `host:port` that it advertises to peers; undefined: the addresses of its interfaces. */
  readonly advertised?: string | undefined;
  readonly profile: Profile;
  /** Host names in requests to its API, besides addresses and localhost; options may name more. */
  readonly allowedHosts: readonly string[];
  /** Origins that browsers may call its API from; options may name others. */
  readonly cors: readonly string[];
  /** Receiver of its traces, OTLP over HTTP: a URL, or `host:port`; undefined: it sends none, unless options say so. */
  readonly otlp?: string | undefined;
  /** Node options of the definition; they win over the profile's. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly dataDir: string;
  /** Its environment can fail, or it breaks rules; undefined: an honest node on a working machine. */
  readonly tampered?: TamperSettings | undefined;
  /** Address of the chequebook that was deployed for it; undefined: it deploys its own, or needs none. */
  readonly chequebook?: string | undefined;
  readonly network: NetworkFacts;
}

/** A file of the data directory, path relative to it. */
export interface PlannedFile {
  readonly path: string;
  readonly content: string;
  /** Of the content; absent: UTF-8. `latin1`: a character for each byte. */
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
  /** Program that ends with status 0 when the node is ready; undefined: the image defines it. */
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
  /**
   * Environment variable that names its program if the definition does not; undefined: the program is part of
   * this package.
   */
  readonly binaryVariable?: string;
  /**
   * Whether its constants are those of the public network: it needs blocks in real time, and peers with the
   * same credit limits.
   */
  readonly public: boolean;
  /** Whether it has a debug API besides its API. */
  readonly debugApi: boolean;
  /**
   * Whether it finds peers through the bootnodes of its plan; if not, it is introduced to them over its API.
   */
  readonly bootstraps: boolean;
  /** Whether it can be told the only peers that it may have. */
  readonly takesLinks: boolean;
  /** Whether it can be started with address records of its peers. */
  readonly takesRecords: boolean;
  /** Whether it learns where a peer really listens, and may dial that instead of the advertised address. */
  readonly learnsListeners: boolean;
  /** Whether it takes a chequebook that was deployed for it. */
  readonly adoptsChequebook: boolean;
  /** Whether it stops by itself when the process that started it is gone. */
  readonly watchesParent: boolean;
  /** Folders of its data directory with what it has stored; its keys and configuration are elsewhere. */
  readonly stored: readonly string[];
  /**
   * Time until it dials a peer again that it could not reach, milliseconds, if that is longer than nodes that
   * start together take to find each other.
   */
  readonly redialMs?: number | undefined;
  /** Time that a stop may take, milliseconds. */
  readonly stopGraceMs: number;
  /** Mistakes in the options of a definition, if they can be checked without its program; one line each. */
  optionMistakes?(options: Readonly<Record<string, unknown>>): string[];
  /** Whether its program and options fit each other. @throws HarnessError naming the group */
  check?(group: {
    where: string;
    binary: string | undefined;
    image: string | undefined;
    options: Readonly<Record<string, unknown>>;
    /** Runs the image's program to its end. @returns its output */
    runImage?: ((image: string, args: readonly string[]) => Promise<string>) | undefined;
  }): Promise<void>;
  /** For a program that is compiled when loaded: loads what a node loads, and ends. */
  compile?(): Command;
  files(plan: NodePlan): PlannedFile[] | Promise<PlannedFile[]>;
  /**
   * Removes peers' addresses from the data of stopped nodes, so that copies find the peers of their own
   * cluster. Absent: nodes of this flavour cannot be copied.
   */
  forgetPeers?(dataDirs: readonly string[]): Command;
  /** For a flavour whose nodes can run inside another process of this package. */
  embedded?(plan: NodePlan): EmbeddedSettings;
  command(plan: { dataDir: string; binary?: string | undefined }): Command;
  containerCommand(plan: { dataDir: string; apiPort: number }): ContainerCommand;
  /** Private key of its libp2p identity: PKCS #8 in PEM. */
  linkKey(identity: NodeKeys): string;
  /** Multiaddress under which peers dial it. @param plan.host IPv4 address or name */
  underlay(plan: {
    identity: NodeKeys;
    port: number;
    host: string;
    underlays: readonly CarrierName[];
  }): string;
  /** What a connected node still lacks before it can serve; undefined when nothing. */
  lacking?(client: NodeClient, signal: AbortSignal): Promise<string | undefined>;
}
