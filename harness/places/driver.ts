/**
 * A driver decides where a cluster's nodes and chain run; flavours know what a node does. Only a running part's driver reads
 * its handle, also in another process, from the state on disk.
 */
import type { Clock } from '../../formats/clock.ts';
import type { PartLog } from '../base/logs/file-log.ts';
import type { CompiledFor } from '../base/machine/compile.ts';
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

/** Undefined: this driver cannot, or not to the nodes of this cluster. */
export interface Capabilities {
  readonly kill?: {
    kill(handle: Handle): Promise<void>;
  };
  readonly pause?: {
    pause(handle: Handle): Promise<boolean>;
    resume(handle: Handle): Promise<boolean>;
  };
  readonly data?: {
    wipe(part: StoredPart): Promise<void>;
    /** Flips a bit in this many chunks of a stopped node. @returns chunks damaged */
    damage(part: StoredPart, chunks: number): Promise<number>;
  };
  readonly memory?: {
    /** @returns the previous limit */
    limitMemory(handle: Handle, bytes: number): Promise<number>;
  };
  readonly linkFaults?:
    | {
        links(proxy: Handle | undefined): LinkControl;
      }
    | undefined;
  readonly tap?:
    | {
        tap(proxy: Handle | undefined): TapControl;
      }
    | undefined;
  readonly copy?: {
    /** Adds to a copy of a stopped node's data directory what the node keeps elsewhere. */
    completeCopy(handle: Handle, dataDir: string): Promise<void>;
  };
  readonly power?: {
    /**
     * Strikes amid its work.
     * @param torn confirmed chunks that its disk tears all the same @returns what its disk lost
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

/** What a cluster of that driver would have needed at its start; undefined: nothing helps. */
export function startedWithout(driver: DriverName, lacking: Capability): typeof LINK_FAULTS | undefined {
  const { owned, images, simulated, tappable } = DRIVER_FACTS[driver];
  if (lacking === 'tap' && tappable) return simulated ? { ...TAP, start: 'tap: true' } : TAP;
  if (lacking === 'linkFaults' && owned) return LINK_FAULTS;
  const ofMachines = lacking === 'clock' || lacking === 'disk' || (lacking === 'power' && simulated);
  if (!ofMachines || !owned || images) return undefined;
  return simulated ? { ...MACHINE_FAULTS, start: 'machineFaults: true' } : MACHINE_FAULTS;
}

/** JSON that outlives its writer, opaque to all but the driver. */
export type Handle = { readonly [field: string]: string | number };

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The error it died of, if seen. */
  readonly reason?: string;
  readonly outOfMemory?: true;
}

export function exitText({ code, signal, reason }: Exit): string {
  return reason ?? signal ?? `exit code ${code}`;
}

/** `gone`: it is not running. `silent`: it does not answer, and more cannot be seen from here. */
export type PartState = 'running' | 'paused' | 'silent' | 'gone';

export interface Observed {
  readonly state: PartState;
  readonly pid?: number;
  readonly exit?: Exit;
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

export interface NodePart {
  readonly kind: 'node';
  readonly name: string;
  readonly flavour: Flavour;
  readonly binary?: string | undefined;
  readonly dataDir: string;
  readonly log: string;
}

export interface ChainPart {
  readonly kind: 'chain';
  readonly name: 'chain';
  readonly options: Readonly<Record<string, unknown>>;
  readonly optionsFile: string;
  readonly log: string;
}

export interface LinkProxyPart {
  readonly kind: 'link-proxy';
  readonly name: typeof LINK_PROXY;
  readonly options: ProxyOptions;
  readonly optionsFile: string;
  readonly log: string;
}
export const LINK_PROXY = 'link-proxy';

export type Part = NodePart | ChainPart | LinkProxyPart;

export type StoredPart = Pick<NodePart, 'name' | 'dataDir' | 'flavour'> & { readonly handle: Handle };

export interface Started {
  readonly handle: Handle;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A node before it is created. */
export interface Site {
  readonly name: string;
  readonly ports: NodePorts;
  /** The port of a node behind a link proxy, which has the p2p port in `ports`. */
  readonly behind?: number;
  readonly dataDir: string;
}

export interface Place {
  readonly api: string;
  readonly debug: string;
  readonly p2p: Address;
  readonly peers: Address;
  readonly behind?: Address;
  readonly listen: string;
  readonly ports: NodePorts;
  readonly dataDir: string;
  readonly hosts?: readonly string[];
  /** Name of its container, if it has one. */
  readonly container?: string;
}

export interface ChainUrls {
  readonly rpc: string;
  readonly control: string;
  readonly gate?: string | undefined;
}

/** Watches the preparation of images, before any container is created. */
export interface ImageWatch {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress: (detail: string) => void;
}

export interface ClusterParts {
  /** Every part was started under it, also those that no record names. */
  readonly token: string;
  readonly parts: readonly { readonly name: string; readonly handle: Handle }[];
}

export interface Disposed {
  readonly stopped: readonly string[];
  readonly forced: readonly string[];
}

/** A message between two nodes. */
export interface SaidMessage {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly bytes: number;
}

/** A simulation as its process sees it, without asking a node. */
export interface SimulationView {
  /** @param pace holds its time from now on */
  setPace(pace: Pace | undefined): void;
  /** Names of nodes that are connected. */
  pairs(): readonly (readonly [string, string])[];
  onMessage(listener: (message: SaidMessage) => void): Disposable;
}

export interface Driver {
  readonly name: DriverName;
  readonly clock?: Clock;
  /** A digest of all frames so far, where equal runs send equal ones. */
  readonly digest?: string | undefined;
  readonly lastFrames?: readonly string[];
  readonly simulation?: SimulationView | undefined;
  readonly can: Capabilities;
  /** Tells the link proxy about nodes that come and go. @param proxy where it runs */
  readonly routes?: ((proxy: Handle | undefined) => RouteControl) | undefined;
  /** @throws HarnessError when this machine could not reach it there */
  place(site: Site): Place;
  placeChain(reported: ChainUrls): Promise<{ readonly here: ChainUrls; readonly nodes: ChainUrls }>;
  readonly images?: {
    /** @returns what is available, in words @throws HarnessError `ENGINE_FAILED`, `IMAGE_FAILED` */
    readonly ready: (names: readonly string[], watch: ImageWatch) => Promise<string>;
    readonly run: (image: string, args: readonly string[]) => Promise<string>;
  };
  /** What each node would do at its first start. A failure shows at those starts. */
  prepare(flavour: Flavour, signal?: AbortSignal): Promise<void>;
  /** Writes key files and configuration. @param ports on this machine; the plan has the node's own */
  create(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void>;
  /** The same for a stopped node, which keeps its data. Only of drivers that have `halt`. */
  remake?(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void>;
  start(part: Part): Promise<Started>;
  /** Asks it first, and kills it after `graceMs`. */
  stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }>;
  observe(handle: Handle): Promise<Observed>;
  /** Calls when what runs may have changed. Only of drivers that need not be asked again and again. @returns ends the calls */
  onChange?(listener: () => void): Disposable;
  /**
   * What runs of a node, recorded or not: its starter may have been killed before it wrote a record. Only of drivers whose
   * clusters can grow.
   */
  find?(node: string): Promise<readonly Handle[]>;
  /**
   * Whether a node has a chunk with the right bytes, running or not. Only of drivers that see stores; takes no time of the
   * driver's clock. @param address 64 hex digits
   */
  holds?(node: string, address: string): boolean;
  stats(handle: Handle): Promise<Stats>;
  /** @param part its log is a path on this machine, if the driver writes log files */
  logs(part: { readonly name: string; readonly log: string }): PartLog;
  /** Copies logs kept elsewhere into the cluster's folder. */
  gatherLogs(): Promise<void>;
  /** Ends every running part, recorded or not. */
  dispose(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /** Ends running parts that hold their data. They can start again only as made, with their ports. */
  halt?(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /** Removes a node that has left for good, recorded or not. Only of drivers that have `halt`. */
  remove?(node: string): Promise<void>;
  /** `dispose` by force, for a process that is about to end. */
  disposeNow(cluster: ClusterParts): void;
  close(): Promise<void>;
}

export function haltAll(driver: Driver, cluster: ClusterParts, graceMs: number): Promise<Disposed> {
  return driver.halt?.(cluster, graceMs) ?? driver.dispose(cluster, graceMs);
}

export interface DriverOptions {
  readonly clock: Clock;
  /** Parts stop when this process ends, however it ends. */
  readonly stopWithParent: boolean;
  readonly compileCache: (of: CompiledFor) => string;
  /** Existing parts are not made anew. */
  readonly isAgain?: boolean;
  readonly token: string;
  readonly seed: string;
  readonly name: string;
  readonly frames: boolean;
  readonly folder: string;
  readonly listen: string;
  readonly machineFaults: boolean;
  readonly linkFaults: boolean;
  /** Messages are seen, by the proxy or in memory. */
  readonly tap: boolean;
  readonly network?: NetworkShape | undefined;
  readonly odd?: readonly KnobName[] | undefined;
  readonly embedded: {
    /** TCP if a peer is a process. */
    readonly transport: 'memory' | 'tcp';
    readonly store: 'memory' | 'disk';
    readonly shareResults: boolean;
  };
}
