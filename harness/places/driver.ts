/**
 * A driver decides where the parts of a cluster run: its nodes, its chain. It knows places, not what a node
 * does; flavours know that. A running part is identified by a handle that only its driver reads: other
 * processes find it in the state on disk and pass it to their own driver.
 */

import type { Clock } from '../../formats/clock.ts';
import type { PartLog } from '../base/logs/file-log.ts';
import type { Flavour, NodePlan, NodePorts } from '../flavours/flavour.ts';
import type { Counts } from '../flavours/tampered/settings.ts';
import { DRIVER_FACTS, type DriverName } from './facts.ts';
import type { ProxyOptions } from './links/proxy/proxy.ts';
import type { LinkControl } from './links/rules.ts';
import type { TapControl } from './links/tap/events.ts';

/** What can be done to a node from outside. */
const CAPABILITIES = [
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

/** What does it; undefined: the driver cannot, or not to the nodes of this cluster. */
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
    /** Removes what a stopped node has stored, but not its keys and configuration. */
    wipe(part: StoredPart): Promise<void>;
    /**
     * Flips a bit in this many stored chunks of a stopped node.
     * @returns how many chunks were damaged
     */
    damage(part: StoredPart, chunks: number): Promise<number>;
  };
  readonly memory?: {
    /** @param bytes that it may use from now on @returns its previous limit */
    limitMemory(handle: Handle, bytes: number): Promise<number>;
  };
  readonly linkFaults?:
    | {
        /** @param proxy where the link proxy runs, if there is one */
        links(proxy: Handle | undefined): LinkControl;
      }
    | undefined;
  readonly tap?:
    | {
        /** What nodes say to each other. @param proxy where the link proxy runs */
        tap(proxy: Handle | undefined): TapControl;
      }
    | undefined;
  readonly copy?: {
    /**
     * Writes what a stopped node keeps outside its data directory into a copy of that directory, so that it can
     * be started from the copy.
     */
    completeCopy(handle: Handle, dataDir: string): Promise<void>;
  };
  readonly power?: {
    /** Ends it as a power cut does, very soon, in the midst of its work. @returns what its disk has lost */
    cutPower(handle: Handle): Promise<Counts>;
  };
  /** Nodes were started as programs that read their faults themselves. */
  readonly clock?: true | undefined;
  readonly disk?: true | undefined;
}

export function capabilitiesOf({ can }: Pick<Driver, 'can'>): ReadonlySet<Capability> {
  return new Set(CAPABILITIES.filter((name) => can[name] !== undefined));
}

/** An option of `up` without which a cluster lacks capabilities. */
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

/** What a cluster with that driver would have needed at its start to have a capability that it lacks; undefined: nothing helps. */
export function startedWithout(driver: DriverName, lacking: Capability): typeof LINK_FAULTS | undefined {
  const { owned, images, simulated, tappable } = DRIVER_FACTS[driver];
  if (lacking === 'tap' && tappable) return simulated ? { ...TAP, start: 'tap: true' } : TAP;
  if (lacking === 'linkFaults' && owned) return LINK_FAULTS;
  const ofMachines = lacking === 'clock' || lacking === 'disk' || (lacking === 'power' && simulated);
  if (!ofMachines || !owned || images) return undefined;
  // `up` starts no simulation.
  return simulated ? { ...MACHINE_FAULTS, start: 'machineFaults: true' } : MACHINE_FAULTS;
}

/** JSON that outlives the process that wrote it. Opaque to everything but the driver. */
export type Handle = { readonly [field: string]: string | number };

/** How a part ended by itself. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The error it died of, if the driver saw it. */
  readonly reason?: string;
  /** The system killed it because it needed more memory than it may use; known only of containers. */
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
  /** How it ended; known only to the process that started it. */
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

/** A node that has run before and is stopped now. */
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

/** A node before it is created: its ports and its data directory on this machine. */
export interface Site {
  readonly name: string;
  readonly ports: NodePorts;
  /** Free port for a node behind a link proxy to listen on; the proxy has the p2p port in `ports`. */
  readonly behind?: number;
  readonly dataDir: string;
}

/** Where a node is: for this machine, for its peers, and for itself. */
export interface Place {
  /** URLs for this machine. */
  readonly api: string;
  readonly debug: string;
  /** The address that this machine dials, and the one that other nodes dial. */
  readonly p2p: Address;
  readonly peers: Address;
  /** Where the link proxy reaches it, if there is one. */
  readonly behind?: Address;
  /** What it is told about itself: address and ports to listen on, and where its data is. */
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

/** All parts of a cluster that may be running, according to its records. */
export interface ClusterParts {
  /** Every part was started under it, so it also identifies parts that no record names. */
  readonly token: string;
  readonly parts: readonly { readonly name: string; readonly handle: Handle }[];
}

export interface Disposed {
  /** Parts that ran. */
  readonly stopped: readonly string[];
  /** Of those, the ones that did not stop when asked. */
  readonly forced: readonly string[];
}

export interface Driver {
  readonly name: DriverName;
  /** The time of its nodes, where it is not the machine's. */
  readonly clock?: Clock;
  /** Of all that its nodes have sent each other so far, where that repeats: equal runs have equal ones. */
  readonly digest?: string | undefined;
  /** What its nodes have sent each other last, a line each, where that can be seen; oldest first. */
  readonly lastFrames?: readonly string[];
  readonly can: Capabilities;
  /** Whether a link proxy stands in front of every node, as a part of the cluster. */
  readonly proxied?: boolean;
  /** @throws HarnessError when this machine could not reach it at that place */
  place(site: Site): Place;
  /** For a chain that reports these URLs: its URLs for this machine and for the nodes. */
  placeChain(reported: ChainUrls): Promise<{ readonly here: ChainUrls; readonly nodes: ChainUrls }>;
  /** Only of drivers whose parts are containers. */
  readonly images?: {
    /**
     * Makes sure that the engine is available and has this package's image and the named ones.
     * @returns what is available, in words @throws HarnessError `ENGINE_FAILED`, `IMAGE_FAILED`
     */
    readonly ready: (names: readonly string[], watch: ImageWatch) => Promise<string>;
    /** Runs a program in an image to its end. @returns its output */
    readonly run: (image: string, args: readonly string[]) => Promise<string>;
  };
  /**
   * Does once, if not done before, what every node of the flavour would otherwise do at its first start. It
   * only saves time, so a failure is left to those starts.
   */
  prepare(flavour: Flavour, signal?: AbortSignal): Promise<void>;
  /**
   * Writes what the node needs before its first start: key files and configuration.
   * @param ports on this machine; those of the plan are the node's own
   */
  create(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void>;
  /** @throws HarnessError `PROCESS_FAILED` */
  start(part: Part): Promise<Started>;
  /** Asks it to stop, and ends it by force after `graceMs`. */
  stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }>;
  observe(handle: Handle): Promise<Observed>;
  /**
   * What runs of a node, named in a record or not: its starter may have been killed before it wrote one.
   * Only of drivers whose clusters can get more nodes.
   */
  find?(node: string): Promise<readonly Handle[]>;
  /**
   * Only for drivers that see what nodes have stored without asking them: whether a node has a chunk, with the right bytes,
   * also while it does not run. It takes no time of its clock. @param address 64 hex digits
   */
  holds?(node: string, address: string): boolean;
  stats(handle: Handle): Promise<Stats>;
  /** @param part its log is a path on this machine, if the driver writes log files */
  logs(part: { readonly name: string; readonly log: string }): PartLog;
  /** Copies logs that are kept elsewhere into the cluster's folder, in case the folder is kept. */
  gatherLogs(): Promise<void>;
  /** Ends every running part of the cluster, named in a record or not. */
  dispose(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /**
   * Only for drivers whose parts keep their data in themselves: ends every running part without removing any. The parts
   * can only start again as they were made, with their ports.
   */
  halt?(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /** The same as `dispose`, at once and by force, when nothing can be awaited: this process is about to end. */
  disposeNow(cluster: ClusterParts): void;
  /** Releases the driver's own resources; parts keep running. */
  close(): Promise<void>;
}
