/** A page that applies every delta must have the server's state. */
import { expect, test } from 'vitest';
import { type Findings, UiState } from '../../../../../harness/inspect/live/state.ts';
import { Model } from '../../../../../harness/web/live/model.ts';
import { FIGURES, type Snapshot } from '../../../../../harness/web/picture/live.ts';
import { clusterView, linkView, nodeView, row } from './kit.ts';

const nodes = [nodeView(0), nodeView(1), nodeView(2)];

/** As it comes over the wire. */
function sent<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function shownBy({ cluster, nodes, links, rows, events }: Model): Snapshot {
  return { cluster, nodes, links: [...links.values()], rows, events };
}

test('a page opened at any moment ends with the state of the server', () => {
  const state = new UiState(clusterView(), nodes);
  const pages = [new Model(sent(state.snapshot()))];
  const steps: Findings[] = [
    { links: [linkView(0, 1), linkView(1, 2)] },
    { nodes: [nodeView(0), nodeView(1, { state: 'crashed', peers: null }), nodeView(2)] },
    { events: [{ at: 5, kind: 'fault', part: 'node-1', text: 'node-1 died' }] },
    { row: row(6, [null, null, null]), cluster: { height: 13, lookedAt: 6 } },
    { links: [linkView(0, 1, { balance: '-12', flow: 3 }), linkView(0, 2)] },
    { nodes, events: [{ at: 9, kind: 'recovery', part: 'node-1', text: 'node-1 was restarted' }] },
    { cluster: { phase: 'gone' } },
  ];
  for (const step of steps) {
    const delta = state.put(step);
    expect(delta).toBeDefined();
    for (const page of pages) page.apply(sent(delta ?? {}));
    pages.push(new Model(sent(state.snapshot())));
  }
  for (const page of pages) expect(shownBy(page)).toEqual(sent(state.snapshot()));
});

test('a page that reconnects shows the new snapshot', () => {
  const page = new Model(sent(new UiState(clusterView(), nodes).snapshot()));
  page.apply({ links: [linkView(0, 2)] });
  const later = new UiState(clusterView({ height: 99 }), [
    nodeView(0),
    nodeView(1, { state: 'paused' }),
    nodeView(2),
  ]);
  later.put({ links: [linkView(0, 1)] });
  page.replace(sent(later.snapshot()));
  expect(shownBy(page)).toEqual(sent(later.snapshot()));
  expect(page.node('node-1')?.state).toBe('paused');
});

test('what is known of nodes that stay moves with them when others leave and join', () => {
  const state = new UiState(clusterView(), nodes);
  const [ones, twos] = [FIGURES.map(() => 1), FIGURES.map(() => 2)];
  state.put({
    links: [linkView(0, 1), linkView(0, 2, { balance: '7' })],
    row: row(6, [null, ones, twos]),
    events: [{ at: 5, kind: 'change', part: 'node-1', text: 'before' }],
  });
  const page = new Model(sent(state.snapshot()));
  state.renew([nodeView(0), nodeView(2), nodeView(3)]);
  state.put({ events: [{ at: 7, kind: 'change', part: 'node-3', text: 'node-3 has joined' }] });
  page.replace(sent(state.snapshot()));
  expect(shownBy(page)).toEqual(sent(state.snapshot()));
  expect(shownBy(page).links).toEqual([linkView(0, 1, { balance: '7' })]);
  expect(page.rows[0]?.nodes).toEqual([null, twos, null]);
  expect(page.events.map(({ number }) => number)).toEqual([1, 2]);
  expect([page.placeOf('node-1'), page.placeOf('node-3')]).toEqual([undefined, 2]);
  page.apply({ nodes: [nodeView(3, { state: 'paused' })] });
  expect(page.nodes[2]?.state).toBe('paused');
});

test('only changes are sent', () => {
  const state = new UiState(clusterView(), nodes);
  state.put({ links: [linkView(0, 1), linkView(0, 2)] });
  const changed = nodeView(1, { reserve: 101 });
  const delta = state.put({
    nodes: [nodeView(0), changed, nodeView(2)],
    links: [linkView(0, 1), linkView(0, 2, { balance: '7' })],
    cluster: { height: 12 },
  });
  expect(delta).toEqual({ nodes: [changed], links: [linkView(0, 2, { balance: '7' })] });
  expect(state.put({ nodes: [changed], links: [] })).toBeUndefined();
});

test('chunks on their way are sent but not kept', () => {
  const state = new UiState(clusterView(), nodes);
  const moves = [{ kind: 'push', from: 0, to: 1, chunk: 'aabbccdd' }] as const;
  expect(state.put({ moves })).toEqual({ moves });
  expect(JSON.stringify(state.snapshot())).not.toContain('aabbccdd');
});

test('rows and events are limited, with fewer rows for more nodes', () => {
  const many = Array.from({ length: 100 }, (_, i) => nodeView(i));
  const figures = many.map(() => FIGURES.map(() => 1));
  const state = new UiState(clusterView(), many);
  for (let at = 1; at <= 1000; at++) {
    state.put({ row: row(at, figures), events: [{ at, kind: 'change', part: null, text: `${at}` }] });
  }
  const { rows, events } = state.snapshot();
  expect(rows.length * 100 * FIGURES.length).toBeLessThanOrEqual(200_000);
  expect(rows.at(-1)?.at).toBe(1000);
  expect(events.length).toBe(300);
  expect(events.at(-1)).toMatchObject({ number: 1000, text: '1000' });
});
