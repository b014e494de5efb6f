import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import type { ChainFlags } from './chain/conformance.ts';
import { chosenRows, type Graded, grade } from './grade.ts';
import type { HttpOptions } from './http/conformance.ts';
import type { ConformanceReport, Level, RowResult } from './row.ts';
import type { WireFlags } from './wire/conformance.ts';

/** What to grade: the HTTP interface of a node, a node as its peer sees it, or the contracts of a chain. */
export type ConformanceTarget =
  | ({ readonly kind: 'http' } & HttpOptions)
  | ({ readonly kind: 'wire' } & WireFlags)
  | ({ readonly kind: 'chain' } & ChainFlags);

/** How far a check may go, and which rows it runs. */
export interface ConformanceOptions {
  /** Default: `read`, which changes nothing. */
  readonly level?: Level;
  /** Run only rows whose id or group contains this text, in any case. */
  readonly only?: string;
  /** Rows that have not begun when it aborts are skipped. */
  readonly signal?: AbortSignal;
  /** Called after each row. */
  readonly onResult?: (result: RowResult, done: number, total: number) => void;
}

/**
 * Grades a node or a chain row by row, as `svcnet conformance` does.
 * @returns the report; red rows are those with the verdict `failed` or `error`
 * @throws HarnessError when there is nothing to grade: a node that does not answer, an `only` that no row contains
 */
export async function checkConformance(
  target: ConformanceTarget,
  { level = 'read', only, signal = new AbortController().signal, onResult }: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const run = <Subject>(graded: Graded<Subject>) =>
    grade({ ...graded, rows: chosenRows(graded, only) }, { clock: MACHINE_CLOCK, level, signal, onResult });
  // Each kind loads its own stack.
  switch (target.kind) {
    case 'http':
      return run((await import('./http/conformance.ts')).httpConformance(target));
    case 'wire':
      return run((await import('./wire/conformance.ts')).wireConformance(target));
    case 'chain':
      return run((await import('./chain/conformance.ts')).chainConformance(target));
  }
}
