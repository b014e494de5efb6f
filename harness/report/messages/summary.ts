import { inLine } from '../../base/foreign-text.ts';
import { faultsOf, type TapEvent } from '../../places/links/tap/events.ts';
import { messageFiles, readMessages } from './read-messages.ts';

export interface MessageSummary {
  /** Most first; beyond the first 50 protocols of a foreign record together. */
  readonly counts: readonly (readonly [protocol: string, count: number])[];
  readonly touched: readonly TapEvent[];
  readonly touchedInAll: number;
}

/** Cannot be shown. */
export interface UnreadableMessages {
  readonly unreadable: string;
}

export interface Period {
  readonly from: number;
  readonly to: number;
}

const TOUCHED_SHOWN = 50;
/** A record from elsewhere may name any number, of any length. */
const PROTOCOLS_MAX = 50;
const PROTOCOL_LENGTH_MAX = 100;
const OTHERS = 'other protocols';

export async function messageSummaries(
  folder: string,
  periods: readonly Period[],
): Promise<MessageSummary[] | undefined> {
  const files = messageFiles(folder);
  if (files.length === 0) return undefined;
  const sums = periods.map((period) => ({
    ...period,
    counts: new Map<string, number>(),
    touched: [] as TapEvent[],
    touchedInAll: 0,
  }));
  // The run itself says what its record lacks.
  for await (const event of readMessages(files, () => undefined)) {
    const { at, kind, protocol } = event;
    const sum = kind === 'message' ? sums.find(({ from, to }) => at >= from && at <= to) : undefined;
    if (sum === undefined) continue;
    const name = inLine(protocol, PROTOCOL_LENGTH_MAX);
    const { counts } = sum;
    const row = counts.has(name) || counts.size < PROTOCOLS_MAX ? name : OTHERS;
    counts.set(row, (counts.get(row) ?? 0) + 1);
    if (faultsOf(event).length === 0) continue;
    sum.touchedInAll++;
    if (sum.touched.length < TOUCHED_SHOWN) sum.touched.push(event);
  }
  return sums.map(({ counts, touched, touchedInAll }) => ({
    counts: [...counts].toSorted(([, a], [, b]) => b - a),
    touched,
    touchedInAll,
  }));
}
