import type { OperationSummary } from '../metrics/recorder.ts';
import type { Incident } from '../nodes/membership.ts';
import type { DriverName } from '../places/driver.ts';

/** One named condition of a scenario with what was seen. */
export interface Assertion {
  readonly name: string;
  readonly passed: boolean;
  readonly observed: string;
  readonly expected: string;
  /** Node, peer, chunk, log excerpt: whatever helps to find the cause. */
  readonly evidence?: string;
}

/** An amount or a count that a scenario has come to. */
export interface Figure {
  /** What it is of, such as `cheques sent`. */
  readonly name: string;
  /** Node or link that it belongs to; absent: the cluster. */
  readonly of?: string;
  /** Amounts that a number does not hold are decimal digits. */
  readonly value: number | string;
  readonly unit: string;
}

/** `failed`: a condition was false. `error`: the scenario could not run. `skipped`: an unmet need, named in `skipReason`. */
export type ScenarioOutcome = 'passed' | 'failed' | 'error' | 'skipped';

export interface ScenarioResult {
  readonly name: string;
  readonly result: ScenarioOutcome;
  readonly durationMs: number;
  readonly assertions: readonly Assertion[];
  readonly metrics: readonly OperationSummary[];
  readonly figures: readonly Figure[];
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly ledger: { readonly acknowledged: number; readonly found: number; readonly missing: number };
  readonly error?: string;
  /** What happened to nodes or the chain meanwhile that the scenario had not done; with any, it has not passed. */
  readonly incidents?: readonly Incident[];
  readonly skipReason?: string;
  /** What could not be looked at on this cluster, a line each. */
  readonly unchecked?: readonly string[];
}

export interface RunResult {
  /** Name of the run and of its folder. */
  readonly run: string;
  /** A number when JSON holds it exactly, else decimal digits. */
  readonly seed: number | string;
  /** Of its clusters. */
  readonly driver: DriverName;
  readonly passed: boolean;
  readonly startedAt: string;
  readonly durationMs: number;
  /** Command that repeats the run. */
  readonly command: string;
  readonly scenarios: readonly ScenarioResult[];
  readonly environment: Readonly<Record<string, string | number>>;
  /** Folder of the report. */
  readonly report: string;
  /** Name of the cluster that it left running. */
  readonly kept?: string;
}

/** A run whose cluster could not be started. */
export interface FailedStart {
  readonly seed: number | string;
  readonly passed: false;
  readonly error: string;
}

/** The same run with a seed and those after it. */
export interface RepeatedRun {
  readonly passed: boolean;
  readonly failedSeeds: readonly (number | string)[];
  readonly runs: readonly (RunResult | FailedStart)[];
}

/** Skipped scenarios do not fail a run; everything else that is not `passed` does. */
export function runPassed(scenarios: readonly ScenarioResult[]): boolean {
  return scenarios.every(({ result }) => result === 'passed' || result === 'skipped');
}
