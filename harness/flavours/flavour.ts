import type { CarrierName } from '../../node/p2p/address/underlay.ts';
import type { Command } from '../base/machine/processes.ts';
import type { Contracts } from '../chain/contracts.ts';
import type { DialectName } from '../client/dialect.ts';
import type { NodeClient } from '../client/node-client.ts';
import type { Credit, Profile } from './profiles.ts';
import type { TamperSettings } from './tampered/settings.ts';

export const HONEST_FLAVOURS = ['svc', 'bee'] as const;
export const FLAVOUR_NAMES = [...HONEST_FLAVOURS, 'dishonest'] as const;
/** Flavours that this package knows. */
export type OwnFlavour = (typeof FLAVOUR_NAMES)[number];
/** Implementation of a node: one that this package knows, or the name that a flavour file gives. */
export type FlavourName = OwnFlavour | (string & {});

export function isOurs({ flavour }: { readonly flavour: FlavourName }): boolean {
  return flavour === 'svc' || flavour === 'dishonest';
}

/** Whether the network can rely on it. */
export function isHonest({ flavour }: { readonly flavour: FlavourName }): boolean {
  return flavour !== 'dishonest';
}

/** Nodes that a lone program is for: of flavours that need one, or else of ours. */
export function takersOf<N extends { readonly flavour: FlavourName }>(nodes: readonly N[]): readonly N[] {
  const others = nodes.filter((node) => !isOurs(node));
  return others.length > 0 ? others : nodes;
}

/** `full` stores and forwards; `light` uploads and downloads only; `boot` only introduces nodes to each other. */
export const NODE_MODES = ['full', 'light', 'boot'] as const;
/** What a node does for the network. */
export type NodeMode = (typeof NODE_MODES)[number];

interface NetworkFacts {
  readonly networkId: number;
  readonly seed: bigint;
  readonly underlays: readonly CarrierName[];
  readonly rpc: string;
  readonly contracts: Contracts;
  readonly startBlock: number;
  readonly blockTimeMs: number;
  readonly bootnodes: readonly string[];
  /** Address records of its first peers; undefined: it learns them by gossip. */
  readonly peerRecords?: string | undefined;
  /** Multiaddresses; undefined: any. */
  readonly onlyPeers: readonly string[] | undefined;
  /** Bootnodes are boot nodes, not the first full nodes. */
  readonly dedicatedBootnodes: boolean;
  readonly credit: Credit;
  /** A chequebook's first deposit, token units; false: no cheques. */
  readonly swap: { readonly deposit: bigint } | false;
}

export interface NodePorts {
  readonly api: number;
  readonly p2p: number;
  readonly debug: number;
}

export interface NodeKeys {
  readonly keys: { readonly swarm: Uint8Array; readonly pss: Uint8Array; readonly libp2p: Uint8Array };
  /** 40 lower-case hex digits. */
  readonly ethereum: string;
  /** 64 lower-case hex digits. */
  readonly overlay: string;
  /** Base58, of a node with an Ed25519 key. */
  readonly peerId: string;
}

export interface NodePlan {
  readonly name: string;
  readonly mode: NodeMode;
  readonly dialect: DialectName;
  /** Path of its program, for flavours that need one. */
  readonly binary?: string | undefined;
  readonly image?: string | undefined;
  /** Limits of its container; memory in bytes. */
  readonly resources?:
    | { readonly cpus?: number | undefined; readonly memory?: number | undefined }
    | undefined;
  readonly identity: NodeKeys;
  readonly ports: NodePorts;
  readonly listen: string;
  /** `host:port`; undefined: its interfaces' addresses. */
  readonly advertised?: string | undefined;
  readonly profile: Profile;
  readonly allowedHosts: readonly string[];
  /** Origins that browsers may call its API from; options may name others. */
  readonly cors: readonly string[];
  /** OTLP receiver: a URL, or `host:port`; undefined: no traces, unless options say so. */
  readonly otlp?: string | undefined;
  /** They override the profile. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly dataDir: string;
  /** Undefined: an honest node on an honest machine. */
  readonly tampered?: TamperSettings | undefined;
  /** Address; undefined: it deploys one, or needs none. */
  readonly chequebook?: string | undefined;
  readonly network: NetworkFacts;
}

export interface PlannedFile {
  readonly path: string;
  readonly content: string;
  /** Absent: UTF-8; `latin1`: one character per byte. */
  readonly encoding?: 'latin1';
}

export interface EmbeddedSettings {
  readonly options: Readonly<Record<string, unknown>>;
  readonly keys: NodeKeys['keys'];
}

export interface ContainerCommand {
  readonly entrypoint?: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Exits with 0 when the node is ready; undefined: the image defines it. */
  readonly health?: readonly string[];
}

export interface Flavour {
  readonly name: FlavourName;
  readonly dialect?: DialectName;
  readonly modes: readonly NodeMode[];
  /** The testbed sets these itself, so a definition cannot. */
  readonly reserved: readonly string[];
  /** Names its program if the definition does not; undefined: this package has it. */
  readonly binaryVariable?: string;
  /** It needs the public network's constants: real block times, equal credit. */
  readonly public: boolean;
  readonly debugApi: boolean;
  /** It finds peers through bootnodes; otherwise it is told them over its API. */
  readonly bootstraps: boolean;
  readonly takesLinks: boolean;
  readonly takesRecords: boolean;
  /** It may dial where a peer listens, not where it advertises. */
  readonly learnsListeners: boolean;
  readonly adoptsChequebook: boolean;
  readonly watchesParent: boolean;
  /** Folders of its data directory, without keys and configuration. */
  readonly stored: readonly string[];
  readonly redialMs?: number | undefined;
  readonly stopGraceMs: number;
  /** A line each, found without the program. */
  optionMistakes?(options: Readonly<Record<string, unknown>>): string[];
  /** @throws HarnessError naming the group */
  check?(group: {
    where: string;
    binary: string | undefined;
    image: string | undefined;
    options: Readonly<Record<string, unknown>>;
    runImage?: ((image: string, args: readonly string[]) => Promise<string>) | undefined;
  }): Promise<void>;
  /** Loads what a node loads, and ends; for programs compiled when loaded. @param machineFaults of the cluster */
  compile?(machineFaults: boolean): Command;
  files(plan: NodePlan): PlannedFile[] | Promise<PlannedFile[]>;
  /** Runs on stopped nodes, so that copies stay in their own cluster. Absent: nodes cannot be copied. */
  forgetPeers?(dataDirs: readonly string[]): Command;
  /** Present if nodes can run inside another process. */
  embedded?(plan: NodePlan): EmbeddedSettings;
  command(plan: { dataDir: string; binary?: string | undefined }): Command;
  containerCommand(plan: { dataDir: string; apiPort: number }): ContainerCommand;
  /** Private libp2p key: PKCS #8 in PEM. */
  linkKey(identity: NodeKeys): string;
  underlay(plan: {
    identity: NodeKeys;
    port: number;
    host: string;
    underlays: readonly CarrierName[];
  }): string;
  lacking?(client: NodeClient, signal: AbortSignal): Promise<string | undefined>;
}
