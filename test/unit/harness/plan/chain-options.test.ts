import { expect, test } from 'vitest';
import { type DefinitionInput, parseDefinition } from '../../../../harness/plan/definition.ts';
import { type ClusterPlan, planCluster } from '../../../../harness/plan/plan.ts';

function optionsOf(input: DefinitionInput): ClusterPlan['chain'] {
  return planCluster(parseDefinition(input, 'options'), 7n).chain;
}

test('every node has an account, a batch and a chequebook with its deposit', () => {
  const { accounts, batches, chequebooks } = optionsOf({ nodes: 2, swap: { deposit: 5 } });
  const owners = accounts.map(({ address }) => address);
  expect(owners).toHaveLength(2);
  expect(batches.map(({ owner }) => owner)).toEqual(owners);
  expect(chequebooks).toEqual(owners.map((issuer) => ({ issuer, deposit: '5' })));
});

test('a node that serves nobody gets no batch and no chequebook, and one that deploys its own no second one', () => {
  const { accounts, batches, chequebooks } = optionsOf({
    nodes: [{}, { mode: 'boot' }, { flavour: 'bee', binary: './bee' }, { mode: 'light' }],
  });
  const owners = accounts.map(({ address }) => address);
  expect(batches.map(({ owner }) => owner)).toEqual([owners[0], owners[2], owners[3]]);
  expect(chequebooks.map(({ issuer }) => issuer)).toEqual([owners[0], owners[3]]);
});

test('without cheques there are no chequebooks', () => {
  expect(optionsOf({ nodes: 2, swap: false }).chequebooks).toEqual([]);
});
