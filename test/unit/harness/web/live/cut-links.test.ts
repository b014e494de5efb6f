import { expect, test } from 'vitest';
import { isCut } from '../../../../../harness/web/live/model.ts';
import { linkView, nodeView } from '../../inspect/live/kit.ts';

const SEPARATED = { faults: ['separates node-0 from node-1, node-2'] };
const apart = { connected: false };

test('links that a fault of both nodes has cut are shown as such, those of one side and of nodes that are down are not', () => {
  const nodes = [nodeView(0, SEPARATED), nodeView(1, SEPARATED), nodeView(2, SEPARATED), nodeView(3)];
  const links = [linkView(0, 1, apart), linkView(0, 2), linkView(1, 2), linkView(0, 3, apart)];
  expect(links.map((link) => isCut({ nodes }, link))).toEqual([true, false, false, false]);
  const down = [nodeView(0, { ...SEPARATED, state: 'killed' }), ...nodes.slice(1)];
  expect(links.map((link) => isCut({ nodes: down }, link))).toEqual([false, false, false, false]);
});

test('links between sides that a fault separates are cut, though their nodes have not noticed yet', () => {
  const sides = [0, 1, 1].map((side, place) => nodeView(place, { sides: { f1: side } }));
  const nodes = [...sides, nodeView(3)];
  const links = [linkView(0, 1), linkView(1, 2), linkView(0, 3)];
  expect(links.map((link) => isCut({ nodes }, link))).toEqual([true, false, false]);
});
