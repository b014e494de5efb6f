import { expect, test } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { becomeText, changesText } from '../../../../harness/commands/changing.ts';
import { halfway, rollingOrder } from '../../../../harness/commands/upgrade.ts';

const node = (name: string, flavour = 'svc', more: object = {}) =>
  ({
    name,
    flavour,
    mode: 'full',
    binary: flavour === 'svc' ? undefined : `/${flavour}`,
    running: true,
    ...more,
  }) as const;

test('a program is for the nodes of the one flavour that needs one, or else for all of ours', () => {
  const bees = [node('node-0'), node('node-1', 'bee'), node('node-2', 'bee')];
  expect(rollingOrder(bees, { binary: '/new' })).toEqual({ names: ['node-1', 'node-2'], skipped: [] });
  const mixed = [...bees, node('node-3', 'ant')];
  expect(() => rollingOrder(mixed, { binary: '/new' })).toThrow(
    'got one --binary for nodes of bee and ant, expected nodes of one flavour',
  );
  expect(rollingOrder(mixed, { flavour: 'bee', binary: '/new' }).names).toHaveLength(4);
  const ours = [node('node-0'), node('node-1', 'svc', { binary: '/changed' })];
  expect(rollingOrder(ours, { binary: '/new' }).names).toEqual(['node-0', 'node-1']);
});

test('an image is for the same nodes', () => {
  const nodes = [node('node-0'), node('node-1', 'bee'), node('node-2', 'ant')];
  expect(rollingOrder(nodes.slice(0, 2), { image: 'bee:2.8.1' }).names).toEqual(['node-1']);
  expect(() => rollingOrder(nodes, { image: 'bee:2.8.1' })).toThrow(
    'got one --image for nodes of bee and ant',
  );
});

test('an upgrade that ends half-way says which nodes have been upgraded, and which have not', () => {
  const error = new HarnessError('WAIT_TIMEOUT', 'the nodes are not meshed', { hint: 'Wait.' });
  const half = { done: ['node-0', 'node-1'], left: ['node-3'] };
  expect(halfway(error, half)).toMatchObject({
    code: 'WAIT_TIMEOUT',
    message: 'the nodes are not meshed',
    hint: 'Wait.\nUpgraded before: node-0, node-1\nNot upgraded: node-3',
  });
  expect(halfway(error, { done: [], left: [] })).toBe(error);
});

test('nodes that do not run are said to be skipped; boot nodes and dishonest ones are not meant', () => {
  const nodes = [
    node('node-0', 'svc', { mode: 'boot' }),
    node('node-1', 'dishonest', { running: false }),
    node('node-2'),
    node('node-3', 'svc', { running: false }),
  ];
  expect(rollingOrder(nodes, { flavour: 'bee' })).toEqual({ names: ['node-2'], skipped: ['node-3'] });
});

test('one full node stays', () => {
  const nodes = [node('node-0'), node('node-1'), node('node-2', 'svc', { mode: 'light' })];
  expect(() => rollingOrder(nodes, { mode: 'light' })).toThrow(
    'got --mode light for every full node, expected one to stay',
  );
  const stays = [...nodes, node('node-3', 'svc', { running: false })];
  expect(rollingOrder(stays, { mode: 'light' }).names).toEqual(['node-0', 'node-1', 'node-2']);
});

test.each([
  ['versions', ['bee', '/a/bee', '2.7.1-aa'], ['bee', '/b/bee', '2.8.1-bb'], '2.7.1 → 2.8.1'],
  ['nothing that is known', ['bee', '/a', null], ['bee', '/a', '2.8.1'], ''],
  ['a mode alone', ['svc', undefined, '0.1.0'], ['svc', undefined, '0.1.0'], ''],
  ['programs', ['svc', undefined, '0.1.0'], ['svc', '/x/changed', '0.1.0'], 'svc → svc (changed)'],
  ['flavours', ['svc', undefined, '0.1.0'], ['ant', '/x/ant', '0.3.0-cc'], 'svc 0.1.0 → ant 0.3.0'],
  [
    'clones',
    ['svc', '/one/node/main.ts', '0.1.0'],
    ['svc', '/two/node/main.ts', '0.1.0'],
    'svc (one/node/main.ts) → svc (two/node/main.ts)',
  ],
] as const)('an upgrade is told by what differs: %s', (_what, from, to, text) => {
  const program = ([flavour, binary, version]: typeof from | typeof to) => ({ flavour, binary, version });
  expect(becomeText(program(from), program(to))).toBe(text);
});

test('an upgraded node is named with what it was and is', () => {
  const versions = { from: null, to: null };
  const become = { 'node-2': { versions, text: '2.7.1 → 2.8.1' }, 'node-3': { versions, text: '' } };
  expect(changesText({ upgraded: ['node-2', 'node-3'], skipped: [] }, become)).toBe(
    'upgraded node-2 (2.7.1 → 2.8.1), node-3',
  );
});
