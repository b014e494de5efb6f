/** A network at one moment. Plain JSON without imports, also for browsers. */

/** `null`: not reported. */
export interface NetworkPicture {
  /** ISO 8601. */
  readonly at: string;
  /** Its name. */
  readonly cluster: string;
  /** Head; `null`: none, or no answer. */
  readonly height: number | null;
  /** In the order of the cluster. */
  readonly nodes: readonly PictureNode[];
  /** Connected, or keeping accounts about each other. */
  readonly links: readonly PictureLink[];
  /** If not all are included. */
  readonly linksInAll?: number;
}

export interface PictureNode {
  /** Such as `node-0`. */
  readonly name: string;
  /** 64 hex digits. */
  readonly overlay: string;
  /** Program, such as `svc` or `bee`. */
  readonly flavour: string;
  /** `full`, `light` or `boot`. */
  readonly mode: string;
  /** `running`, `crashed`, `killed`, `paused`, `silent`, … */
  readonly state: string;
  /** Whether it answered anything. */
  readonly answers: boolean;
  /** As the program reports it. */
  readonly version: string | null;
  /** Of its Kademlia table, bits. */
  readonly depth: number | null;
  /** Bits. */
  readonly storageRadius: number | null;
  /** Chunks in its reserve. */
  readonly reserve: number | null;
  /** Chunks in its cache. */
  readonly cache: number | null;
  /** Chunks of uploads without room in their neighbourhood. */
  readonly waiting: number | null;
  /** Last block it has read. */
  readonly block: number | null;
  /** Of its chequebook, token units. */
  readonly chequebook: { readonly total: string; readonly available: string } | null;
  /** Connected ones; outside the cluster, first digits of the overlay. */
  readonly peers: readonly string[] | null;
}

/** `a` precedes `b`. Amounts are strings: they may exceed a number's range. */
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
