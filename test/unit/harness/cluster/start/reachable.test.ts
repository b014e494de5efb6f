/** If no node stores anything for a network, its start must say so, not the first upload. */
import { expect, test } from 'vitest';
import type { ClusterNode } from '../../../../../harness/cluster/nodes/cluster-node.ts';
import { checkReachable } from '../../../../../harness/cluster/start/startup-conditions.ts';

const never = new AbortController().signal;

function node(flavour: ClusterNode['flavour'], isReachable: boolean, mode: ClusterNode['mode'] = 'full') {
  const client = { status: async () => ({ isReachable }) } as unknown as ClusterNode['client'];
  return { flavour, mode, client };
}

test('Bees alone that all consider themselves unreachable are refused', async () => {
  const nodes = [node('bee', false), node('bee', false), node('bee', true, 'light')];
  await expect(checkReachable(nodes, never)).rejects.toMatchObject({
    code: 'BINARY_INVALID',
    message: expect.stringContaining('expected a Bee that treats loopback and private addresses as public'),
  });
});

test.each([
  ['a Bee that is reachable', [node('bee', false), node('bee', true)]],
  ['a node of ours', [node('bee', false), node('svc', false)]],
  ['one full Bee, to which no other pushes', [node('bee', false), node('bee', false, 'light')]],
] as const)('a network with %s is not refused', async (_about, nodes) => {
  await expect(checkReachable(nodes, never)).resolves.toBeUndefined();
});
