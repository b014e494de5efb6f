/** A network at one moment. Plain JSON without imports, also for browsers. */

/** `null` stands for what a node has not reported. */
export interface NetworkPicture {
  /** ISO 8601. */
  readonly at: string;
  /** Its name. */
  readonly cluster: string;
  /** The chain's head; `null`: none, or no answer. */
  readonly height: number | null;
  /** In the order of the cluster. */
  readonly nodes: readonly PictureNode[];
  /** Pairs of nodes that are connected, or that keep accounts about each other. */
  readonly links: readonly PictureLink[];
  /** Total number of links, if not all are included. */
  readonly linksInAll?: number;
}

export interface PictureNode {
  /** Such as `node-0`. */
  readonly name: string;
  /** 64 hex digits. */
  readonly overlay: string;
  /** Which program it is, such as `svc` or `bee`. */
  readonly flavour: string;
  /** `full`, `light` or `boot`. */
  readonly mode: string;
  /** `running`, or another state: `crashed`, `killed`, `paused`, `silent`, … */
  readonly state: string;
  /** Whether it answered anything. */
  readonly answers: boolean;
  /** As its program reports it. */
  readonly version: string | null;
  /** Of its Kademlia table, bits. */
  readonly depth: number | null;
  /** Bits. */
  readonly storageRadius: number | null;
  /** Chunks in its reserve. */
  readonly reserve: number | null;
  /** Chunks in its cache. */
  readonly cache: number | null;
  /** Chunks of uploads waiting for room in their neighbourhood. */
  readonly waiting: number | null;
  /** Last block it has read. */
  readonly block: number | null;
  /** Balances of its chequebook, token units as text. */
  readonly chequebook: { readonly total: string; readonly available: string } | null;
  /** Connected peers; outside ones by their overlay's first digits. */
  readonly peers: readonly string[] | null;
}

/**
 * Two nodes by name, `a` before `b`. Amounts are strings of digits: they may exceed the range of a number.
 */
export interface PictureLink {
  /** Name of a node. */
  readonly a: string;
  /** Name of the other. */
  readonly b: string;
  /** Whether they are, now. */
  readonly connected: boolean;
  /** Accounting units, positive when `b` owes `a`. */
  readonly balance: string;
  /** Promised by cheques, token units, cumulative. */
  readonly chequesFromA: string;
  /** The same in the other direction. */
  readonly chequesFromB: string;
  /** Settled by time, accounting units, cumulative. */
  readonly timeFromA: string;
  /** The same in the other direction. */
  readonly timeFromB: string;
}
