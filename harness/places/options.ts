/** What a driver is told of the one cluster that it is for. */
export interface DriverOptions {
  /** Parts stop when this process ends, however it ends. */
  readonly stopWithParent: boolean;
  /** Folders of compiled code: that all nodes share, that embedded ones have instead, and that the chain reads. */
  readonly compileCache: { readonly nodes: string; readonly embedded: string; readonly tools: string };
  /** Of the cluster; every process is started under it. */
  readonly token: string;
  /** Of the cluster. */
  readonly name: string;
  /** Everything the cluster keeps. */
  readonly folder: string;
  /** IPv4 address of this machine that the nodes and the chain listen at. */
  readonly listen: string;
  /** Whether the clocks and disks of nodes of our own can be made to fail. */
  readonly machineFaults: boolean;
  /** Nodes with sockets reach each other by a proxy. */
  readonly linkFaults: boolean;
  readonly embedded: {
    /** Where the peers of embedded nodes are: TCP when one of them is a process. */
    readonly transport: 'memory' | 'tcp';
    readonly store: 'memory' | 'disk';
    /** Whether what one node has found out about some bytes, such as who signed them, is not computed again by others. */
    readonly shareResults: boolean;
  };
}
