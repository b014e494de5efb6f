import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../../harness/cluster/plan/definition-input.ts';
import { type ClusterPlan, planCluster } from '../../../../../harness/cluster/plan/plan.ts';
import { spareAccounts } from '../../../../../harness/cluster/plan/seed.ts';

function optionsOf(input: DefinitionInput): ClusterPlan['chain'] {
  return planCluster(parseDefinition(input, 'options'), 7n).chain;
}

/** Accounts of users, after those of the nodes. */
const SPARE = 3;

test('the chain listens where the definition says, and its control endpoint is on loopback', () => {
  expect(optionsOf({ nodes: 1 })).toMatchObject({ host: '127.0.0.1', controlHost: '127.0.0.1' });
  expect(optionsOf({ nodes: 1, listen: '0.0.0.0' })).toMatchObject({
    host: '0.0.0.0',
    controlHost: '127.0.0.1',
  });
});

test('every node has an account, a batch and a chequebook with its deposit', () => {
  const { accounts, batches, chequebooks } = optionsOf({ nodes: 2, swap: { deposit: 5 } });
  expect(accounts).toHaveLength(2 + SPARE);
  const owners = accounts.slice(0, 2).map(({ address }) => address);
  expect(batches.map(({ owner }) => owner)).toEqual(owners);
  expect(chequebooks).toEqual(owners.map((issuer) => ({ issuer, deposit: '5' })));
});

test('a boot node gets a chequebook and no batch, and a node that deploys its own chequebook gets no second one', () => {
  const { accounts, batches, chequebooks } = optionsOf({
    nodes: [{}, { mode: 'boot' }, { flavour: 'bee', binary: './bee' }, { mode: 'light' }],
  });
  const owners = accounts.map(({ address }) => address);
  expect(batches.map(({ owner }) => owner)).toEqual([owners[0], owners[2], owners[3]]);
  expect(chequebooks.map(({ issuer }) => issuer)).toEqual([owners[0], owners[1], owners[3]]);
});

test('three more accounts are funded like those of nodes, and derived from the seed', () => {
  const { accounts } = optionsOf({ nodes: 1 });
  const [node, ...spare] = accounts;
  expect(spare.map(({ address }) => address)).toEqual(
    spareAccounts(7n).map(({ ethereum }) => `0x${ethereum}`),
  );
  for (const { native, tokens } of spare)
    expect({ native, tokens }).toEqual({ native: node?.native, tokens: node?.tokens });
  expect(new Set(accounts.map(({ address }) => address)).size).toBe(1 + SPARE);
});

test('without cheques there are no chequebooks', () => {
  expect(optionsOf({ nodes: 2, swap: false }).chequebooks).toEqual([]);
});

test('the amount of a batch is derived from the price and the block time of the chain', () => {
  const { storagePrice, batches } = optionsOf({
    nodes: 1,
    batches: { ttl: '24h' },
    chain: { storagePrice: 30_000, blockTime: '5s' },
  });
  expect(storagePrice).toBe(30_000);
  expect(batches.map(({ amount }) => amount)).toEqual([(30_000n * 17_280n).toString()]);
});
