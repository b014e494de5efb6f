import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../../harness/cluster/plan/definition-input.ts';
import { chainPort, fixedPorts, wantedPorts } from '../../../../../harness/cluster/plan/ports.ts';

const definitionOf = (input: DefinitionInput) => parseDefinition(input, 'options');

test('a node has the first three of its ten ports', () => {
  const range = { first: 17_000, stride: 10, debug: 'range' } as const;
  expect(fixedPorts(range, 0)).toEqual({ api: 17_000, p2p: 17_001, debug: 17_002 });
  expect(fixedPorts(range, 3)).toEqual({ api: 17_030, p2p: 17_031, debug: 17_032 });
});

test('a narrow range has no port for the debug API or the chain', () => {
  const definition = definitionOf({ nodes: 2, ports: { first: 17_000, stride: 2, debug: 'free' } });
  expect(wantedPorts(definition).map(({ port }) => port)).toEqual([17_000, 17_001, 17_002, 17_003]);
  expect(chainPort(definition)).toBe(0);
});

test('a range too narrow for its contents is a contradiction', () => {
  expect(() => definitionOf({ ports: { first: 17_000, stride: 2 } })).toThrow(
    'ports.stride: got 2, expected at least 3, or debug: free',
  );
});

test('the chain has the tenth port of a range, its own port, or any', () => {
  expect(chainPort(definitionOf({ ports: 17_000 }))).toBe(17_009);
  expect(chainPort(definitionOf({ ports: 17_000, chain: { port: 8545 } }))).toBe(8545);
  expect(chainPort(definitionOf({}))).toBe(0);
});

test('every fixed port is listed with the part that needs it', () => {
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
