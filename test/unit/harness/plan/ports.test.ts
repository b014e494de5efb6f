import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../harness/plan/definition.ts';
import { chainPort, fixedPorts, wantedPorts } from '../../../../harness/plan/ports.ts';
import type { DefinitionInput } from '../../../../harness/plan/schema.ts';

const definitionOf = (input: DefinitionInput) => parseDefinition(input, 'options');

test('a node has the first three of its ten ports', () => {
  expect(fixedPorts(17_000, 0)).toEqual({ api: 17_000, p2p: 17_001, debug: 17_002 });
  expect(fixedPorts(17_000, 3)).toEqual({ api: 17_030, p2p: 17_031, debug: 17_032 });
});

test('the chain has the tenth port of a range, its own one, or any', () => {
  expect(chainPort(definitionOf({ ports: 17_000 }))).toBe(17_009);
  expect(chainPort(definitionOf({ ports: 17_000, chain: { port: 8545 } }))).toBe(8545);
  expect(chainPort(definitionOf({}))).toBe(0);
});

test('every fixed port is wanted by a part', () => {
  const nodes = [{}, { flavour: 'bee', binary: '/opt/bee' }] as const;
  expect(wantedPorts(definitionOf({ ports: 17_000, nodes })).map(({ port, by }) => `${port} ${by}`)).toEqual([
    '17009 the RPC endpoint of the chain',
    '17000 the API of node-0',
    '17001 the p2p listener of node-0',
    '17002 the debug API of node-0',
    '17010 the API of node-1',
    '17011 the p2p listener of node-1',
  ]);
  expect(wantedPorts(definitionOf({ chain: { port: 8545 } }))).toEqual([
    { port: 8545, by: 'the RPC endpoint of the chain' },
  ]);
  expect(wantedPorts(definitionOf({}))).toEqual([]);
});
