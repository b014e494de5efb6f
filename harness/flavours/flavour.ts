/** A flavour is one implementation of the node: how it is configured, started and probed, and how it names things. */
import type { Dialect } from '../client/dialect.ts';
import type { Profile } from '../profiles.ts';
import type { NodeIdentity } from '../seed.ts';

export const FLAVOUR_NAMES = ['svc'] as const;
export type FlavourName = (typeof FLAVOUR_NAMES)[number];

/** A network as one of its nodes has to know it. */
interface NetworkFacts {
  readonly networkId: number;
  readonly rpc: string;
  readonly contracts: { readonly token: string; readonly postageStamp: string };
  readonly startBlock: number;
  readonly blockTimeMs: number;
  /** Multiaddresses of the first nodes. */
  readonly bootnodes: readonly string[];
}

export interface NodePorts {
  readonly api: number;
  readonly p2p: number;
  readonly debug: number;
}

export interface NodePlan {
  readonly name: string;
  readonly identity: NodeIdentity;
  readonly ports: NodePorts;
  /** Address that its listeners take. */
  readonly listen: string;
  readonly profile: Profile;
  /** Node options of the definition; they win over the profile's. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly dataDir: string;
  readonly network: NetworkFacts;
}

/** A file of the data directory, path relative to it. */
export interface PlannedFile {
  readonly path: string;
  readonly content: string;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Flavour {
  readonly name: FlavourName;
  readonly dialect: Dialect;
  /** Role of the node in the network; what `/node` answers. */
  readonly mode: 'full';
  /** Options of a node that the testbed sets itself, so that a definition cannot. */
  readonly reserved: readonly string[];
  files(plan: NodePlan): PlannedFile[];
  command(plan: { dataDir: string }): Command;
  /** Multiaddress under which peers dial it. @param plan.host IPv4 address or name */
  underlay(plan: { identity: NodeIdentity; port: number; host: string }): string;
}
