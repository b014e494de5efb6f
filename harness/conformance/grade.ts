import { withoutSecrets } from '../../formats/shown-url.ts';
import { HarnessError } from '../base/errors.ts';
import { orAborted } from '../base/wait.ts';
import { knownReason } from './known-deviations.ts';
import { type ConformanceReport, isRed, type Row, type RowResult, totalsOf } from './row.ts';
import { type RunOptions, runRows } from './run-rows.ts';

export interface Graded<Subject> {
  readonly kind: ConformanceReport['kind'];
  readonly rows: readonly Row<Subject>[];
  /** @throws HarnessError when there is nothing to grade */
  readonly open: (run: Opening) => Promise<Opened<Subject>>;
}

export type Opening = Pick<RunOptions, 'clock' | 'signal'>;

export interface Opened<Subject> {
  readonly subject: Subject;
  /** Such as `http://127.0.0.1:1633, dialect swarm`. */
  readonly described: string;
  /** What it calls itself; empty: unknown. */
  readonly implementation: string;
  /** Not in reports, such as an endpoint's key. */
  readonly secrets: readonly string[];
  /** Removes what rows made. @returns what remains */
  readonly close: () => Promise<readonly string[]>;
}

/**
 * @returns the report; an interrupted run's other rows are skipped
 * @throws HarnessError when there is nothing to grade; the signal's reason if it aborts before the first row
 */
export async function grade<Subject>(
  { kind, rows, open }: Graded<Subject>,
  options: RunOptions,
): Promise<ConformanceReport> {
  const { clock } = options;
  const startedAt = new Date(clock.now()).toISOString();
  const started = clock.monotonic();
  const { subject, described, implementation, secrets, close } = await openedBy(open, options);
  const onResult: RunOptions['onResult'] = (result, ...count) =>
    options.onResult?.(without(result, secrets), ...count);
  const results = await runRows(rows, subject, { ...options, onResult });
  const leftBehind = await close();
  const report: ConformanceReport = {
    kind,
    subject: described,
    implementation,
    level: options.level,
    startedAt,
    durationMs: Math.round(clock.monotonic() - started),
    totals: totalsOf(results),
    rows: results.map((row) => explained(row, implementation)),
    leftBehind,
  };
  return without(report, secrets);
}

/** A subject opened after an interruption is closed in the background. */
async function openedBy<Subject>(open: Graded<Subject>['open'], run: Opening): Promise<Opened<Subject>> {
  const { signal } = run;
  signal.throwIfAborted();
  const opening = open(run);
  try {
    return await orAborted(opening, signal);
  } catch (error) {
    // A failed `open` leaves nothing to close.
    void opening.then(
      ({ close }) => close(),
      () => undefined,
    );
    throw error;
  }
}

function explained(row: RowResult, implementation: string): RowResult {
  const known = isRed(row) ? knownReason(implementation, row) : undefined;
  return known === undefined ? row : { ...row, known };
}

function without<T>(value: T, secrets: readonly string[]): T {
  if (typeof value === 'string') return withoutSecrets(value, secrets) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => without(one, secrets)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, without(one as unknown, secrets)]),
  ) as T;
}

export function chosenRows<Subject>(
  { kind, rows }: Pick<Graded<Subject>, 'kind' | 'rows'>,
  text: string | undefined,
): readonly Row<Subject>[] {
  if (text === undefined) return rows;
  const wanted = text.toLowerCase();
  const chosen = rows.filter(({ id, group }) => `${group} ${id}`.toLowerCase().includes(wanted));
  if (chosen.length > 0) return chosen;
  throw new HarnessError('ARGUMENT_INVALID', `only: no row of ${kind} conformance contains '${text}'`, {
    hint: `List all rows with: svcnet conformance ${kind} --list`,
  });
}
