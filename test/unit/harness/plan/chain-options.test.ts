import { expect, test } from 'vitest';
import { chainOptions } from '../../../../harness/plan/chain-options.ts';
import { type DefinitionInput, parseDefinition, plannedNodes } from '../../../../harness/plan/definition.ts';
import { deriveNode } from '../../../../harness/plan/seed.ts';

function optionsOf(input: DefinitionInput): ReturnType<typeof chainOptions> {
  const definition = parseDefinition(input, 'options');
  const identities = plannedNodes(definition).map((_, index) =>
    deriveNode({ seed: 7n, index, networkId: 4020 }),
  );
  return chainOptions(definition, 7n, identities);
}

test('every node has an account, a batch and a chequebook with its deposit', () => {
  const { accounts, batches, chequebooks } = optionsOf({ nodes: 2, swap: { deposit: 5 } });
  const owners = accounts.map(({ address }) => address);
  expect(owners).toHaveLength(2);
  expect(batches.map(({ owner }) => owner)).toEqual(owners);
  expect(chequebooks).toEqual(owners.map((issuer) => ({ issuer, deposit: '5' })));
});

test('a node that serves nobody, and one that deploys its own, get no chequebook', () => {
  const { accounts, chequebooks } = optionsOf({
    nodes: [{}, { mode: 'boot' }, { flavour: 'bee', binary: './bee' }, { mode: 'light' }],
  });
  const owners = accounts.map(({ address }) => address);
  expect(chequebooks.map(({ issuer }) => issuer)).toEqual([owners[0], owners[3]]);
});

test('without cheques there are no chequebooks', () => {
  expect(optionsOf({ nodes: 2, swap: false }).chequebooks).toEqual([]);
});
