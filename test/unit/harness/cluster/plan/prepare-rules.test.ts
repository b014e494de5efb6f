import { expect, test } from 'vitest';
import { firstMistakes } from '../../../../../harness/base/foreign-text.ts';
import { checkDefinition, parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../../harness/cluster/plan/definition-input.ts';
import { planCluster } from '../../../../../harness/cluster/plan/plan.ts';
import { linksOf } from '../../../../../harness/cluster/plan/topology.ts';

function mistakesOf(input: DefinitionInput): readonly string[] {
  const checked = checkDefinition(input);
  return 'mistakes' in checked ? firstMistakes(checked.mistakes) : [];
}

const NODES: DefinitionInput['nodes'] = [
  { count: 2 },
  { mode: 'light' },
  { batches: false },
  { options: { 'swap-enable': false } },
  { mode: 'boot' },
];
const cheque = (from: string, to: string): DefinitionInput => ({
  nodes: NODES,
  prepare: { cheques: [{ from, to }] },
});
const upload = (node: string): DefinitionInput => ({
  nodes: NODES,
  prepare: { uploads: [{ node, size: '1KiB' }] },
});

test('a valid preparation is accepted', () => {
  const prepare = {
    uploads: [
      { node: 'node-0', size: '1MiB' },
      { node: 'node-2', path: 'README.md' },
      { node: 'node-1', path: 'scenarios' },
    ],
    cheques: [
      { from: 'node-0', to: 'node-1' },
      { from: 'node-2', to: 'node-3' },
      { from: 'node-3', to: 'node-0' },
    ],
    height: 400,
  };
  expect(mistakesOf({ nodes: NODES, prepare })).toEqual([]);
});

test('the preset factory takes Bees, too', () => {
  expect(
    mistakesOf({
      preset: 'factory',
      nodes: [{}, { flavour: 'bee', binary: process.execPath }],
      prepare: { height: 420 },
    }),
  ).toEqual([]);
});

test('nodes that are linked, or may be by the draw, can exchange cheques', () => {
  const prepare = { cheques: [{ from: 'node-3', to: 'node-0' }] };
  for (const topology of ['mesh', 'ring', 'star', { random: 2 }] as const)
    expect(mistakesOf({ nodes: 4, topology, prepare })).toEqual([]);
});

test('nodes left unconnected by the draw of links are named as soon as the seed is known', () => {
  const input = (to: string, seed?: number): DefinitionInput => ({
    nodes: 6,
    topology: { random: 1 },
    prepare: { cheques: [{ from: 'node-0', to }] },
    ...(seed === undefined ? {} : { seed }),
  });
  const others = [1, 2, 3, 4, 5].map((index) => `node-${index}`);
  const linked = linksOf({ random: 1 }, 6, 7n)?.filter(([one]) => one === 0) ?? [];
  const apart = others.filter((name) => mistakesOf(input(name, 7)).length > 0);
  expect(apart).toEqual(others.filter((_, index) => !linked.some(([, other]) => other === index + 1)));
  const [to = ''] = apart;
  const words = `prepare.cheques[0]: got node-0 and ${to}, expected two nodes that the topology connects with seed 7`;
  expect(mistakesOf(input(to, 7))).toEqual([words]);

  expect(mistakesOf(input(to))).toEqual([]);
  expect(() => planCluster(parseDefinition(input(to), 'options'), 7n)).toThrow(
    expect.objectContaining({
      code: 'DEFINITION_INVALID',
      message: words,
      hint: expect.any(String) as string,
    }),
  );
});

test('of an impossible draw only the draw itself is reported', () => {
  const prepare = { cheques: [{ from: 'node-0', to: 'node-1' }] };
  expect(mistakesOf({ nodes: 2, seed: 7, topology: { random: 2 }, prepare })).toEqual([
    expect.stringContaining('topology: random: got 2'),
  ]);
});

test.each([
  [
    'an uploader that there is not',
    upload('node-6'),
    "prepare.uploads[0].node: got 'node-6', expected one of node-0 to node-5",
  ],
  [
    'a name with zeros in front',
    upload('node-01'),
    "prepare.uploads[0].node: got 'node-01', expected one of node-0 to node-5",
  ],
  [
    'an uploader without a batch',
    upload('node-3'),
    "prepare.uploads[0].node: got 'node-3', expected a node with a batch",
  ],
  [
    'a boot node that uploads',
    upload('node-5'),
    "prepare.uploads[0].node: got 'node-5', expected a node with a batch",
  ],
  [
    'a path without a file',
    { prepare: { uploads: [{ node: 'node-0', path: 'no/such/file' }] } },
    "prepare.uploads[0].path: no file or folder 'no/such/file'",
  ],
  [
    'a payer that there is not',
    cheque('node-9', 'node-0'),
    "prepare.cheques[0].from: got 'node-9', expected one of",
  ],
  [
    'a payee that there is not',
    cheque('node-0', 'node-9'),
    "prepare.cheques[0].to: got 'node-9', expected one of",
  ],
  [
    'a node that pays itself',
    cheque('node-0', 'node-0'),
    'prepare.cheques[0]: got node-0 twice, expected two nodes',
  ],
  [
    'a payer in a network without batches',
    { nodes: 2, batches: false, prepare: { cheques: [{ from: 'node-1', to: 'node-0' }] } },
    "prepare.cheques[0].from: got 'node-1', expected a batch on any node",
  ],
  [
    'a boot node that pays',
    cheque('node-5', 'node-0'),
    "prepare.cheques[0].from: got 'node-5', expected a full or light node",
  ],
  [
    'a payer whose cheques are off',
    cheque('node-4', 'node-0'),
    "prepare.cheques[0].from: got 'node-4', expected a node that sends cheques: swap-enable of its group is false",
  ],
  [
    'a payee whose cheques are off',
    cheque('node-0', 'node-4'),
    "prepare.cheques[0].to: got 'node-4', expected a node that takes cheques",
  ],
  [
    'a light payee',
    cheque('node-0', 'node-2'),
    "prepare.cheques[0].to: got 'node-2', expected a full node: a light node",
  ],
  [
    'a Bee without a chequebook that pays',
    {
      nodes: [{}, { flavour: 'bee', binary: '/opt/bee', options: { 'chequebook-enable': false } }],
      prepare: { cheques: [{ from: 'node-1', to: 'node-0' }] },
    },
    "prepare.cheques[0].from: got 'node-1', expected a node that sends cheques: chequebook-enable of its group is false",
  ],
  ['cheques without swap', { swap: false, ...cheque('node-0', 'node-1') }, 'swap: got false, expected true'],
  [
    'cheques with high credit',
    { credit: 'high', ...cheque('node-0', 'node-1') },
    "credit: got 'high', expected network or low",
  ],
  [
    'cheques between nodes without a link',
    { nodes: 4, topology: 'ring', prepare: { cheques: [{ from: 'node-0', to: 'node-2' }] } },
    'prepare.cheques[0]: got node-0 and node-2, expected two nodes that the topology connects',
  ],
  [
    'a height at which batches are over',
    { batches: { ttl: '5m' }, prepare: { height: 300 } },
    'prepare.height: got 300, expected less than 300: a batch lasts no more blocks than that',
  ],
] satisfies [string, DefinitionInput, string][])('%s is named', (_what, input, words) => {
  expect(mistakesOf(input)).toEqual([expect.stringContaining(words)]);
});
