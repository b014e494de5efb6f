import { expect, test } from 'vitest';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import type { ScenarioContext } from '../../../harness/run/scenario.ts';
import { expectSuccess, type Sample } from '../../../scenarios/steps/traffic.ts';

const node = { name: 'node-0' } as ClusterNode;

function samples(good: number, failed: number): Sample[] {
  return Array.from({ length: good + failed }, (_, n) => ({
    what: 'read' as const,
    node,
    at: n,
    ms: 1,
    ...(n < good ? {} : { failure: 'chunk not found' }),
  }));
}

test.each([
  [110, 0, 0, true],
  [108, 2, 0, true],
  [107, 3, 0, false],
  // As few failures as restarts show nothing.
  [107, 3, 5, true],
  [105, 5, 5, true],
  [104, 6, 5, false],
  [1000, 20, 5, true],
  [1000, 21, 5, false],
  [0, 3, 5, false],
  [0, 0, 5, false],
])(
  '%d requests succeed and %d fail, where %d may fail however few there are: %s',
  (good, failed, allBut, is) => {
    const seen: boolean[] = [];
    const context = { expect: (_name: string, passed: boolean) => seen.push(passed) };
    expectSuccess(context as unknown as ScenarioContext, 'requests succeed', samples(good, failed), {
      least: 0.98,
      allBut,
    });
    expect(seen).toEqual([is]);
  },
);
