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

/** One thing that was sent, and what came back, each for a person to read. */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
  /** Routes, such as `POST /bytes`, protocols and messages, or methods of the chain that were asked. */
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
   * What it asks, each once: routes such as `POST /bytes`, protocols such as `/swarm/pushsync/1.3.1/pushsync` and
   * messages such as `Delivery`, or methods of the chain. Of a row that did not run: the route that its id names.
   */
  readonly asks: readonly string[];
  readonly verdict: Verdict;
  /** For all verdicts except `passed`. */
  readonly reason?: string;
  /** For a red row of a version in use: what is known about it, such as `bug: ends the connection`. */
  readonly known?: string;
  /** Milliseconds. */
  readonly durationMs: number;
  /** The last ones, oldest first. */
  readonly exchanges: readonly Exchange[];
}

/** Number of rows by verdict. */
export type Totals = Readonly<Record<Verdict, number>>;

/** One run: what was graded, by which rows, and how it went. */
export interface ConformanceReport {
  readonly kind: 'http' | 'wire' | 'chain';
  /** What was graded, such as `http://127.0.0.1:1633, dialect swarm`. */
  readonly subject: string;
  /** What it calls itself; empty when it does not say. */
  readonly implementation: string;
  readonly level: Level;
  readonly startedAt: string;
  /** Of the whole run, milliseconds. */
  readonly durationMs: number;
  readonly totals: Totals;
  readonly rows: readonly RowResult[];
  /** What the run has made on the subject and could not remove. */
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
