import { expect, test } from 'vitest';
import { isCut } from '../../../../../harness/web/live/model.ts';
import { linkView, nodeView } from '../../inspect/live/kit.ts';

const sides = [0, 1, 1].map((side, place) => nodeView(place, { sides: { f1: side } }));
const nodes = [...sides, nodeView(3)];

test('links between sides that a fault separates are cut, though their nodes have not noticed yet', () => {
  const links = [linkView(0, 1), linkView(1, 2), linkView(0, 3)];
  expect(links.map((link) => isCut({ nodes }, link))).toEqual([true, false, false]);
});

test('links of a node that is down, and those that are not connected under another fault, are not cut', () => {
  const down = [nodeView(0, { sides: { f1: 0 }, state: 'killed' }), ...nodes.slice(1)];
  expect(isCut({ nodes: down }, linkView(0, 1))).toBe(false);
  const slow = { faults: ['adds 200 ms to each round trip between node-0 and node-1'] };
  const slowed = [nodeView(0, slow), nodeView(1, slow)];
  expect(isCut({ nodes: slowed }, linkView(0, 1, { connected: false }))).toBe(false);
});
