/**
 * A live network from the server: a snapshot per connection, then changes. Plain JSON without imports, also for
 * browsers.
 */

/** Figures per node, in a row's order. */
export const FIGURES = [
  /** Chunks per second: pushed for own uploads, retrieved, taken into the reserve. */
  'pushed',
  'retrieved',
  'stored',
  /** API requests per second. */
  'requests',
  /** Chunks of own uploads waiting to be pushed. */
  'queue',
  /** Percent of one core. */
  'cpu',
  /** Bytes, resident. */
  'memory',
  /** 99th percentile of the event-loop delay, milliseconds. */
  'delay',
] as const;
export type FigureName = (typeof FIGURES)[number];

/** Of all nodes together, ms; `null`: nothing has happened since the previous row. */
export const LATENCIES = ['pushP50', 'pushP95', 'retrievalP50', 'retrievalP95'] as const;
export type LatencyName = (typeof LATENCIES)[number];

/** The findings of one round, for the charts. */
export interface Row {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Per node in cluster order, per figure; `null`: not reported. */
  readonly nodes: readonly (readonly (number | null)[] | null)[];
  readonly latencies: readonly (number | null)[];
  /** Usage of a process with several nodes, percent of one core and bytes; `null`: there is none. */
  readonly shared: { readonly cpu: number | null; readonly memory: number } | null;
}

/** A node; `null` stands for what it has not reported. */
export interface NodeView {
  readonly name: string;
  readonly flavour: string;
  readonly mode: string;
  /** 64 hex digits. */
  readonly overlay: string;
  /** 40 hex digits. */
  readonly ethereum: string;
  /** URLs and the multiaddress; empty if it has none. */
  readonly api: string;
  readonly debug: string;
  readonly p2p: string;
  readonly container: string | null;
  /** `running`, or another state: `crashed`, `killed`, `paused`, `silent`, … */
  readonly state: string;
  /** Why it does not answer although it is running. */
  readonly problem: string | null;
  readonly version: string | null;
  readonly depth: number | null;
  readonly storageRadius: number | null;
  /** Chunks in its reserve, and its capacity. */
  readonly reserve: number | null;
  readonly capacity: number | null;
  /** Waiting chunks of uploads, and the node's reason for the longest wait. */
  readonly waiting: number | null;
  readonly waitingFor: string | null;
  readonly peers: number | null;
  readonly block: number | null;
  readonly warmingUp: boolean;
  /** Token units as text; `null` without a chequebook. */
  readonly chequebook: { readonly total: string; readonly available: string } | null;
}

/** Two nodes that know each other; `a` precedes `b` in the cluster. */
export interface LinkView {
  readonly a: number;
  readonly b: number;
  readonly connected: boolean;
  /** Milliseconds, moving average. */
  readonly latencyMs: number | null;
  /** Accounting units as text; positive: `b` owes `a`. */
  readonly balance: string;
  /** Net traffic as charged, accounting units per second. */
  readonly flow: number;
  /** Paid by cheque so far, token units as text: `a` to `b`, and `b` to `a`. */
  readonly paidByA: string;
  readonly paidByB: string;
}

export interface UiEvent {
  /** Counts from 1. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: 'fault' | 'recovery' | 'change';
  /** A node, or `chain`; `null`: the whole cluster. */
  readonly part: string | null;
  readonly text: string;
}

/** A chunk that moves from one node to another. */
export interface ChunkMove {
  readonly kind: 'push' | 'retrieval' | 'pull';
  /** Places in the list of nodes. */
  readonly from: number;
  readonly to: number;
  /** First 8 hex digits of its address. */
  readonly chunk: string;
}

/** Something that one node has said to another. */
export interface MessageView {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly from: string;
  readonly to: string;
  /** Short name. */
  readonly protocol: string;
  readonly bytes: number;
}

/** How fast time passes on a page that has controls: so many times as fast as real time. */
export const PACE_RATES = [1, 10, 100] as const;

/** The time that is shown, where a page decides how it passes. */
export interface TimeView {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly isPaused: boolean;
  /** Per real time; `null`: as fast as possible. */
  readonly rate: number | null;
}

/** `off`: no node records chunk events. */
export type ChunkSight = 'on' | 'off';

/** Facts about the cluster apart from nodes and links. */
export interface ClusterView {
  readonly name: string;
  readonly driver: string;
  /** As text; `null`: nothing follows from a seed. */
  readonly seed: string | null;
  /** Milliseconds since the epoch: times are shown since then. */
  readonly startedAt: number;
  /** `gone`: the cluster has been removed and is no longer watched. `ended`: so has the run that it was for. */
  readonly phase: 'here' | 'gone' | 'ended';
  /** Height of the chain; `null`: it does not answer, or there is none. */
  readonly height: number | null;
  readonly hasChain: boolean;
  /** Whether logs can be read. */
  readonly logged: boolean;
  /** Milliseconds between two rounds. */
  readonly intervalMs: number;
  /** End of the last round, ms since the epoch; `null`: none. */
  readonly lookedAt: number | null;
  readonly chunkSight: ChunkSight;
  /** Whether nodes are asked for their books; otherwise only what they say to each other is seen. */
  readonly isAsked: boolean;
  /** Folder of the record of a run that has ended; `null`: there is none. */
  readonly record: string | null;
}

export interface Snapshot {
  readonly cluster: ClusterView;
  readonly nodes: readonly NodeView[];
  readonly links: readonly LinkView[];
  /** Oldest first. */
  readonly rows: readonly Row[];
  readonly events: readonly UiEvent[];
  /** The latest, oldest first; absent: none can be seen. */
  readonly messages?: readonly MessageView[];
  /** Absent: it is the machine's. */
  readonly time?: TimeView;
}

/** Changes: whole entries that replace the previous ones. */
export interface Delta {
  readonly cluster?: ClusterView;
  readonly nodes?: readonly NodeView[];
  readonly links?: readonly LinkView[];
  readonly row?: Row;
  readonly events?: readonly UiEvent[];
  /** A sample of the moves since the previous message. */
  readonly moves?: readonly ChunkMove[];
  readonly messages?: readonly MessageView[];
  readonly time?: TimeView;
}

/** What a node, or the chain, has logged. */
export interface LogAnswer {
  /** Path or command that prints it. */
  readonly where: string;
  /** Oldest first; only the last ones if there were too many. */
  readonly lines: readonly LogLine[];
  readonly leftOut: number;
  /** Where to continue. */
  readonly position: string;
}

export interface LogLine {
  readonly level: string;
  readonly text: string;
}
