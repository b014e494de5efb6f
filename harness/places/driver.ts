/** A driver decides where nodes run. It knows processes and folders, not what a node does; flavours know that. */
import type { Flavour, NodePlan } from '../flavours/flavour.ts';
import type { ProcessId } from '../machine/processes.ts';

export const DRIVER_NAMES = ['process'] as const;
export type DriverName = (typeof DRIVER_NAMES)[number];

/** How a node ended by itself. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A node that runs. */
export interface Running {
  readonly id: ProcessId;
  /** Known only to the process that started it. */
  readonly exited?: Promise<Exit>;
}

interface NodePlace {
  readonly flavour: Flavour;
  readonly binary?: string | undefined;
  readonly dataDir: string;
  readonly log: string;
}

export interface Driver {
  readonly name: DriverName;
  /**
   * Does once what every node of the flavour would otherwise do at its first start, if it was not done before. Nothing
   * depends on it but time, so a failure is left to those starts.
   */
  prepare(flavour: Flavour, signal?: AbortSignal): Promise<void>;
  /** Writes what the node needs before its first start: key files and configuration. */
  create(plan: NodePlan, flavour: Flavour): Promise<void>;
  /** @throws HarnessError `PROCESS_FAILED` */
  start(place: NodePlace): Promise<Running>;
  /** Asks to stop, and ends it when it has not after `graceMs`. */
  stop(id: ProcessId, graceMs: number): Promise<{ forced: boolean }>;
  /** Ends it at once, as a power cut would. */
  kill(id: ProcessId): Promise<void>;
  /** @returns false when it was gone */
  pause(id: ProcessId): Promise<boolean>;
  resume(id: ProcessId): Promise<boolean>;
  alive(id: ProcessId): boolean;
  /** Host that the node's ports are reached at. */
  readonly host: string;
}
