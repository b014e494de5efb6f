import { expect, test } from 'vitest';
import { contradictions } from '../../../../../harness/cluster/plan/contradictions.ts';
import { parseDefinition, withGroup } from '../../../../../harness/cluster/plan/definition.ts';
import { groupsInUse } from '../../../../../harness/cluster/plan/facts.ts';
import type { Definition, NodeGroup } from '../../../../../harness/cluster/plan/schema.ts';
import { programsIn } from '../../../../../harness/cluster/plan/trust.ts';
import { programsOf } from '../../../../../harness/commands/nodes-flags.ts';
import { flavourOf } from '../../../../../harness/flavours/table.ts';

const definition = parseDefinition({ nodes: [{ count: 2 }, { mode: 'light' }, { count: 2 }] }, 'test');
const light = definition.nodes[1] as NodeGroup;
const usedIn = (more: Partial<Definition>) =>
  groupsInUse({ ...definition, ...more }).map(({ where }) => where);

test('a group is in use while one of its nodes runs as it started', () => {
  expect(usedIn({})).toEqual(['nodes[0]', 'nodes[1]', 'nodes[2]']);
  expect(usedIn({ upgraded: { 0: light } })).toEqual(['nodes[0]', 'nodes[1]', 'nodes[2]', 'node-0']);
  expect(usedIn({ upgraded: { 3: light, 4: light } })).toEqual(['nodes[0]', 'nodes[1]', 'node-3', 'node-4']);
  expect(usedIn({ upgraded: { 0: light }, grown: { from: 5, gone: [0, 2] } })).toEqual([
    'nodes[0]',
    'nodes[2]',
  ]);
});

test('what a node has become is checked like a group', () => {
  const options = { 'data-dir': '/elsewhere' };
  expect(contradictions({ ...definition, upgraded: { 1: { ...light, options } } })).toEqual([
    "upgraded.1.options: 'data-dir' is set by the testbed and cannot be chosen",
  ]);
});

test('a node of the largest cluster is replaced, not added', () => {
  const largest = parseDefinition({ nodes: 200 }, 'test');
  expect(() => withGroup(largest, { mode: 'light' }, 'add')).toThrow('got 201');
  const looked = withGroup(largest, { mode: 'light' }, 'upgrade', 7);
  expect(looked.nodes).toHaveLength(200);
  expect(looked.nodes.at(-1)).toMatchObject({ mode: 'light', count: 1 });
});

test('a description of a program counts only for the flavour that it names', () => {
  const declared = { name: 'ant', program: '/bin/sh', keys: { libp2p: { type: 'ed25519' } } } as const;
  expect(flavourOf({ flavour: 'svc', declared }).name).toBe('svc');
  expect(flavourOf({ flavour: 'ant', declared }).name).toBe('ant');
});

test('--bee-binary replaces the programs of Bees alone, and no variable vouches for a description', () => {
  const nodes = [
    { flavour: 'bee', binary: './bee' },
    { flavour: 'ant', binary: './evil' },
  ];
  const flavours = [{ name: 'ant', program: './bee' }];
  expect(programsOf({ nodes, flavours }, { beeBinary: './mine' })).toEqual(['./evil', './bee']);
  process.env['SVCNET_BEE_BINARY'] = './bee';
  try {
    expect(programsIn({ nodes, flavours })).toEqual(['./evil', './bee']);
  } finally {
    delete process.env['SVCNET_BEE_BINARY'];
  }
});
