/**
 * A driver decides where the parts of a cluster run: its nodes, its chain. It knows places, not what a node does;
 * flavours know that. What runs is known by a handle, which only its driver reads: other processes find it in the
 * state on disk and give it to a driver of their own.
 */
import type { Flavour, NodePlan, NodePorts } from '../flavours/flavour.ts';
import type { LinkControl } from '../links/rules.ts';
import type { PartLog } from '../logs/file-log.ts';

/** They need nothing but this package. */
export const LOCAL_DRIVERS = ['process', 'embedded'] as const;
/** Those that a definition can choose. */
export const DRIVER_NAMES = [...LOCAL_DRIVERS, 'docker'] as const;
/** Where a definition can have its nodes run. */
export type StartingDriver = (typeof DRIVER_NAMES)[number];
export const DRIVER_DEFAULT: StartingDriver = 'process';
/** `attached`: somebody else has started the nodes. */
export type DriverName = StartingDriver | 'attached';

/** What can be done to a node from outside, where it runs. */
export const CAPABILITIES = [
  'kill',
  'pause',
  'clock',
  'disk',
  'data',
  'memory',
  'linkFaults',
  'privatePorts',
  'copy',
] as const;
/** What a driver can do to a node from outside. */
export type Capability = (typeof CAPABILITIES)[number];

/** What a driver can do for a cluster that was started for faults of links, or of clocks and disks. */
export function capabilitiesWith(
  capabilities: ReadonlySet<Capability>,
  { linkFaults, machineFaults }: { readonly linkFaults: boolean; readonly machineFaults: boolean },
): ReadonlySet<Capability> {
  if (!linkFaults && !machineFaults) return capabilities;
  return new Set([
    ...capabilities,
    ...(linkFaults ? (['linkFaults'] as const) : []),
    ...(machineFaults ? (['clock', 'disk'] as const) : []),
  ]);
}

/** Whether a cluster of that driver lacks it only because it was started without a link proxy. */
export function lacksProxy(driver: DriverName, capability: Capability): boolean {
  return capability === 'linkFaults' && LOCAL_DRIVERS.some((local) => local === driver);
}

/** Whether a cluster of that driver lacks it only because its nodes were not started for it. */
export function lacksTampering(driver: DriverName, capability: Capability): boolean {
  const isOfNodes = capability === 'clock' || capability === 'disk';
  return isOfNodes && LOCAL_DRIVERS.some((local) => local === driver);
}

/** JSON that survives the process which wrote it. Opaque to everything but the driver. */
export type Handle = { readonly [field: string]: string | number };

/** How a part ended by itself. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The error it died of, where the driver saw it. */
  readonly reason?: string;
}

/** `SIGKILL`, `exit code 1` */
export function exitText({ code, signal, reason }: Exit): string {
  return reason ?? signal ?? `exit code ${code}`;
}

/** `gone`: nothing of it runs. `silent`: it does not answer, and more cannot be seen from here. */
export type PartState = 'running' | 'paused' | 'silent' | 'gone';

/** What a look at a part shows. */
export interface Observed {
  readonly state: PartState;
  /** Process of this machine that it runs in. */
  readonly pid?: number;
  /** How it ended; known only to the process that started it. */
  readonly exit?: Exit;
  /** Why it is silent. */
  readonly silence?: string;
}

/** What a part has used since it started; absent: the driver cannot tell it from its neighbours. */
export interface Stats {
  /** Processor time, milliseconds. */
  readonly cpuMs?: number;
  /** Bytes that nothing else shares. */
  readonly memoryBytes?: number;
  /** Bytes through its sockets. */
  readonly receivedBytes?: number;
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

/** The proxy that nodes reach each other by. */
export interface LinkProxyPart {
  readonly kind: 'link-proxy';
  readonly name: typeof LINK_PROXY;
  /** Path of the document of `links/proxy/main.ts`. */
  readonly optionsFile: string;
  readonly log: string;
}
export const LINK_PROXY = 'link-proxy';

export type Part = NodePart | ChainPart | LinkProxyPart;

/** A node that has run, and does not now. */
export type StoredPart = Pick<NodePart, 'name' | 'dataDir' | 'flavour'> & { readonly handle: Handle };

/** A part that runs. */
export interface Started {
  readonly handle: Handle;
}

/** Host is an IPv4 address or a name. */
interface Address {
  readonly host: string;
  readonly port: number;
}

/** A node before it is created: its ports on this machine, and what is its own on this machine's disk. */
export interface Site {
  readonly name: string;
  readonly ports: NodePorts;
  /** p2p port of a node behind a link proxy, which has the one of `ports`. */
  readonly behind?: number;
  readonly dataDir: string;
}

/** Where a node is: for this machine, for its peers, and for itself. */
export interface Place {
  /** URLs for this machine. */
  readonly api: string;
  readonly debug: string;
  /** That this machine dials, and that other nodes do. */
  readonly p2p: Address;
  readonly peers: Address;
  /** What it is told of itself: address and ports of its listeners, and where its data is. */
  readonly listen: string;
  readonly ports: NodePorts;
  readonly dataDir: string;
  /** Names under which its API is asked; absent: by addresses alone. */
  readonly hosts?: readonly string[];
  /** Name of its container, where it has one. */
  readonly container?: string;
}

/** URLs of a chain. */
export interface ChainUrls {
  readonly rpc: string;
  readonly control: string;
  readonly gate?: string;
}

/** What containers need before any of them can be made. */
export interface ImageWatch {
  readonly signal?: AbortSignal | undefined;
  /** What is being done, in words. */
  readonly onProgress: (detail: string) => void;
}

/** All of a cluster that may run, as its records have it. */
export interface ClusterParts {
  /** Every part was started under it: it finds what no record names. */
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
  readonly capabilities: ReadonlySet<Capability>;
  /** Whether a link proxy stands before every node, as a part of the cluster. */
  readonly proxied?: boolean;
  /**
   * Of drivers that can make links bad: by whom it is done.
   * @param proxy where the link proxy runs, if there is one
   */
  links?(proxy: Handle | undefined): LinkControl;
  /** @throws HarnessError when this machine could not reach it there */
  place(site: Site): Place;
  /** A chain that says it is at these URLs: where it is for this machine, and where for the nodes. */
  placeChain(said: ChainUrls): Promise<{ readonly here: ChainUrls; readonly nodes: ChainUrls }>;
  /**
   * Of drivers whose parts are containers: makes sure that the engine is there and has the image of this package and the
   * named ones. @returns what is there, in words @throws HarnessError `ENGINE_FAILED`, `IMAGE_FAILED`
   */
  images?(names: readonly string[], watch: ImageWatch): Promise<string>;
  /** Of the same: runs a program of an image to its end. @returns what it has printed */
  runImage?(image: string, args: readonly string[]): Promise<string>;
  /**
   * Does once what every node of the flavour would otherwise do at its first start, if it was not done before. Nothing
   * depends on it but time, so a failure is left to those starts.
   */
  prepare(flavour: Flavour, signal?: AbortSignal): Promise<void>;
  /**
   * Writes what the node needs before its first start: key files and configuration.
   * @param ports on this machine; those of the plan are the node's own
   */
  create(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void>;
  /** @throws HarnessError `PROCESS_FAILED` */
  start(part: Part): Promise<Started>;
  /** Asks to stop, and ends it when it has not after `graceMs`. */
  stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }>;
  /** Ends it at once, as a power cut would. */
  kill(handle: Handle): Promise<void>;
  /** @returns false when it was gone */
  pause(handle: Handle): Promise<boolean>;
  resume(handle: Handle): Promise<boolean>;
  observe(handle: Handle): Promise<Observed>;
  /**
   * Writes what a stopped node keeps outside of its data directory into a copy of that, so that it can be started from there.
   * Absent: a driver whose nodes keep nothing elsewhere, or that cannot copy them.
   */
  completeCopy?(handle: Handle, dataDir: string): Promise<void>;
  /** Removes what a stopped node has stored, and leaves its keys and its configuration. Absent: it cannot be had. */
  wipe?(part: StoredPart): Promise<void>;
  /** Flips a bit in so many chunks that a stopped node has stored. Absent as above. @returns in how many there were */
  damage?(part: StoredPart, chunks: number): Promise<number>;
  /** Of containers. @param bytes that one may use from now on @returns what it might before */
  limitMemory?(handle: Handle, bytes: number): Promise<number>;
  stats(handle: Handle): Promise<Stats>;
  /** @param part its log is a path of this machine, where the driver writes to any */
  logs(part: { readonly name: string; readonly log: string }): PartLog;
  /** Brings logs that are kept elsewhere into the cluster's folder, for those who keep the folder. */
  gatherLogs(): Promise<void>;
  /** Ends everything of the cluster that runs, named in a record or not. */
  dispose(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /** The same at once and by force, where nothing can be awaited: this process is about to end. */
  disposeNow(cluster: ClusterParts): void;
  /** Lets go of what stays. */
  close(): Promise<void>;
}
