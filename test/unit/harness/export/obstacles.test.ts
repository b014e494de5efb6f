import { expect, test } from 'vitest';
import type { DefinitionInput } from '../../../../harness/cluster/plan/definition-input.ts';
import { parseExported } from '../../../../harness/export/export-request.ts';
import { obstacles, TARGETS, type Target } from '../../../../harness/export/obstacles.ts';

const found = (input: DefinitionInput, target: Target = 'compose') =>
  obstacles(parseExported(input, 'options'), target);

test.each(TARGETS)('what a definition says about its nodes can be exported to %s', (target) => {
  const input: DefinitionInput = {
    nodes: [{ count: 2, options: { 'cache-capacity': 10 } }, { mode: 'light' }],
    driver: 'process',
    ports: { first: 17_000, stride: 5 },
    chain: { port: 18_000, blockTime: '5s' },
    profile: 'production',
    credit: 'low',
    dialect: 'swarm',
    swap: false,
  };
  expect(found(input, target)).toEqual([]);
});

test.each<[string, DefinitionInput, RegExp]>([
  ['an embedded node', { driver: 'embedded' }, /^driver: got 'embedded'/],
  ['a gate of the chain', { chain: { gate: true } }, /^chain\.gate: got true/],
  ['a ring', { topology: 'ring' }, /^topology: got 'ring', expected mesh/],
  ['random links', { topology: { random: 2 } }, /^topology: got \{"random":2\}, expected mesh/],
  [
    'a prepared upload',
    { prepare: { uploads: [{ node: 'node-0', size: '1MiB' }] } },
    /^prepare: expected nothing/,
  ],
  ['a height', { prepare: { height: 400 } }, /^prepare: expected nothing/],
  [
    'a debug port that is not known',
    { ports: { first: 17_000, debug: 'free' } },
    /^ports\.debug: got 'free'/,
  ],
  [
    'a port for two',
    { chain: { port: 1643 } },
    /^ports: the RPC endpoint of the chain and the API of node-1 .* 1643$/,
  ],
  [
    'the port above that of the chain',
    { chain: { port: 1632 } },
    /^ports: the control endpoint .* and the API of node-0 .* 1633$/,
  ],
])('%s cannot be exported, with the reason', (_what, input, line) => {
  expect(found(input)).toEqual([expect.stringMatching(line)]);
});

test('a Bee needs an image; with one, its options are still unknown', () => {
  const bee = { flavour: 'bee', count: 2 } as const;
  expect(found({ driver: 'process', nodes: [{ count: 1 }, { ...bee, binary: '/bee' }] })).toEqual([
    'nodes[1].image: flavour bee needs the name of an image with its program',
  ]);
  expect(() => found({ nodes: [{ count: 1 }, bee] })).toThrow(/nodes\[1\]\.image/);
  expect(found({ nodes: [{ count: 1 }, { ...bee, image: 'bee:2.8.1' }] })).toEqual([
    expect.stringMatching(/^nodes\[1\]\.flavour: got 'bee', expected svc: /),
  ]);
});

test('an interface can be chosen where the file is for one machine', () => {
  expect(found({ listen: '10.0.0.7' })).toEqual([]);
  for (const target of ['stack', 'kubernetes'] as const) {
    expect(found({ listen: '10.0.0.7' }, target)).toEqual([
      expect.stringMatching(/^listen: got '10\.0\.0\.7'/),
    ]);
    expect(found({ listen: '0.0.0.0' }, target)).toEqual([]);
  }
});

test('a name that is invalid for a namespace is refused for kubernetes only', () => {
  expect(found({ name: 'a-' }, 'kubernetes')).toEqual([expect.stringMatching(/^name: got 'a-'/)]);
  expect(found({ name: 'a-' }, 'stack')).toEqual([]);
});
