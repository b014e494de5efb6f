import { expect, test } from 'vitest';
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
