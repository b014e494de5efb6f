import type { Incident } from '../cluster/nodes/membership.ts';
import type { OperationSummary, SlowOperation } from '../metrics/recorder.ts';
import type { OperationTimeline } from '../metrics/timeline.ts';
import { DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import type { NetworkPicture } from '../web/picture/picture.ts';

/** A scenario's named condition and what was seen. */
export interface Assertion {
  /** What must hold, such as `node-1 has the upload`. */
  readonly name: string;
  /** Whether it was true. */
  readonly passed: boolean;
  /** What was seen, as text. */
  readonly observed: string;
  /** What should have been seen. */
  readonly expected: string;
  /** Node, peer, chunk, log excerpt: whatever helps find the cause. */
  readonly evidence?: string | undefined;
  /** A condition on speed or errors of a load, not on what was stored. */
  readonly threshold?: true;
  /** When it was checked, ms since the epoch. */
  readonly at?: number;
}

/** An amount or a count produced by a scenario. */
export interface Figure {
  /** What it counts, such as `cheques sent`. */
  readonly name: string;
  /** Its node or link; absent: the cluster. */
  readonly of?: string;
  /** In its unit; decimal digits for amounts that a number cannot hold. */
  readonly value: number | string;
  /** Such as `cheques` or `ms`. */
  readonly unit: string;
}

/**
 * An event on charts. `phase`: a step. `fault`: what the scenario did to a node, a link or the chain.
 * `incident`: what
 * happened to one of them without the scenario's doing.
 */
export interface RunEvent {
  /** As above. */
  readonly kind: 'phase' | 'fault' | 'incident';
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Absent: it took no time, or had not ended when the run ended. */
  readonly endAt?: number | undefined;
  /** A node, or `chain`; absent: the whole cluster. */
  readonly part?: string;
  /** Folder of its scenario. */
  readonly folder?: string;
  /** Number of its cluster in that folder, from 2 on; absent: the first. */
  readonly cluster?: number;
  /** What happened, for people. */
  readonly text: string;
}

/** `failed`: a condition was false. `error`: it could not run. `skipped`: an unmet need, in `skipReason`. */
export type ScenarioOutcome = 'passed' | 'failed' | 'error' | 'skipped';

/** Chunks of the ledger last looked for, or else acknowledged. */
export interface LedgerResult {
  /** Chunks of acknowledged uploads. */
  readonly acknowledged: number;
  /** Of them, those that some node holds. */
  readonly found: number;
  /** Those that no node holds. With `found` 0: the scenario did not look for them. */
  readonly missing: number;
  /** The first of the missing ones. */
  readonly losses?: readonly Loss[];
}

/** An acknowledged chunk that no node holds. */
export interface Loss {
  /** Its address, 64 hex digits. */
  readonly chunk: string;
  /** Of the upload, hex. */
  readonly reference: string;
  /** Name of the node that acknowledged it. */
  readonly uploader: string;
  /** That stamped it, hex. */
  readonly batch: string;
  /** The node closest to the chunk. */
  readonly closest: string;
}

export interface ScenarioResult {
  /** As `svcnet run` takes it. */
  readonly name: string;
  /** `passed`, `failed` (a condition was false), `error` (it could not run) or `skipped`. */
  readonly result: ScenarioOutcome;
  /** Milliseconds, by the clock of its cluster. */
  readonly durationMs: number;
  /** Its conditions, in the order in which they were checked. */
  readonly assertions: readonly Assertion[];
  /** What was timed: a row for each operation and node. */
  readonly metrics: readonly OperationSummary[];
  /** The same over time, of all nodes together. */
  readonly timelines: readonly OperationTimeline[];
  /** The longest operations, longest first. */
  readonly slowest: readonly SlowOperation[];
  /** What it counted itself. */
  readonly figures: readonly Figure[];
  /** Values of its parameters, by name. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Chunks of its uploads. */
  readonly ledger: LedgerResult;
  /** Why it could not run; with `failed`, what else went wrong. */
  readonly error?: string;
  /** What happened to nodes or the chain without the scenario's doing; with any, it has not passed. */
  readonly incidents?: readonly Incident[];
  /** Why it was skipped. */
  readonly skipReason?: string;
  /** What could not be checked, a line each. */
  readonly unchecked?: readonly string[];
  /** Ms since the epoch, by the clock of its cluster. */
  readonly startedAt?: number;
  /** When its cluster began, ms since the epoch; absent: it had none. Reports show times since then. */
  readonly clusterStartedAt?: number | undefined;
  /** Number of its cluster in its folder, from 2 on; absent: the first. */
  readonly cluster?: number;
  /** Subfolder with logs, ledger and series; absent: the report's folder. */
  readonly folder?: string;
  /**
   * Of all that the nodes of its cluster had sent each other by its end: equal in equal runs of a simulated cluster.
   */
  readonly digest?: string | undefined;
  /** Its cluster at the end of the scenario. */
  readonly picture?: NetworkPicture;
}

/** What a run's nodes used, from first to last scrape. */
export interface RunCosts {
  /** Processor seconds of all nodes per 10^9 bytes that its operations moved; absent: none was moved. */
  readonly cpuSecondsPerGb?: number;
  /** Resident bytes of the largest node, or of the process of all nodes. */
  readonly peakMemory?: number;
}

export interface RunResult {
  /** Name of the run and of its folder. */
  readonly run: string;
  /** A number if JSON holds it exactly, else digits. */
  readonly seed: number | string;
  /** Driver of its clusters. */
  readonly driver: DriverName;
  /** No scenario has failed or could not run. */
  readonly passed: boolean;
  /** ISO 8601, of this machine. */
  readonly startedAt: string;
  /** Milliseconds on this machine, with the starts of its clusters. */
  readonly durationMs: number;
  /** Command that repeats the run. */
  readonly command: string;
  /** In the order in which they were to run. */
  readonly scenarios: readonly ScenarioResult[];
  /** Steps, faults and incidents, in the order in which they began. */
  readonly events: readonly RunEvent[];
  /** Versions and machine: `svcnet`, `commit`, `node`, `platform`, `cpu`, `cores`, `memory` (text with unit). */
  readonly environment: Readonly<Record<string, string | number>>;
  /** Folder of the report. */
  readonly report: string;
  /** That folder's file of all series; absent: no cluster was started. */
  readonly series?: string | undefined;
  /** Absent: not known from the series. */
  readonly costs?: RunCosts | undefined;
  /** Name of the cluster left running. */
  readonly kept?: string | undefined;
  /** What could not be recorded or drawn, a line each; changes no verdict. */
  readonly problems?: readonly string[];
  /** Which part of something long its record holds, a line each. */
  readonly notes?: readonly string[];
}

/** A scenario's shown times begin then, ms since the epoch. */
export function originOf(run: RunResult, scenario: ScenarioResult): number {
  return scenario.clusterStartedAt ?? scenario.startedAt ?? Date.parse(run.startedAt);
}

/** Also one that an error ended. */
export function hasFailed({ result }: Pick<ScenarioResult, 'result'>): boolean {
  return result === 'failed' || result === 'error';
}

/** Ms since the epoch. @param originMs if it is not known when it began */
export function endOf(
  { startedAt, durationMs }: Pick<ScenarioResult, 'startedAt' | 'durationMs'>,
  originMs: number,
): number {
  return (startedAt ?? originMs) + durationMs;
}

/** A line each. */
export function unrecordedOf({ problems = [], notes = [] }: RunResult): readonly string[] {
  return [...problems, ...notes];
}

export function timeNote({ driver }: RunResult): string | undefined {
  // A report from elsewhere may name another driver.
  return Object.hasOwn(DRIVER_FACTS, driver) && DRIVER_FACTS[driver].simulated
    ? 'Times and rates are those of the simulated network, in virtual time: they say nothing of this machine.'
    : undefined;
}

/** A run whose cluster could not be started. */
export interface FailedStart {
  readonly seed: number | string;
  readonly passed: false;
  readonly error: string;
}

/** Several consecutive seeds. */
export interface RepeatedRun {
  readonly passed: boolean;
  readonly failedSeeds: readonly (number | string)[];
  /** How often each scenario has not passed, most often first. */
  readonly failures: Readonly<Record<string, number>>;
  readonly runs: readonly (RunResult | FailedStart)[];
}

export interface FailedSeed {
  readonly seed: number | string;
  /** Failed conditions and kinds of errors, without varying parts. */
  readonly kinds: readonly string[];
  /** Command that repeats the run. */
  readonly command: string;
  /** Its folder, if written. */
  readonly report: string;
}

/** A seed whose run has passed; the report is not kept. */
export interface PassedSeed {
  readonly seed: number | string;
  /** On this machine. */
  readonly durationMs: number;
  /** Operations named `upload…`. */
  readonly uploads: number;
  /** That held. */
  readonly conditions: number;
}

export interface SeedsRun {
  readonly passed: boolean;
  /** Seeds that ended. */
  readonly ran: number;
  /** Seeds asked for. */
  readonly of: number;
  readonly durationMs: number;
  /** Commit or package version. */
  readonly code: string;
  /** By seed. */
  readonly passes: readonly PassedSeed[];
  /** By seed. */
  readonly failures: readonly FailedSeed[];
  /** Seeds by kind of failure, most frequent first; a seed's first failure counts. */
  readonly kinds: Readonly<Record<string, readonly (number | string)[]>>;
  readonly minimised?: readonly SmallestRun[];
}

/** The smallest run that fails as its kind's first; or why there is none. */
export interface SmallestRun {
  readonly kind: string;
  readonly seed: number | string;
  /** Nodes, faults, operations and ms of the seed's run. */
  readonly from?: Readonly<Record<string, number>>;
  /** Of the smallest run. */
  readonly to?: Readonly<Record<string, number>>;
  /** For `svcnet run`. */
  readonly scenario?: string;
  readonly stopped?: 'attempts' | 'budget' | 'interrupted' | null;
  readonly error?: string;
}

/** The first one of two runs of a seed. */
export interface Difference {
  /** A frame and its file, or a result's path such as `scenarios.0.result`. */
  readonly what: string;
  readonly first: string;
  readonly second: string;
}

export interface DeterminismCheck {
  readonly passed: boolean;
  /** Null: there is none. */
  readonly difference: Difference | null;
  readonly runs: readonly [RunResult, RunResult];
}

/** A scenario that ended with an error did not come to its other assertions. */
export function assertionsText({ assertions, result }: ScenarioResult, words = 'assertions'): string {
  const held = assertions.filter(({ passed }) => passed).length;
  return `${held} of ${assertions.length} ${words}${result === 'error' ? ' before it ended' : ''}`;
}

/** Skipped scenarios do not fail a run; all else but `passed` does. */
export function runPassed(scenarios: readonly ScenarioResult[]): boolean {
  return scenarios.every(({ result }) => result === 'passed' || result === 'skipped');
}

/** Numbered if repeated: `pushsync`, `pushsync (2)`. */
export function titlesOf(scenarios: readonly Pick<ScenarioResult, 'name'>[]): string[] {
  const times = new Map<string, number>();
  return scenarios.map(({ name }) => {
    const time = (times.get(name) ?? 0) + 1;
    times.set(name, time);
    return time === 1 ? name : `${name} (${time})`;
  });
}
