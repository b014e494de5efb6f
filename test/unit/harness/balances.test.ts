import { expect, test } from 'vitest';
import { lookAtBalances } from '../../../harness/balances.ts';
import type { ClusterNode } from '../../../harness/cluster-node.ts';

const SIGNAL = new AbortController().signal;

function node(name: string, balances: Record<string, bigint> | Error, running = true): ClusterNode {
  return {
    name,
    overlay: `overlay of ${name}`,
    running,
    client: {
      balances: () =>
        balances instanceof Error
          ? Promise.reject(balances)
          : Promise.resolve(
              Object.entries(balances).map(([peer, balance]) => ({ peer: `overlay of ${peer}`, balance })),
            ),
    },
  } as unknown as ClusterNode;
}

test('two ends that see the same debt agree, and a peer that is not listed is owed nothing', async () => {
  const nodes = [node('a', { b: 70n }), node('b', { a: -70n, c: 0n }), node('c', {})];
  expect(await lookAtBalances(nodes, SIGNAL)).toEqual({ done: 3 });
});

test('a link whose ends differ is told with both balances', async () => {
  const nodes = [node('a', { b: 70n }), node('b', { a: -60n }), node('c', {})];
  expect(await lookAtBalances(nodes, SIGNAL)).toEqual({
    missing: '1 of 3 links: a says 70 of b, which says -60',
  });
});

test('a node that does not run is not asked, one that does not answer is missing', async () => {
  expect(await lookAtBalances([node('a', { b: 7n }), node('b', {}, false)], SIGNAL)).toEqual({ done: 0 });
  expect(await lookAtBalances([node('a', new Error('gone'))], SIGNAL)).toEqual({ missing: 'a: gone' });
});
