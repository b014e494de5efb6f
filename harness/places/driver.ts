/**
 * A driver decides where a cluster's nodes and chain run; flavours know what a node does. A handle identifies a
 * running part. Only its driver reads it, also in another process, from the state on disk.
 */
import type { Clock } from '../../formats/clock.ts';
import type { PartLog } from '../base/logs/file-log.ts';
import type { Flavour, NodePlan, NodePorts } from '../flavours/flavour.ts';
import type { Counts } from '../flavours/tampered/settings.ts';
import { DRIVER_FACTS, type DriverName } from './facts.ts';
import type { ProxyOptions } from './links/proxy/proxy.ts';
import type { RouteControl } from './links/proxy/routes.ts';
import type { NetworkShape } from './links/regions.ts';
import type { LinkControl } from './links/rules.ts';
import type { TapControl } from './links/tap/events.ts';
import type { KnobName } from './simulated/odd/knobs.ts';
import type { Pace } from './simulated/pace.ts';

/** What can be done to a node from outside. */
export const CAPABILITIES = [
  'kill',
  'pause',
  'clock',
  'disk',
  'data',
  'memory',
  'linkFaults',
  'tap',
  'copy',
  'power',
] as const;
/** What a driver can do to a node from outside. */
export type Capability = (typeof CAPABILITIES)[number];

/** What does it; undefined: this driver cannot, or not to the nodes of this cluster. */
export interface Capabilities {
  readonly kill?: {
    /** Ends it at once. */
    kill(handle: Handle): Promise<void>;
  };
  readonly pause?: {
    /** @returns false when it was gone */
    pause(handle: Handle): Promise<boolean>;
    resume(handle: Handle): Promise<boolean>;
  };
  readonly data?: {
    /** Removes a stopped node's stored data, not its keys and configuration. */
    wipe(part: StoredPart): Promise<void>;
    /**
     * Flips a bit in this many chunks of a stopped node.
     * @returns chunks damaged
     */
    damage(part: StoredPart, chunks: number): Promise<number>;
  };
  readonly memory?: {
    /** @param bytes allowed from now on @returns its previous limit */
    limitMemory(handle: Handle, bytes: number): Promise<number>;
  };
  readonly linkFaults?:
    | {
        links(proxy: Handle | undefined): LinkControl;
      }
    | undefined;
  readonly tap?:
    | {
        /** @param proxy where the link proxy runs */
        tap(proxy: Handle | undefined): TapControl;
      }
    | undefined;
  readonly copy?: {
    /** Completes a copy of a stopped node's data directory with what the node keeps elsewhere. */
    completeCopy(handle: Handle, dataDir: string): Promise<void>;
  };
  readonly power?: {
    /**
     * Ends a node as a power cut does, soon, amid its work.
     * @param torn number of chunks that its disk has confirmed and tears all the same @returns what its disk lost
     */
    cutPower(handle: Handle, torn: number): Promise<Counts>;
  };
  /** Nodes were started as programs that read their faults themselves. */
  readonly clock?: true | undefined;
  readonly disk?: true | undefined;
}

export function capabilitiesOf({ can }: Pick<Driver, 'can'>): ReadonlySet<Capability> {
  return new Set(CAPABILITIES.filter((name) => can[name] !== undefined));
}

/** Option of `up` that a capability needs. */
const LINK_FAULTS = {
  needed: 'link faults',
  start: 'svcnet up --link-faults',
  absent: (cluster: string) => `cluster '${cluster}' was started without link faults`,
};
const TAP = {
  needed: 'the tap',
  start: 'svcnet up --tap',
  absent: (cluster: string) => `cluster '${cluster}' was started without the tap`,
};
const MACHINE_FAULTS = {
  needed: 'machine faults',
  start: 'svcnet up --machine-faults',
  absent: (cluster: string) => `cluster '${cluster}' was started without machine faults`,
};

/**
 * What a cluster of that driver would have needed at its start for a capability that it lacks; undefined:
 * nothing helps.
 */
export function startedWithout(driver: DriverName, lacking: Capability): typeof LINK_FAULTS | undefined {
  const { owned, images, simulated, tappable } = DRIVER_FACTS[driver];
  if (lacking === 'tap' && tappable) return simulated ? { ...TAP, start: 'tap: true' } : TAP;
  if (lacking === 'linkFaults' && owned) return LINK_FAULTS;
  const ofMachines = lacking === 'clock' || lacking === 'disk' || (lacking === 'power' && simulated);
  if (!ofMachines || !owned || images) return undefined;
  // `up` starts no simulation.
  return simulated ? { ...MACHINE_FAULTS, start: 'machineFaults: true' } : MACHINE_FAULTS;
}

/** JSON that outlives its writer, opaque to all but the driver. */
export type Handle = { readonly [field: string]: string | number };

/** How a part ended by itself. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The error it died of, if seen. */
  readonly reason?: string;
  /** Killed for needing too much memory; known only of containers. */
  readonly outOfMemory?: true;
}

/** `SIGKILL`, `exit code 1` */
export function exitText({ code, signal, reason }: Exit): string {
  return reason ?? signal ?? `exit code ${code}`;
}

/** `gone`: it is not running. `silent`: it does not answer, and more cannot be seen from here. */
export type PartState = 'running' | 'paused' | 'silent' | 'gone';

/** The observed state of a part. */
export interface Observed {
  readonly state: PartState;
  /** Process on this machine that it runs in. */
  readonly pid?: number;
  /** How it ended; known only to its starter. */
  readonly exit?: Exit;
  /** Why it is silent. */
  readonly silence?: string;
}

/** A part's resource usage since it started; absent: the driver cannot tell it apart from other parts'. */
export interface Stats {
  /** Processor time, milliseconds. */
  readonly cpuMs?: number;
  /** Bytes not shared with anything else. */
  readonly memoryBytes?: number | undefined;
  /** Bytes through its sockets. */
  readonly receivedBytes?: number;
  /** Bytes through its sockets. */
  readonly sentBytes?: number;
}

/** A node that was created, and can be started. */
export interface NodePart {
  readonly kind: 'node';
  readonly name: string;
  readonly flavour: Flavour;
  readonly binary?: string | undefined;
  readonly dataDir: string;
  readonly log: string;
}

/** A chain that can be started, with its gate. */
export interface ChainPart {
  readonly kind: 'chain';
  readonly name: 'chain';
  /** Document of `chain/main.ts`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The same on this machine's disk. */
  readonly optionsFile: string;
  readonly log: string;
}

/** The proxy through which nodes reach each other. */
export interface LinkProxyPart {
  readonly kind: 'link-proxy';
  readonly name: typeof LINK_PROXY;
  /** Document of `links/proxy/main.ts`. */
  readonly options: ProxyOptions;
  /** The same on this machine's disk. */
  readonly optionsFile: string;
  readonly log: string;
}
export const LINK_PROXY = 'link-proxy';

export type Part = NodePart | ChainPart | LinkProxyPart;

export type StoredPart = Pick<NodePart, 'name' | 'dataDir' | 'flavour'> & { readonly handle: Handle };

/** A running part. */
export interface Started {
  readonly handle: Handle;
}

/** The host is an IPv4 address or a name. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Ports and data directory of a node, before it is created. */
export interface Site {
  readonly name: string;
  readonly ports: NodePorts;
  /** Port of a node behind a link proxy; the proxy has the p2p port in `ports`. */
  readonly behind?: number;
  readonly dataDir: string;
}

/** Where a node is, for this machine, its peers and itself. */
export interface Place {
  /** URLs for this machine. */
  readonly api: string;
  readonly debug: string;
  /** Addresses that this machine and other nodes dial. */
  readonly p2p: Address;
  readonly peers: Address;
  readonly behind?: Address;
  /** Address and ports to listen on, and its data folder. */
  readonly listen: string;
  readonly ports: NodePorts;
  readonly dataDir: string;
  /** Host names in requests to its API; absent: addresses only. */
  readonly hosts?: readonly string[];
  /** Name of its container, if it has one. */
  readonly container?: string;
}

/** URLs of a chain. */
export interface ChainUrls {
  readonly rpc: string;
  readonly control: string;
  readonly gate?: string | undefined;
}

/** Observes the preparation of images, before any container can be created. */
export interface ImageWatch {
  readonly signal?: AbortSignal | undefined;
  /** What is being done, in words. */
  readonly onProgress: (detail: string) => void;
}

/** A cluster's parts that may run, by its records. */
export interface ClusterParts {
  /** Every part was started under it, so it also identifies parts that no record names. */
  readonly token: string;
  readonly parts: readonly { readonly name: string; readonly handle: Handle }[];
}

export interface Disposed {
  /** Parts that ran. */
  readonly stopped: readonly string[];
  /** Those that had to be forced. */
  readonly forced: readonly string[];
}

/** Something that one node says to another. */
export interface SaidMessage {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Names of nodes. */
  readonly from: string;
  readonly to: string;
  /** Whole id. */
  readonly protocol: string;
  readonly bytes: number;
}

/** A simulation as its process sees it, without asking a node: looking changes nothing. */
export interface SimulationView {
  /** @param pace holds its time from now on; undefined: nothing does */
  setPace(pace: Pace | undefined): void;
  /** Names of nodes that are connected. */
  pairs(): readonly (readonly [string, string])[];
  /** Tells of every message until disposed. */
  onMessage(listener: (message: SaidMessage) => void): Disposable;
}

export interface Driver {
  readonly name: DriverName;
  /** The nodes' time, if not the machine's. */
  readonly clock?: Clock;
  /** Digest of all frames so far, where equal runs send equal ones. */
  readonly digest?: string | undefined;
  /** The last frames sent, a line each, oldest first, where visible. */
  readonly lastFrames?: readonly string[];
  /** What this process sees of the nodes that it simulates. */
  readonly simulation?: SimulationView | undefined;
  readonly can: Capabilities;
  /**
   * Where a link proxy stands before every node: tells it about those that come and go.
   * @param proxy where it runs
   */
  readonly routes?: ((proxy: Handle | undefined) => RouteControl) | undefined;
  /** @throws HarnessError when this machine could not reach it there */
  place(site: Site): Place;
  /** A chain's reported URLs, as this machine and the nodes need them. */
  placeChain(reported: ChainUrls): Promise<{ readonly here: ChainUrls; readonly nodes: ChainUrls }>;
  /** Only of drivers whose parts are containers. */
  readonly images?: {
    /**
     * Makes sure that engine and images are available.
     * @returns what is available, in words @throws HarnessError `ENGINE_FAILED`, `IMAGE_FAILED`
     */
    readonly ready: (names: readonly string[], watch: ImageWatch) => Promise<string>;
    /** Runs a program in an image to its end. @returns its output */
    readonly run: (image: string, args: readonly string[]) => Promise<string>;
  };
  /**
   * Does once what each node would do at its first start. It only saves time: a failure shows at those
   * starts.
   */
  prepare(flavour: Flavour, signal?: AbortSignal): Promise<void>;
  /**
   * Writes key files and configuration.
   * @param ports on this machine; the plan has the node's own
   */
  create(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void>;
  /**
   * The same for a stopped node that was created before: it keeps its data. Only of drivers that have `halt`, whose parts
   * keep the program that they were made with.
   */
  remake?(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void>;
  /** @throws HarnessError `PROCESS_FAILED` */
  start(part: Part): Promise<Started>;
  /** Asks it to stop, and kills it after `graceMs`. */
  stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }>;
  observe(handle: Handle): Promise<Observed>;
  /**
   * What runs of a node, recorded or not: its starter may have been killed before it wrote a record. Only of
   * drivers whose clusters can grow.
   */
  find?(node: string): Promise<readonly Handle[]>;
  /**
   * Whether a node has a chunk with the right bytes, running or not. Only for drivers that see stores without
   * asking the nodes. It takes no time of the driver's clock.
   * @param address 64 hex digits
   */
  holds?(node: string, address: string): boolean;
  stats(handle: Handle): Promise<Stats>;
  /** @param part its log is a path on this machine, if the driver writes log files */
  logs(part: { readonly name: string; readonly log: string }): PartLog;
  /** Copies logs kept elsewhere into the cluster's folder. */
  gatherLogs(): Promise<void>;
  /** Ends every running part, recorded or not. */
  dispose(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /**
   * Ends running parts without removing them, for drivers whose parts hold their data. They can start again only as
   * made, with their ports.
   */
  halt?(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /** Removes a node that has left for good, recorded or not, running or not. Only of drivers that have `halt`. */
  remove?(node: string): Promise<void>;
  /** The same as `dispose`, at once and by force, when nothing can be awaited: this process is about to end. */
  disposeNow(cluster: ClusterParts): void;
  /** Releases the driver's own resources; parts keep running. */
  close(): Promise<void>;
}

/** Ends all running parts, which keep their data. */
export function haltAll(driver: Driver, cluster: ClusterParts, graceMs: number): Promise<Disposed> {
  return driver.halt?.(cluster, graceMs) ?? driver.dispose(cluster, graceMs);
}

/** What a driver is told about its one cluster. */
export interface DriverOptions {
  /** The time of its waits. */
  readonly clock: Clock;
  /** Parts stop when this process ends, however it ends. */
  readonly stopWithParent: boolean;
  /** Folder of compiled code: for node processes, embedded nodes or the chain. */
  readonly compileCache: (of: 'nodes' | 'embedded' | 'tools') => string;
  /** A repeated start: existing parts are not made anew. */
  readonly isAgain?: boolean;
  /** The cluster's token; every process is started under it. */
  readonly token: string;
  /** Of the cluster: what is simulated follows from it. */
  readonly seed: string;
  /** Name of the cluster. */
  readonly name: string;
  /** Whether a simulation writes down every frame. */
  readonly frames: boolean;
  /** Folder of everything the cluster keeps. */
  readonly folder: string;
  /** IPv4 address of this machine that the nodes and the chain listen on. */
  readonly listen: string;
  /** Whether our nodes' clocks and disks can fail. */
  readonly machineFaults: boolean;
  /** Whether nodes with sockets use a link proxy. */
  readonly linkFaults: boolean;
  /** Whether messages are seen, by the proxy or in memory. */
  readonly tap: boolean;
  /** Links of simulated nodes. Default: all arrives at once. */
  readonly network?: NetworkShape | undefined;
  /** What may be odd about simulated nodes. Default: nothing. */
  readonly odd?: readonly KnobName[] | undefined;
  readonly embedded: {
    /** How embedded nodes reach peers: TCP if one is a process. */
    readonly transport: 'memory' | 'tcp';
    readonly store: 'memory' | 'disk';
    /** Whether nodes share results computed from the same bytes. */
    readonly shareResults: boolean;
  };
}
