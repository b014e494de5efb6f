import { expect, test, vi } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';

test('a bee uses the program that its group names, as an absolute path', () => {
  const { nodes } = parseDefinition({ nodes: [{}, { flavour: 'bee', binary: '/opt/bee' }] }, 'options');
  expect(nodes.map(({ flavour, mode, binary }) => [flavour, mode, binary])).toEqual([
    ['svc', 'full', undefined],
    ['bee', 'full', '/opt/bee'],
  ]);
});

test('a bee without a program uses the first one of the environment', () => {
  vi.stubEnv('SVCNET_BEE_BINARY', '/opt/bee-a,/opt/bee-b');
  try {
    expect(parseDefinition({ nodes: [{ flavour: 'bee' }] }, 'options').nodes[0]?.binary).toBe('/opt/bee-a');
  } finally {
    vi.unstubAllEnvs();
  }
});

test('a container ignores the bee program of the environment', () => {
  vi.stubEnv('SVCNET_BEE_BINARY', '/opt/bee-a');
  try {
    const input = { driver: 'docker', nodes: [{}, { flavour: 'bee', image: 'bee' }] };
    expect(parseDefinition(input, 'options').nodes.map(({ binary }) => binary)).toEqual([
      undefined,
      undefined,
    ]);
  } finally {
    vi.unstubAllEnvs();
  }
});
