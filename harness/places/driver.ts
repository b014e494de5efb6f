/**
 * A driver decides where the parts of a cluster run: its nodes, its chain. It knows places, not what a node does;
 * flavours know that. What runs is known by a handle, which only its driver reads: other processes find it in the
 * state on disk and give it to a driver of their own.
 */
import type { Flavour, NodePlan, NodePorts } from '../flavours/flavour.ts';
import type { PartLog } from '../logs/file-log.ts';
import type { Command } from '../machine/processes.ts';

export const DRIVER_NAMES = ['process', 'embedded'] as const;
export type DriverName = (typeof DRIVER_NAMES)[number];
export const DRIVER_DEFAULT: DriverName = 'process';

/** What can be done to a node from outside, where it runs. */
export const CAPABILITIES = ['kill', 'pause', 'clock', 'disk', 'linkFaults', 'privatePorts', 'copy'] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** JSON that survives the process which wrote it. Opaque to everything but the driver. */
export type Handle = { readonly [field: string]: string | number };

/** How a part ended by itself. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The error it died of, where the driver saw it. */
  readonly reason?: string;
}

/** `gone`: nothing of it runs. */
export type PartState = 'running' | 'paused' | 'gone';

/** What a look at a part shows. */
export interface Observed {
  readonly state: PartState;
  /** Process that it runs in. */
  readonly pid?: number;
  /** How it ended; known only to the process that started it. */
  readonly exit?: Exit;
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

/** A node that can be started, from its files. */
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
  readonly command: Command;
  readonly log: string;
}

export type Part = NodePart | ChainPart;

/** A part that runs. */
export interface Started {
  readonly handle: Handle;
  /** Settles when it ends; known only to the process that started it. */
  readonly exited?: Promise<Exit>;
}

/** Where a node is reached, and where it listens. */
export interface Endpoints {
  /** URLs. */
  readonly api: string;
  readonly debug: string;
  /** That other nodes dial. */
  readonly p2p: { readonly host: string; readonly port: number };
  /** Address that its listeners take. */
  readonly listen: string;
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
  endpoints(node: { readonly name: string; readonly ports: NodePorts }): Endpoints;
  /**
   * Does once what every node of the flavour would otherwise do at its first start, if it was not done before. Nothing
   * depends on it but time, so a failure is left to those starts.
   */
  prepare(flavour: Flavour, signal?: AbortSignal): Promise<void>;
  /** Writes what the node needs before its first start: key files and configuration. */
  create(plan: NodePlan, flavour: Flavour): Promise<void>;
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
  stats(handle: Handle): Promise<Stats>;
  logs(part: { readonly log: string }): PartLog;
  /** Ends everything of the cluster that runs, named in a record or not. */
  dispose(cluster: ClusterParts, graceMs: number): Promise<Disposed>;
  /** The same at once and by force, where nothing can be awaited: this process is about to end. */
  disposeNow(cluster: ClusterParts): void;
  /** Lets go of what stays. */
  close(): Promise<void>;
}
