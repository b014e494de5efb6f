/** What a record says that a page shows, each with its moment. */
import { DRIVER_FACTS } from '../../../places/facts.ts';
import { endOf, hasFailed } from '../../../report/result.ts';
import type {
  ClusterView,
  MessageView,
  NodeView,
  PlayedMark,
  PlayedRecord,
  Row,
} from '../../../web/picture/live.ts';
import type { PictureNode } from '../../../web/picture/picture.ts';
import { RecordedFigures } from '../recorded-figures.ts';
import { rowsMaxOf } from '../state.ts';
import { shortProtocol } from '../traffic.ts';
import { eventsIn, failuresOf, type Happening, scenarioEvents, stepOf, withoutFaults } from './happenings.ts';
import { nodesOf } from './nodes.ts';
import type { RecordedFault, RecordedPart } from './parts.ts';
import { type Sight, sightsOf, stateChanges } from './states.ts';

export interface Moment {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Names of all nodes from now on. */
  readonly members?: readonly string[];
  readonly nodes?: ReadonlyMap<string, Partial<NodeView>>;
  readonly row?: Row;
  readonly event?: Happening;
  readonly message?: MessageView;
  /** Whether nodes are connected from now on. */
  readonly link?: { readonly from: string; readonly to: string; readonly connected: boolean };
}

/** Something that lasts. */
export interface Lasting {
  readonly at: number;
  readonly endAt?: number | undefined;
  readonly text: string;
}

export interface Recording {
  readonly cluster: ClusterView & { readonly played: PlayedRecord };
  /** All that there ever were, by name; those of the beginning, in order. */
  readonly nodes: ReadonlyMap<string, NodeView>;
  readonly first: readonly string[];
  /** In order of time. */
  readonly moments: readonly Moment[];
  readonly steps: readonly Lasting[];
  readonly faults: readonly RecordedFault[];
  /** Whether its messages were kept. */
  readonly isHeard: boolean;
  /** Folder of its logs. */
  readonly folder: string;
}

/** @param place of the part among all */
export function recordingOf(parts: readonly RecordedPart[], place: number): Recording {
  const part = parts[place] as RecordedPart;
  const { events, faults, messages, folder } = part;
  const sights = sightsOf(part);
  const nodes = nodesOf(
    part,
    sights.flatMap(({ groups }) => [...groups]),
  );
  const rosters = sights.map(({ at, states }) => ({
    at,
    members: [...states.keys()].filter((name) => nodes.has(name)),
  }));
  const first = rosters[0]?.members ?? [...nodes.keys()];
  const failures = failuresOf(part);
  const happenings = [...scenarioEvents(part), ...eventsIn(events, faults), ...failures];
  const moments: Moment[] = [
    ...rosters.flatMap((roster, i) => joinedMoments(roster, rosters[i - 1]?.members ?? first)),
    ...stateChanges(part, sights)
      .filter(({ node }) => nodes.has(node))
      .flatMap(({ at, node, state }) => stateMoments(at, node, state)),
    ...rowMoments(part, rosters, rowsMaxOf(nodes.size)),
    ...happenings.map((event) => ({ at: event.at, event })),
    ...pictureMoments(part),
    ...messageMoments(messages),
  ];
  return {
    cluster: viewOf(part, {
      parts: parts.map(labelOf),
      part: place,
      ...spanOf(part, sights),
      failedMs: failures[0]?.at ?? null,
      marks: [
        ...faultMarks([...faults, ...withoutFaults(events, faults)]),
        ...failures.map(({ at, text }) => ({ kind: 'failure' as const, fromMs: at, text })),
      ],
      lacks: [...lacksOf(part, unplacedIn(sights, nodes)), ...part.lacks],
    }),
    nodes,
    first,
    moments: moments.toSorted((a, b) => a.at - b.at),
    steps: events
      .filter(({ kind }) => kind === 'phase')
      .map(({ text, ...step }) => ({ ...step, text: stepOf(text) })),
    faults,
    isHeard: messages !== undefined,
    folder,
  };
}

function viewOf({ run, originMs, messages }: RecordedPart, played: Omit<PlayedRecord, 'verdict'>) {
  return {
    name: run.run,
    driver: run.driver,
    seed: String(run.seed),
    startedAt: originMs,
    phase: 'here' as const,
    height: null,
    hasChain: false,
    logged: true,
    intervalMs: 0,
    lookedAt: null,
    chunkSight: messages === undefined ? ('off' as const) : ('on' as const),
    isAsked: false,
    record: run.report,
    played: { verdict: `${run.passed ? 'passed' : 'failed'}, seed ${run.seed}`, ...played },
  };
}

function spanOf(
  { originMs, scenarios }: RecordedPart,
  sights: readonly Sight[],
): Pick<PlayedRecord, 'fromMs' | 'toMs'> {
  const starts = scenarios.map(({ startedAt = originMs }) => startedAt);
  const fromMs = Math.max(originMs, Math.min(...starts, ...sights.slice(0, 1).map(({ at }) => at)));
  const ends = scenarios.map((scenario) => endOf(scenario, originMs));
  return { fromMs, toMs: Math.max(fromMs + 1, ...ends, ...sights.slice(-1).map(({ at }) => at)) };
}

function faultMarks(faults: readonly Lasting[]): PlayedMark[] {
  return faults.map(({ at, endAt, text }) => ({
    kind: 'fault',
    fromMs: at,
    text,
    ...(endAt === undefined ? {} : { toMs: endAt }),
  }));
}

function unplacedIn(sights: readonly Sight[], nodes: ReadonlyMap<string, unknown>): string[] {
  const seen = new Set(sights.flatMap(({ states }) => [...states.keys()]));
  return [...seen].filter((name) => !nodes.has(name));
}

/** If a page cannot hold all readings, it shows every second, third …, and the last. */
function rowMoments(
  { run, columns, rows: [from] }: RecordedPart,
  rosters: readonly { readonly at: number; readonly members: readonly string[] }[],
  rowsMax: number,
): Moment[] {
  if (columns === undefined) return [];
  const every = Math.ceil(rosters.length / rowsMax);
  const { series } = columns;
  const figures = new RecordedFigures({ isSimulated: DRIVER_FACTS[run.driver].simulated });
  return rosters.flatMap(({ at, members }, i) => {
    if ((rosters.length - 1 - i) % every !== 0) return [];
    const read = (number: number) => {
      const value = series[number]?.values[from + i] ?? Number.NaN;
      return Number.isNaN(value) ? undefined : value;
    };
    const { row, reported } = figures.add({ at, read, asked: i }, series, members);
    const found = members.flatMap((name, place) => {
      const report = reported[place];
      return report === undefined ? [] : [[name, report] as const];
    });
    return [{ at, row, nodes: new Map(found) }];
  });
}

/** Links too, if messages do not tell them. */
function pictureMoments({ originMs, scenarios, messages }: RecordedPart): Moment[] {
  return scenarios.flatMap((scenario) => {
    const { picture } = scenario;
    if (picture === undefined) return [];
    const at = endOf(scenario, originMs);
    const links = messages === undefined ? picture.links : [];
    return [
      { at, nodes: new Map(picture.nodes.map(reportOf)) },
      ...links.map(({ a, b, connected }) => ({ at, link: { from: a, to: b, connected } })),
    ];
  });
}

function messageMoments(messages: RecordedPart['messages']): Moment[] {
  return (messages ?? []).map(({ at, from, to, protocol, kind, bytes }) =>
    protocol === 'noise' && kind !== 'message'
      ? { at, link: { from, to, connected: kind !== 'end' } }
      : { at, message: { at, from, to, protocol: shortProtocol(protocol), bytes } },
  );
}

function labelOf({ scenarios }: RecordedPart): string {
  const verdict = scenarios.some(hasFailed) ? ' (failed)' : '';
  return `${scenarios.map(({ name }) => name).join(', ')}${verdict}`;
}

function joinedMoments(
  { at, members }: { readonly at: number; readonly members: readonly string[] },
  before: readonly string[],
): Moment[] {
  const joined = members.filter((name) => !before.includes(name));
  const left = before.filter((name) => !members.includes(name));
  if (joined.length + left.length === 0) return [];
  const event = (part: string, text: string): Moment => ({ at, event: { at, kind: 'change', part, text } });
  return [
    { at, members },
    ...joined.map((name) => event(name, `${name} has joined`)),
    ...left.map((name) => event(name, `${name} has left`)),
  ];
}

function stateMoments(at: number, node: string, state: string): Moment[] {
  const runs = state === 'running';
  const text = runs ? `${node} runs again` : `${node} is ${state}`;
  return [
    { at, nodes: new Map([[node, { state }]]) },
    { at, event: { at, kind: runs ? 'recovery' : 'fault', part: node, text } },
  ];
}

function reportOf({ name, ...node }: PictureNode): [string, Partial<NodeView>] {
  const { version, depth, storageRadius, reserve, waiting, block, chequebook } = node;
  return [name, { version, depth, storageRadius, reserve, waiting, block, chequebook }];
}

function lacksOf(
  { columns, messages, members, scenarios }: RecordedPart,
  unplaced: readonly string[],
): string[] {
  const pictured = scenarios.some(({ picture }) => picture !== undefined);
  return [
    ...(columns === undefined
      ? [
          'Charts and figures of nodes: the run kept no metrics.jsonl. Nodes that joined or left are not known either.',
        ]
      : ['Time per chunk: a run keeps no histograms of nodes.']),
    ...(messages === undefined
      ? [
          `Messages, chunks on their way, and links${pictured ? ' before the end of a scenario' : ''}: the run kept none (svcnet run … --tap).`,
        ]
      : []),
    'Balances and cheques over time: the report has those of the end.',
    ...(members === undefined ? ['Accounts of nodes: the run kept no cluster.json.'] : []),
    ...(unplaced.length === 0
      ? []
      : [
          `${unplaced.join(', ')}: the run kept no overlay address. It keeps those of the nodes that are there when a scenario ends.`,
        ]),
  ];
}
