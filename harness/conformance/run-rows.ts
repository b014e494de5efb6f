import type { Clock } from '../../formats/clock.ts';
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

const ROW_LIMIT_MS = 30_000;
/** For a late row to report what it waited for. */
const LAST_WORDS_MS = 200;
/** Of one row: exchanges, and length of each side. */
const EXCHANGES_MAX = 12;
const TEXT_MAX = 8192;

export interface RunOptions {
  /** The subject's. */
  readonly clock: Clock;
  readonly level: Level;
  readonly signal: AbortSignal;
  readonly onResult?: ((result: RowResult, done: number, total: number) => void) | undefined;
}

/** Never rejects because of a row. */
export async function runRows<Subject>(
  rows: readonly Row<Subject>[],
  subject: Subject,
  { onResult, ...options }: RunOptions,
): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for (const row of rows) {
    const result = await resultOf(row, subject, options);
    results.push(result);
    onResult?.(result, results.length, rows.length);
  }
  return results;
}

async function resultOf<Subject>(
  row: Row<Subject>,
  subject: Subject,
  { clock, level, signal }: RunOptions,
): Promise<RowResult> {
  const { id, group, about } = row;
  const known = { id, group, about, level: row.level, asks: routeIn(id) };
  if (LEVELS.indexOf(row.level) > LEVELS.indexOf(level))
    return {
      ...known,
      verdict: 'skipped',
      reason: `needs --level ${row.level}`,
      durationMs: 0,
      exchanges: [],
    };
  if (signal.aborted)
    return { ...known, verdict: 'skipped', reason: 'interrupted', durationMs: 0, exchanges: [] };
  const started = clock.monotonic();
  const exchanges: Exchange[] = [];
  const asked = new Set<string>();
  const outcome = await outcomeOf(row, subject, { clock, signal }, (exchange) => {
    for (const one of exchange.asks ?? []) asked.add(one);
    exchanges.push({ sent: bounded(exchange.sent), received: bounded(exchange.received) });
    if (exchanges.length > EXCHANGES_MAX) exchanges.shift();
  });
  const asks = asked.size === 0 ? known.asks : [...asked];
  return { ...known, asks, ...outcome, durationMs: Math.round(clock.monotonic() - started), exchanges };
}

async function outcomeOf<Subject>(
  row: Row<Subject>,
  subject: Subject,
  { clock, signal: interrupted }: Pick<RunOptions, 'clock' | 'signal'>,
  record: (exchange: Exchange) => void,
): Promise<Pick<RowResult, 'verdict' | 'reason'>> {
  const limitMs = row.limitMs ?? ROW_LIMIT_MS;
  using deadline = clock.deadline(limitMs, interrupted);
  const { signal } = deadline;
  const late = Promise.withResolvers<never>();
  using waits = new DisposableStack();
  const onAbort = () => waits.use(clock.timer(LAST_WORDS_MS, () => late.reject(signal.reason)));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // A row ends even if its subject never answers and it ignores its signal.
    await Promise.race([row.run(subject, { signal, record }), late.promise]);
    return { verdict: 'passed' };
  } catch (error) {
    if (interrupted.aborted) return { verdict: 'skipped', reason: 'interrupted' };
    if (error instanceof Mismatch) return { verdict: 'failed', reason: error.message };
    if (signal.aborted) return { verdict: 'failed', reason: `not done within ${limitMs / 1000} s` };
    if (error instanceof NotApplicable) return { verdict: 'skipped', reason: error.message };
    return { verdict: 'error', reason: messageOf(error) };
  }
}

function routeIn(id: string): string[] {
  const [, route] = /^([A-Z]+ \/\S*)/.exec(id) ?? [];
  return route === undefined ? [] : [route];
}

function bounded(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}… (${text.length} characters in all)`;
}
