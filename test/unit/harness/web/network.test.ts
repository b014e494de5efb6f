import { expect, test } from 'vitest';
import { drawRing, type RingLink, type RingNode } from '../../../../harness/web/network/drawing.ts';
import {
  neighbourhoods,
  networkSummary,
  onCircle,
  shareOf,
  spreadLabels,
} from '../../../../harness/web/network/layout.ts';
import type { NetworkPicture, PictureNode } from '../../../../harness/web/picture/picture.ts';

function node(name: string, overlay: string, more: Partial<PictureNode> = {}): PictureNode {
  return {
    name,
    overlay: overlay.padEnd(64, '0'),
    flavour: 'svc',
    mode: 'full',
    state: 'running',
    answers: true,
    version: null,
    depth: 1,
    storageRadius: 1,
    reserve: 1,
    cache: null,
    waiting: null,
    block: null,
    chequebook: null,
    peers: [],
    ...more,
  };
}

test('addresses ascend clockwise from the top', () => {
  const place = (overlay: string) => {
    const { x, y } = onCircle(shareOf(overlay.padEnd(64, '0')), 10, { x: 0, y: 0 });
    return [Math.round(x), Math.round(y)].map((value) => value + 0);
  };
  expect(place('00')).toEqual([0, -10]);
  expect(place('40')).toEqual([10, 0]);
  expect(place('80')).toEqual([0, 10]);
  expect(place('c0')).toEqual([-10, 0]);
});

test('nodes with equal leading bits, as many as their storage radius, form one neighbourhood', () => {
  const nodes = [
    node('a', '00'),
    node('b', '70'),
    node('c', 'c0', { storageRadius: 2 }),
    node('light', '80', { mode: 'light' }),
    node('dead', '90', { storageRadius: null, answers: false }),
  ];
  expect(neighbourhoods(nodes)).toEqual([
    { prefix: '0', from: 0, to: 0.5, nodes: ['a', 'b'] },
    { prefix: '11', from: 0.75, to: 1, nodes: ['c'] },
  ]);
  expect(neighbourhoods([node('a', 'ff', { storageRadius: 0 })])).toEqual([
    { prefix: '', from: 0, to: 1, nodes: ['a'] },
  ]);
});

test('labels that overlap are moved apart in order, and others stay where they are', () => {
  expect(spreadLabels([0.1, 0.5, 0.9], 0.05)).toEqual([0.1, 0.5, 0.9]);
  const spread = spreadLabels([0.5, 0.501, 0.502, 0.999, 0.0005], 0.02);
  const sorted = spread.slice(0, 3);
  expect(sorted).toEqual(sorted.toSorted((a, b) => a - b));
  for (const i of [0, 1]) expect((sorted[i + 1] as number) - (sorted[i] as number)).toBeGreaterThan(0.0199);
  // Across the top.
  expect((spread[4] as number) + 1 - (spread[3] as number)).toBeGreaterThan(0.0199);
});

test('the summary names the nodes that do not answer', () => {
  const picture: NetworkPicture = {
    at: '',
    cluster: 'net',
    height: 1,
    nodes: [node('a', '00'), node('b', '80', { answers: false, state: 'killed', storageRadius: null })],
    links: [],
  };
  expect(networkSummary(picture)).toBe(
    'net: 1 of 2 nodes answer, 0 links, 1 neighbourhood. Not answering: b (killed).',
  );
});

function ringNode(name: string, overlay: string, more: Partial<RingNode> = {}): RingNode {
  return { ...node(name, overlay), trouble: undefined, peers: 3, weight: 1, ...more };
}

function drawn(
  nodes: readonly RingNode[],
  more: Partial<Parameters<typeof drawRing>[0]> = {},
  chosen?: string,
) {
  return drawRing({ nodes, links: [], connections: true, colour: '--hue', legend: [], ...more }, 600, chosen);
}

const CRASHED = { state: 'crashed', trouble: 'crashed', weight: 0 };

test('a node that is down is red, marked and as large as the largest, and the legend says what it is', () => {
  const { nodes, legend } = drawn([
    ringNode('a', '00'),
    ringNode('b', '40', CRASHED),
    ringNode('c', '80', { flavour: 'bee', mode: 'light' }),
    ringNode('d', 'c0', { weight: 0.01 }),
  ]);
  expect(nodes.map(({ shape }) => [shape.fill, shape.stroke, shape.square, shape.mark])).toEqual([
    ['--series-1', '--paper', false, ''],
    ['--bad', '--paper', false, '✕'],
    ['--paper', '--series-5', true, ''],
    ['--series-1', '--paper', false, ''],
  ]);
  const [a, b, , d] = nodes.map(({ r }) => r) as [number, number, number, number];
  expect(b).toBe(a);
  expect(d).toBeLessThan(a);
  expect(nodes[1]?.facts).toBe(
    'b: svc full, crashed, overlay 40000000, 3 peers, storage radius 1, 1 chunks in reserve',
  );
  expect(legend.map(({ text }) => text)).toEqual(['svc full node', 'bee light node', 'crashed']);
});

test('nodes with almost the same overlay cover neither each other nor their names', () => {
  const apart = drawn(['00', '40', '80', 'c0'].map((overlay) => ringNode(`node-${overlay}`, overlay)));
  expect(apart.nodes.map(({ label }) => label?.turn)).toEqual([0, 0, 0, 0]);
  const close = drawn(['04', '041', '042'].map((overlay) => ringNode(`node-${overlay}`, overlay)));
  const [a, b] = close.nodes as [(typeof close.nodes)[0], (typeof close.nodes)[0]];
  expect(Math.hypot(b.at.x - a.at.x, b.at.y - a.at.y)).toBeGreaterThan(a.r + b.r);
  expect(close.nodes.every(({ label }) => label?.turn !== 0)).toBe(true);
});

test('of a large network only nodes in trouble and the chosen one are named', () => {
  const many = Array.from({ length: 100 }, (_, i) => ringNode(`node-${i}`, i.toString(16).padStart(2, '0')));
  const { nodes } = drawn([...many, ringNode('bad', 'ff', CRASHED)], {}, 'node-7');
  expect(nodes.flatMap(({ label }) => label?.text ?? [])).toEqual(['node-7', 'bad']);
});

test('links of one width are one path, wider with more, and those of the chosen node lie above them', () => {
  const nodes = [ringNode('a', '00'), ringNode('b', '40'), ringNode('c', '80')];
  const link = (a: number, b: number, more: Partial<RingLink> = {}): RingLink => ({
    a,
    b,
    connected: true,
    weight: 0,
    ...more,
  });
  const links = [link(0, 1, { weight: 100 }), link(0, 2, { weight: 100 }), link(1, 2, { weight: 1 })];
  const countOf = (path: string) => path.split('M').length - 1;
  const shown = (content: Parameters<typeof drawn>[1], chosen?: string) =>
    drawn(nodes, { links, ...content }, chosen).links.map(({ path, width }) => [countOf(path), width]);
  expect(shown({})).toEqual([
    [3, 1],
    [2, 4.25],
    [1, 0.75 + 3.5 / 8],
    [0, 1.25],
  ]);
  expect(shown({ links: [link(0, 1), link(1, 2, { connected: false })], connections: false }, 'b')).toEqual([
    [0, 1],
    [1, 1.25],
  ]);
  const cut = link(1, 2, { connected: false, cut: true });
  const dashed = drawn(nodes, { links: [link(0, 1), cut] }).links.filter((one) => one.dashed === true);
  expect(dashed.map(({ path, colour }) => [countOf(path), colour])).toEqual([[1, '--bad']]);
});
