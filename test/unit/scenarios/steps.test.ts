import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import type { ClusterNode } from '../../../harness/nodes/cluster-node.ts';
import type { ScenarioContext } from '../../../harness/run/scenario.ts';
import { chosenNode, nextSecond, otherNode, otherNodes } from '../../../scenarios/steps/steps.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('the next second has begun by the clock, even when a timer fires before it', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 41_999 });
  let isOver = false;
  const waiting = nextSecond(AbortSignal.timeout(60_000)).then(() => (isOver = true));
  // The timer fires several times while the clock stands still.
  for (let ring = 0; ring < 5; ring++) await setTimeout(2);
  expect(isOver).toBe(false);
  vi.setSystemTime(42_000);
  expect(await waiting).toBe(true);
});

const node = (name: string, mode: ClusterNode['mode'], running = true) =>
  ({ name, mode, running }) as unknown as ClusterNode;

test('neither the acting node nor the reading nodes are ever boot nodes', () => {
  const [boot, stopped, one, light] = [
    node('node-0', 'boot'),
    node('node-1', 'full', false),
    node('node-2', 'full'),
    node('node-3', 'light'),
  ] as const;
  const nodes = [boot, stopped, one, light];
  const context = { cluster: { nodes } } as unknown as ScenarioContext;
  expect(chosenNode(context, '')).toBe(one);
  expect(otherNodes(nodes, one)).toEqual([light]);
  expect(otherNode(context, '', one)).toBe(light);
  const alone = { cluster: { nodes: [boot] } } as unknown as ScenarioContext;
  expect(() => chosenNode(alone, '')).toThrow('no full or light node of the cluster runs');
});
