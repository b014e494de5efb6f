import type { Clock } from '../../formats/clock.ts';
import type { NetworkShape } from './links/regions.ts';

/** What a driver is told about its one cluster. */
export interface DriverOptions {
  /** The time of its waits. */
  readonly clock: Clock;
  /** Parts stop when this process ends, however it ends. */
  readonly stopWithParent: boolean;
  /** Folder of compiled code: shared by all nodes, used by embedded nodes instead, or read by the chain. */
  readonly compileCache: (of: 'nodes' | 'embedded' | 'tools') => string;
  /** It ran before, and starts again: parts that were made then are not made anew. */
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
  /** Whether the clocks and disks of our own nodes can be made to fail. */
  readonly machineFaults: boolean;
  /** Whether nodes with sockets reach each other through a proxy. */
  readonly linkFaults: boolean;
  /** Whether what nodes say to each other is seen: by that proxy, or in memory. */
  readonly tap: boolean;
  /** What links of simulated nodes are like. Default: all arrives at once. */
  readonly network?: NetworkShape | undefined;
  readonly embedded: {
    /** How embedded nodes reach their peers: over TCP if one of them is a process. */
    readonly transport: 'memory' | 'tcp';
    readonly store: 'memory' | 'disk';
    /** Whether nodes share results computed from the same bytes, such as who signed them. */
    readonly shareResults: boolean;
  };
}
