/**
 * A row checks one rule of its subject and records the exchange. It returns, or throws why the rule did not hold or could
 * not be checked.
 */

/** A row reads, makes harmless or undone changes, or spends money. */
export const LEVELS = ['read', 'write', 'money'] as const;
/** How far a conformance check may go. */
export type Level = (typeof LEVELS)[number];

/** How a row ended. */
export type Verdict = 'passed' | 'failed' | 'skipped' | 'error';

/** What was sent and what came back, as text. */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
  /** Routes, such as `POST /bytes`, protocols and messages, or methods of the chain. */
  readonly asks?: readonly string[];
}

/** Besides its subject. */
export interface RowRun {
  /** Aborts when time is up, or the run is interrupted. */
  readonly signal: AbortSignal;
  readonly record: (exchange: Exchange) => void;
}

export interface Row<Subject> {
  /** Unique in its table, such as `GET /health fields`. */
  readonly id: string;
  readonly group: string;
  /** The rule as a sentence. */
  readonly about: string;
  readonly level: Level;
  /** Default: `ROW_LIMIT_MS`. */
  readonly limitMs?: number | undefined;
  /** @throws Mismatch when the rule does not hold, NotApplicable when it cannot be checked */
  run(subject: Subject, run: RowRun): Promise<void>;
}

export class Mismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Mismatch';
  }
}

/** @throws Mismatch */
export function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Mismatch(message);
}

/** The rule does not apply, or something is missing. */
export class NotApplicable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NotApplicable';
  }
}

/** The result of one conformance row. */
export interface RowResult {
  readonly id: string;
  readonly group: string;
  readonly about: string;
  readonly level: Level;
  /**
   * Each once: routes such as `POST /bytes`, protocols such as `/swarm/pushsync/1.3.1/pushsync` and messages such as
   * `Delivery`, or chain methods. Of a row that did not run: the route in its id.
   */
  readonly asks: readonly string[];
  readonly verdict: Verdict;
  /** Absent: `passed`. */
  readonly reason?: string;
  /** What is known of a red row, such as `bug: ends the connection`. */
  readonly known?: string;
  /** Milliseconds. */
  readonly durationMs: number;
  /** Oldest first, the last ones. */
  readonly exchanges: readonly Exchange[];
}

/** Number of rows by verdict. */
export type Totals = Readonly<Record<Verdict, number>>;

/** What one run graded, and how it went. */
export interface ConformanceReport {
  readonly kind: 'http' | 'wire' | 'chain';
  /** Such as `http://127.0.0.1:1633, dialect swarm`. */
  readonly subject: string;
  /** What it calls itself; empty: unknown. */
  readonly implementation: string;
  readonly level: Level;
  readonly startedAt: string;
  /** Of the whole run, milliseconds. */
  readonly durationMs: number;
  readonly totals: Totals;
  readonly rows: readonly RowResult[];
  /** Made by the run and not removable. */
  readonly leftBehind: readonly string[];
}

export function isRed({ verdict }: Pick<RowResult, 'verdict'>): boolean {
  return verdict === 'failed' || verdict === 'error';
}

export function totalsOf(rows: readonly Pick<RowResult, 'verdict'>[]): Totals {
  const totals = { passed: 0, failed: 0, skipped: 0, error: 0 };
  for (const { verdict } of rows) totals[verdict]++;
  return totals;
}
