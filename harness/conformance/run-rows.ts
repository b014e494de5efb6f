/** Runs rows one after another: each with a deadline, none able to end the others. */
import { messageOf } from '../base/errors.ts';
import {
  type Exchange,
  LEVELS,
  type Level,
  Mismatch,
  NotApplicable,
  type Row,
  type RowResult,
} from './row.ts';

/** More than any answer of a node takes; rows that wait on purpose have their own limit. */
const ROW_LIMIT_MS = 30_000;
/** Time for a row that is out of time to report what it was still waiting for. */
const LAST_WORDS_MS = 200;
/** Evidence of one row: at most this many exchanges, each side at most this long. */
const EXCHANGES_MAX = 12;
const TEXT_MAX = 8192;

export interface RunOptions {
  readonly level: Level;
  /** Rows that have not begun by then are skipped. */
  readonly signal: AbortSignal;
  readonly onResult?: (result: RowResult, done: number, total: number) => void;
}

/** @returns a result for each row, in order; never rejects because of a row */
export async function runRows<Subject>(
  rows: readonly Row<Subject>[],
  subject: Subject,
  { level, signal, onResult }: RunOptions,
): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for (const row of rows) {
    const result = await resultOf(row, subject, level, signal);
    results.push(result);
    onResult?.(result, results.length, rows.length);
  }
  return results;
}

async function resultOf<Subject>(
  row: Row<Subject>,
  subject: Subject,
  level: Level,
  interrupted: AbortSignal,
): Promise<RowResult> {
  const { id, group, about } = row;
  const known = { id, group, about, level: row.level };
  if (LEVELS.indexOf(row.level) > LEVELS.indexOf(level))
    return {
      ...known,
      verdict: 'skipped',
      reason: `needs --level ${row.level}`,
      durationMs: 0,
      exchanges: [],
    };
  if (interrupted.aborted)
    return { ...known, verdict: 'skipped', reason: 'interrupted', durationMs: 0, exchanges: [] };
  const started = performance.now();
  const exchanges: Exchange[] = [];
  const outcome = await outcomeOf(row, subject, interrupted, (exchange) => {
    exchanges.push({ sent: bounded(exchange.sent), received: bounded(exchange.received) });
    if (exchanges.length > EXCHANGES_MAX) exchanges.shift();
  });
  return { ...known, ...outcome, durationMs: Math.round(performance.now() - started), exchanges };
}

async function outcomeOf<Subject>(
  row: Row<Subject>,
  subject: Subject,
  interrupted: AbortSignal,
  record: (exchange: Exchange) => void,
): Promise<Pick<RowResult, 'verdict' | 'reason'>> {
  const limitMs = row.limitMs ?? ROW_LIMIT_MS;
  const deadline = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([deadline, interrupted]);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => setTimeout(reject, LAST_WORDS_MS, signal.reason), { once: true });
  });
  try {
    // Raced, so that a row ends even if its subject never answers and it ignores its signal.
    await Promise.race([row.run(subject, { signal, record }), late]);
    return { verdict: 'passed' };
  } catch (error) {
    if (interrupted.aborted) return { verdict: 'skipped', reason: 'interrupted' };
    if (error instanceof Mismatch) return { verdict: 'failed', reason: error.message };
    if (deadline.aborted) return { verdict: 'failed', reason: `not done within ${limitMs / 1000} s` };
    if (error instanceof NotApplicable) return { verdict: 'skipped', reason: error.message };
    return { verdict: 'error', reason: messageOf(error) };
  }
}

function bounded(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}… (${text.length} characters in all)`;
}
