import { expect, test } from 'vitest';
import { firstMistakes } from '../../../../../harness/base/foreign-text.ts';
import { checkDefinition, parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { plannedMembers } from '../../../../../harness/cluster/plan/plan.ts';
import { nodesWith } from '../../../../../harness/commands/nodes-flags.ts';
import { BEHAVIOUR_NAMES } from '../../../../../harness/flavours/dishonest/names.ts';
import { BEHAVIOURS } from '../../../../../harness/flavours/dishonest/table.ts';

test('behaviours make a group dishonest, and leave other groups untouched', () => {
  const definition = parseDefinition({ nodes: [{ count: 1 }, { dishonest: ['wrong-data'] }] }, 'options');
  expect(plannedMembers(definition)).toMatchObject([
    { flavour: 'svc', tampered: undefined },
    { flavour: 'dishonest', tampered: { behaviours: ['wrong-data'] } },
  ]);
});

test('with machine faults every node of our own is started for them, and the Bee is not', () => {
  const nodes = [{ count: 1 }, { flavour: 'bee', binary: './bee' }];
  const definition = parseDefinition({ nodes, machineFaults: true }, 'options');
  expect(plannedMembers(definition).map(({ tampered }) => tampered)).toEqual([{ behaviours: [] }, undefined]);
});

test.each([
  [{ nodes: [{ count: 1 }, { flavour: 'dishonest' }] }, 'nodes[1].dishonest: expected what the nodes do'],
  [{ nodes: [{ dishonest: ['wrong-date'] }] }, "got 'wrong-date', expected one of wrong-data"],
  [{ nodes: [{ flavour: 'bee', binary: './bee', dishonest: ['flood'] }] }, 'only nodes of our own'],
  [
    { nodes: [{ count: 1 }, { dishonest: ['flood'] }], driver: 'docker' },
    'expected driver process or embedded',
  ],
  [{ machineFaults: true, driver: 'docker' }, 'machineFaults: got true with driver docker'],
])('%j is a mistake', (input, text) => {
  const checked = checkDefinition(input);
  expect('mistakes' in checked && firstMistakes(checked.mistakes).join('\n')).toContain(text);
});

test('every behaviour that can be named is listed, and says what it does', () => {
  expect(Object.keys(BEHAVIOURS)).toEqual([...BEHAVIOUR_NAMES]);
  for (const { about } of Object.values(BEHAVIOURS)) expect(about).toMatch(/^[a-z].{20}/);
});

test('the flags add one dishonest node, or as many as requested, and require behaviours', () => {
  const dishonest = ['flood'] as const;
  expect(nodesWith({ with: [], dishonest }, 3, 5)).toEqual([
    { count: 3 },
    { flavour: 'dishonest', count: 1, dishonest: ['flood'] },
  ]);
  const two = [{ flavour: 'dishonest', count: 2 }] as const;
  expect(nodesWith({ with: two, dishonest }, 3, 5)).toMatchObject([{ count: 3 }, { count: 2 }]);
  expect(() => nodesWith({ with: two }, 3, 5)).toThrow(/also expected --dishonest/);
});
