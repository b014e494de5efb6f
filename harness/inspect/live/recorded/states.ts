/** When each node of a record was up, paused, killed: exactly where the record says it, else as its metrics saw it. */
import { STATE_FAULTS } from '../../../metrics/scraper.ts';
import { BROKEN, type RecordedPart, UP } from './parts.ts';

const RUNS = 'running';
/** Without an answer and without a fault that says why. */
const NO_ANSWER = 'silent';
const STATES: ReadonlyMap<string, string> = new Map(
  Object.entries(STATE_FAULTS).map(([state, kind]) => [kind, state]),
);
const BROKEN_TEXT = new RegExp(`^(\\S+) was (${Object.keys(STATE_FAULTS).join('|')})\\b`);
const INCIDENT_TEXT = /^(\S+) (died|was stopped|was paused|stopped answering)\b/;
const INCIDENT_STATES: Readonly<Record<string, string>> = {
  died: 'crashed',
  'was stopped': 'stopped',
  'was paused': 'paused',
  'stopped answering': NO_ANSWER,
};

/** Of a node, ms since the epoch. */
interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
  readonly state: string;
}

export interface StateChange {
  readonly at: number;
  readonly node: string;
  readonly state: string;
}

/** A row of metrics. */
export interface Sight {
  readonly at: number;
  /** Nodes then, in order, with their state. */
  readonly states: ReadonlyMap<string, string>;
  /** `svc-full` by node. */
  readonly groups: ReadonlyMap<string, string>;
}

export function sightsOf({ columns, rows: [from, to] }: Pick<RecordedPart, 'columns' | 'rows'>): Sight[] {
  if (columns === undefined) return [];
  const named = (name: string) => columns.series.filter((one) => one.node === undefined && one.name === name);
  const [ups, faults] = [named(UP), named(BROKEN)];
  return Array.from({ length: to - from }, (_, i) => {
    const row = from + i;
    const states = new Map<string, string>();
    const groups = new Map<string, string>();
    for (const { labels, values } of ups) {
      const up = values[row] as number;
      if (Number.isNaN(up)) continue;
      const node = labels['node'] ?? '';
      states.set(node, up === 1 ? RUNS : NO_ANSWER);
      groups.set(node, labels['group'] ?? '');
    }
    for (const { labels, values } of faults) {
      const state = STATES.get(labels['kind'] ?? '');
      const target = labels['target'] ?? '';
      if (state !== undefined && values[row] === 1 && states.has(target)) states.set(target, state);
    }
    return { at: columns.times[row] as number, states, groups };
  });
}

/** In order of time; a node runs until its first. */
export function stateChanges(
  part: Pick<RecordedPart, 'faults' | 'events'>,
  sights: readonly Sight[],
): StateChange[] {
  const spells = spellsOf(part, sights);
  const names = new Set([...spells.keys(), ...sights.flatMap(({ states }) => [...states.keys()])]);
  return [...names]
    .flatMap((node) => changesOf(node, spells.get(node) ?? [], sights))
    .toSorted((a, b) => a.at - b.at);
}

function changesOf(node: string, spells: readonly Spell[], sights: readonly Sight[]): StateChange[] {
  const seen = sights.map(({ at, states }) => {
    const state = states.get(node) ?? RUNS;
    // A spell tells it more exactly.
    const isTold = spells.some(({ fromMs, toMs }) => at >= fromMs && at <= toMs);
    return { at, state: isTold ? RUNS : state };
  });
  const turns = seen.filter(({ state }, i) => state !== (seen[i - 1]?.state ?? RUNS));
  const times = [...turns.map(({ at }) => at), ...spells.flatMap(({ fromMs, toMs }) => [fromMs, toMs])]
    .filter(Number.isFinite)
    .toSorted((a, b) => a - b);
  let before = RUNS;
  return times.flatMap((at) => {
    const spell = spells.findLast(({ fromMs, toMs }) => fromMs <= at && at < toMs);
    const state = spell?.state ?? turns.findLast((turn) => turn.at <= at)?.state ?? RUNS;
    if (state === before) return [];
    before = state;
    return [{ at, node, state }];
  });
}

function spellsOf(
  { faults, events }: Pick<RecordedPart, 'faults' | 'events'>,
  sights: readonly Sight[],
): Map<string, Spell[]> {
  const found: (Spell & { readonly node: string })[] = faults.flatMap(({ kind, targets, at, endAt }) => {
    const state = STATES.get(kind);
    if (state === undefined) return [];
    return targets.map((node) => ({ node, state, fromMs: at, toMs: endAt ?? Number.POSITIVE_INFINITY }));
  });
  for (const { kind, at, endAt, text } of events) {
    const [, node, what = ''] = (kind === 'incident' ? INCIDENT_TEXT : BROKEN_TEXT).exec(text) ?? [];
    if (node === undefined || kind === 'phase') continue;
    const state = INCIDENT_STATES[what] ?? what;
    // When an incident ends is not told: the metrics see it.
    const seenAt = sights.find((sight) => sight.at > at && sight.states.get(node) === RUNS)?.at;
    const toMs = (kind === 'incident' ? seenAt : endAt) ?? Number.POSITIVE_INFINITY;
    found.push({ node, state, fromMs: at, toMs });
  }
  const spells = new Map<string, Spell[]>();
  for (const { node, ...spell } of found.toSorted((a, b) => a.fromMs - b.fromMs))
    spells.set(node, [...(spells.get(node) ?? []), spell]);
  return spells;
}
