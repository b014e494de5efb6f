/** A live network from the server: a snapshot, then changes. Plain JSON without imports, also for browsers. */

export const FIGURES = [
  /** Per second: chunks pushed for own uploads, retrieved, taken into the reserve. */
  'pushed',
  'retrieved',
  'stored',
  /** API requests per second. */
  'requests',
  /** Chunks of own uploads before their push. */
  'queue',
  /** Percent of one core. */
  'cpu',
  /** Bytes, resident. */
  'memory',
  /** Event-loop delay, 99th percentile, ms. */
  'delay',
] as const;
export type FigureName = (typeof FIGURES)[number];

/** Of all nodes, ms; `null`: nothing since the previous row. */
export const LATENCIES = ['pushP50', 'pushP95', 'retrievalP50', 'retrievalP95'] as const;
export type LatencyName = (typeof LATENCIES)[number];

/** Of a scenario, per second. */
export const OPERATIONS = ['uploads', 'downloads', 'others', 'failed'] as const;

export interface Row {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** In the cluster's order; `null`: not reported. */
  readonly nodes: readonly (readonly (number | null)[] | null)[];
  readonly latencies: readonly (number | null)[];
  /** Of a process with several nodes, percent of one core and bytes; `null`: none. */
  readonly shared: { readonly cpu: number | null; readonly memory: number } | null;
  /** By `OPERATIONS`; absent: no scenario is known. */
  readonly operations?: readonly (number | null)[];
}

/** `null`: not reported. */
export interface NodeView {
  readonly name: string;
  readonly flavour: string;
  readonly mode: string;
  /** 64 hex digits. */
  readonly overlay: string;
  /** 40 hex digits. */
  readonly ethereum: string;
  /** Empty: it has none. */
  readonly api: string;
  readonly debug: string;
  readonly p2p: string;
  readonly container: string | null;
  /** `running`, or another state: `crashed`, `killed`, `paused`, `silent`, … */
  readonly state: string;
  readonly problem: string | null;
  readonly version: string | null;
  readonly depth: number | null;
  readonly storageRadius: number | null;
  /** Chunks. */
  readonly reserve: number | null;
  readonly capacity: number | null;
  /** Waiting chunks of uploads, and why the longest waits. */
  readonly waiting: number | null;
  readonly waitingFor: string | null;
  readonly peers: number | null;
  readonly block: number | null;
  readonly warmingUp: boolean;
  readonly chequebook: { readonly total: string; readonly available: string } | null;
  /** Active ones that target it; absent: none. */
  readonly faults?: readonly string[];
  /** Its side in each active fault that separates nodes, by id; absent: none. */
  readonly sides?: Readonly<Record<string, number>>;
}

export interface LinkView {
  readonly a: number;
  readonly b: number;
  readonly connected: boolean;
  /** Moving average. */
  readonly latencyMs: number | null;
  /** Accounting units; positive: `b` owes `a`. */
  readonly balance: string;
  /** As charged, accounting units per second, net. */
  readonly flow: number;
  /** By cheque so far, token units: `a` to `b`, and `b` to `a`. */
  readonly paidByA: string;
  readonly paidByB: string;
}

export interface UiEvent {
  /** From 1. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** `failure`: of the run, such as a condition that is false. */
  readonly kind: 'fault' | 'recovery' | 'change' | 'failure';
  /** A node, or `chain`; `null`: the cluster. */
  readonly part: string | null;
  /** Id of an injected one, which begins and ends by it. */
  readonly fault?: string;
  readonly text: string;
}

export interface ChunkMove {
  readonly kind: 'push' | 'retrieval' | 'pull';
  readonly from: number;
  readonly to: number;
  /** First 8 hex digits. */
  readonly chunk: string;
}

export interface MessageView {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly from: string;
  readonly to: string;
  /** Short name. */
  readonly protocol: string;
  readonly bytes: number;
}

/** Real time is 1. */
export const PACE_RATES = [1, 10, 100] as const;

export interface TimeView {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly isPaused: boolean;
  /** Per real time; `null`: as fast as possible. */
  readonly rate: number | null;
  /** The scenario's step, and what is broken. */
  readonly doing?: string;
}

/** A run's record that is played. Times are milliseconds since the epoch. */
export interface PlayedRecord {
  /** Such as `failed, seed 7`. */
  readonly verdict: string;
  /** Clusters of the run, one after the other. */
  readonly parts: readonly string[];
  /** Place of the one that is played. */
  readonly part: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** When the run first failed; `null`: it did not. */
  readonly failedMs: number | null;
  readonly marks: readonly PlayedMark[];
  /** What the page cannot show, a sentence each. */
  readonly lacks: readonly string[];
}

export interface PlayedMark {
  readonly kind: 'fault' | 'failure';
  readonly fromMs: number;
  /** Absent: at once, or to the end. */
  readonly toMs?: number;
  /** What happened. */
  readonly text: string;
}

/** `off`: no node records chunk events. */
export type ChunkSight = 'on' | 'off';

export interface ClusterView {
  readonly name: string;
  readonly driver: string;
  readonly seed: string | null;
  /** Zero of shown times, ms since the epoch. */
  readonly startedAt: number;
  /** `gone`: the cluster has been removed. `ended`: so has its run. */
  readonly phase: 'here' | 'gone' | 'ended';
  /** `null`: no answer, or no chain. */
  readonly height: number | null;
  readonly hasChain: boolean;
  /** Logs can be read. */
  readonly logged: boolean;
  /** Between rounds. */
  readonly intervalMs: number;
  /** Of the last round, ms since the epoch; `null`: none. */
  readonly lookedAt: number | null;
  readonly chunkSight: ChunkSight;
  /** For their books; otherwise only messages are seen. */
  readonly isAsked: boolean;
  readonly record: string | null;
  /** Absent: the cluster is there. */
  readonly played?: PlayedRecord;
}

export interface Snapshot {
  readonly cluster: ClusterView;
  readonly nodes: readonly NodeView[];
  readonly links: readonly LinkView[];
  /** Oldest first. */
  readonly rows: readonly Row[];
  readonly events: readonly UiEvent[];
  /** Oldest first; absent: none can be seen. */
  readonly messages?: readonly MessageView[];
  /** Absent: the machine's. */
  readonly time?: TimeView;
}

export interface Delta {
  readonly cluster?: ClusterView;
  readonly nodes?: readonly NodeView[];
  readonly links?: readonly LinkView[];
  readonly row?: Row;
  readonly events?: readonly UiEvent[];
  /** A sample since the previous message. */
  readonly moves?: readonly ChunkMove[];
  readonly messages?: readonly MessageView[];
  readonly time?: TimeView;
}

export interface LogAnswer {
  readonly where: string;
  readonly lines: readonly LogLine[];
  readonly leftOut: number;
  /** The lines replace those before. */
  readonly renewed?: true;
  /** To continue from. */
  readonly position: string;
}

export interface LogLine {
  readonly level: string;
  readonly text: string;
}
