import type { Clock } from '../../formats/clock.ts';
import type { NetworkShape } from './links/regions.ts';

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
  readonly embedded: {
    /** How embedded nodes reach peers: TCP if one is a process. */
    readonly transport: 'memory' | 'tcp';
    readonly store: 'memory' | 'disk';
    /** Whether nodes share results computed from the same bytes. */
    readonly shareResults: boolean;
  };
}
