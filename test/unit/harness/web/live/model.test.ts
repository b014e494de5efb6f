import { expect, test } from 'vitest';
import { Model, marksOf, shownState, troubleOf } from '../../../../../harness/web/live/model.ts';
import { clusterCharts, frameOf, nodeCharts } from '../../../../../harness/web/live/series.ts';
import { debtText, networkText, piecesOf, tokens } from '../../../../../harness/web/live/text.ts';
import type { UiEvent } from '../../../../../harness/web/picture/live.ts';
import { clusterView, linkView, nodeView, row } from '../../inspect/live/kit.ts';

function event(at: number, kind: UiEvent['kind'], part: string | null, text = '', fault?: string): UiEvent {
  return { number: at, at, kind, part, text, ...(fault === undefined ? {} : { fault }) };
}

test('an outage is a band from its fault to its recovery, and has no end while it lasts', () => {
  const events = [
    event(1, 'fault', 'node-1', 'node-1 died'),
    event(2, 'change', 'node-0'),
    event(3, 'fault', 'node-2', 'node-2 was paused'),
    event(4, 'recovery', 'node-1', 'node-1 was started'),
  ];
  expect(marksOf(events)).toEqual([
    { kind: 'fault', fromMs: 1, toMs: 4, text: 'node-1 died' },
    { kind: 'fault', fromMs: 3, text: 'node-2 was paused' },
  ]);
  expect(marksOf(events, 'node-2')).toEqual([{ kind: 'fault', fromMs: 3, text: 'node-2 was paused' }]);
});

test('a restart without a fault before it is a mark', () => {
  expect(marksOf([event(5, 'recovery', 'node-0', 'node-0 was restarted')])).toEqual([
    { kind: 'incident', fromMs: 5, text: 'node-0 was restarted' },
  ]);
});

test('a second fault of a part that is already down begins no second band', () => {
  const events = [event(1, 'fault', 'node-1'), event(2, 'fault', 'node-1'), event(3, 'recovery', 'node-1')];
  expect(marksOf(events)).toHaveLength(1);
});

test('an effect and its fault that end at once end one band, and no mark follows', () => {
  const events = [
    event(1, 'fault', 'node-1', 'node-1 is killed'),
    event(1, 'fault', 'node-1', 'fault f1 kills node-1', 'f1'),
    event(3, 'recovery', 'node-1'),
    event(3, 'recovery', 'node-1', '', 'f1'),
  ];
  expect(marksOf(events)).toEqual([{ kind: 'fault', fromMs: 1, toMs: 3, text: 'node-1 is killed' }]);
});

test.each([['node-1'], [null]])('faults of %s that overlap have a band each', (part) => {
  const events = [
    event(1, 'fault', part, 'slows', 'f1'),
    event(2, 'fault', part, 'loses', 'f2'),
    event(3, 'recovery', part, '', 'f1'),
    event(4, 'fault', part, 'cuts', 'f3'),
    event(5, 'recovery', part, '', 'f2'),
  ];
  expect(marksOf(events)).toEqual([
    { kind: 'fault', fromMs: 1, toMs: 3, text: 'slows' },
    { kind: 'fault', fromMs: 2, toMs: 5, text: 'loses' },
    { kind: 'fault', fromMs: 4, text: 'cuts' },
  ]);
});

test('a part that recovers ends the band of the fault that stopped it, and no other', () => {
  const slow = event(1, 'fault', 'node-1', 'slows', 'f1');
  const killed = [
    event(2, 'fault', 'node-1', 'kills', 'f2'),
    event(2, 'fault', 'node-1', 'node-1 is killed'),
    event(3, 'recovery', 'node-1', 'node-1 was started'),
    event(3, 'recovery', 'node-1', '', 'f2'),
  ];
  expect(marksOf([slow, ...killed, event(9, 'recovery', 'node-1', '', 'f1')])).toEqual([
    { kind: 'fault', fromMs: 1, toMs: 9, text: 'slows' },
    { kind: 'fault', fromMs: 2, toMs: 3, text: 'kills' },
  ]);
  expect(marksOf([slow, event(3, 'recovery', 'node-1', 'node-1 was restarted')])).toEqual([
    { kind: 'fault', fromMs: 1, text: 'slows' },
    { kind: 'incident', fromMs: 3, text: 'node-1 was restarted' },
  ]);
});

test('a failure of the run is a mark, and ends no fault of the cluster', () => {
  const events = [
    event(1, 'fault', null, 'cuts the network'),
    event(2, 'failure', null, 'condition failed'),
    event(3, 'recovery', null),
  ];
  expect(marksOf(events)).toEqual([
    { kind: 'fault', fromMs: 1, toMs: 3, text: 'cuts the network' },
    { kind: 'incident', fromMs: 2, text: 'condition failed' },
  ]);
});

const FIGURES_OF_ONE = [10, 0, 5, 1, 3, 50, 1000, 7];

test('charts show the sum over nodes, the highest node, and gaps for missing values', () => {
  const rows = [
    row(1000, [FIGURES_OF_ONE, null]),
    row(2000, [FIGURES_OF_ONE, [2, null, 1, 0, 0, 70, 500, 9]], { latencies: [1, 2, 3, 4] }),
  ];
  const valuesOf = (title: string, label: string) =>
    clusterCharts(rows)
      .find((chart) => chart.title.startsWith(title))
      ?.series.find((series) => series.label === label)?.values;
  expect(valuesOf('Chunks', 'pushed')).toEqual([10, 12]);
  expect(valuesOf('Processor', 'busiest node')).toEqual([50, 70]);
  expect(valuesOf('Time per chunk', 'push p95')).toEqual([null, 2]);
  expect(valuesOf('Memory', 'all nodes')).toEqual([1000, 1500]);
  expect(nodeCharts(rows, 1)[0]?.series[0]?.values).toEqual([null, 2]);
});

test('a process that holds all nodes stands in for them where they have no figures of their own', () => {
  const rows = [row(1000, [null], { shared: { cpu: 80, memory: 9 } })];
  const [processor] = clusterCharts(rows).filter(({ title }) => title.startsWith('Processor'));
  expect(processor?.series[0]?.values).toEqual([80]);
});

test('the axis ends with the last look and is at least a minute long', () => {
  const rows = [row(100_000, []), row(101_000, [])];
  expect(frameOf(rows, [], { cluster: { startedAt: 90_000 }, time: undefined })).toMatchObject({
    originMs: 90_000,
    fromMs: 41_000,
    toMs: 101_000,
  });
  expect(frameOf([], [], { cluster: { startedAt: 90_000 }, time: undefined })).toMatchObject({
    originMs: 90_000,
    toMs: 90_000,
  });
});

test('the axis of a record is all its time, in which what lasts has lasted until now', () => {
  const played = {
    fromMs: 90_000,
    toMs: 150_000,
    verdict: '',
    parts: [],
    part: 0,
    failedMs: null,
    marks: [],
    lacks: [],
  };
  const time = { nowMs: 101_000, isPaused: true, rate: 1 };
  const mark = { kind: 'fault' as const, fromMs: 95_000, text: 'kills node-1' };
  expect(frameOf([row(100_000, [])], [mark], { cluster: { startedAt: 90_000, played }, time })).toEqual({
    originMs: 90_000,
    fromMs: 90_000,
    toMs: 150_000,
    marks: [{ ...mark, toMs: 101_000 }],
  });
});

test('a node is in trouble when it does not answer or is not running', () => {
  expect(troubleOf(nodeView(0))).toBeUndefined();
  expect(troubleOf(nodeView(0, { problem: 'timeout' }))).toBe('does not answer');
  expect(troubleOf(nodeView(0, { state: 'crashed' }))).toBe('crashed');
  expect(troubleOf(nodeView(0, { warmingUp: true }))).toBe('warming up');
  const faults = ['adds 400 ms to each round trip of node-0'];
  expect(troubleOf(nodeView(0, { faults, warmingUp: true }))).toBe('under a fault');
  expect(troubleOf(nodeView(0, { faults, state: 'killed' }))).toBe('killed');
});

test('the network is described in sentences that name the nodes in trouble', () => {
  const nodes = [nodeView(0), nodeView(1, { state: 'killed' }), nodeView(5)];
  const model = new Model({
    cluster: clusterView(),
    nodes: nodes.map((node) => ({ ...node, storageRadius: 1 })),
    links: [],
    rows: [row(1, [null]), row(2, [[12.3, 0, 0, 0, 0, null, null, null]])],
    events: [],
  });
  expect(networkText(model)).toBe(
    '2 neighbourhoods: a chunk is stored by the full nodes in the one that its address begins with. Chunks per second: pushed 12. In trouble: node-1 (killed).',
  );
});

test('an empty network says how to see chunks move', () => {
  const told = (reserves: readonly (number | null)[]) =>
    networkText(
      new Model({
        cluster: clusterView(),
        nodes: reserves.map((reserve, i) => nodeView(i, { reserve })),
        links: [],
        rows: [row(1, []), row(2, [])],
        events: [],
      }),
    );
  expect(told([0, null])).toContain(`: \`svcnet run upload --name ${clusterView().name}\``);
  expect(told([0, 1])).toContain('No chunk moves');
  expect(told([null, null])).toContain('No chunk moves');
});

test('a debt names the debtor, whichever end reports it', () => {
  const nodes = [nodeView(0), nodeView(1)];
  expect(debtText(linkView(0, 1, { balance: '1200' }), nodes)).toBe('node-1 owes node-0 1,200');
  expect(debtText(linkView(0, 1, { balance: '-7' }), nodes)).toBe('node-0 owes node-1 7');
  expect(debtText(linkView(0, 1), nodes)).toBe('nothing owed');
});

test.each([
  ['0', '0'],
  ['500000000000000000', '50'],
  ['12500000000000000', '1.25'],
  ['12345678901234567890', '1,234.56789'],
  ['1', '< 0.000001'],
])('%s token units are %s tokens', (units, text) => {
  expect(tokens(units)).toBe(text);
});

test('a node is silent only while it runs', () => {
  const problem = 'no answer';
  const nodes = [nodeView(0), nodeView(1, { problem }), nodeView(2, { state: 'killed', problem })];
  expect(nodes.map(shownState)).toEqual(['running', 'silent', 'killed']);
});

test('a command within a text is a piece of its own, which no line end parts', () => {
  expect(piecesOf('To see chunks: `svcnet up --trace`.')).toEqual([
    { piece: 'To see chunks: ', isCommand: false },
    { piece: 'svcnet up --trace', isCommand: true },
    { piece: '.', isCommand: false },
  ]);
  expect(piecesOf('`npx svcnet ui`')).toEqual([{ piece: 'npx svcnet ui', isCommand: true }]);
  expect(piecesOf('Its report is in /a`b`c')).toEqual([
    { piece: 'Its report is in /a`b`c', isCommand: false },
  ]);
});
