import { expect, test } from 'vitest';
import { plannedKills } from '../../../scenarios/steps/storm/drawn.ts';

test('a kill is planned when its node and its time are known before the storm', () => {
  const kill = { kind: 'kill', node: 'node-1' };
  expect(
    plannedKills([
      { id: 's1', when: { atMs: 700 }, request: kill },
      { id: 's2', when: { after: 5, of: 'uploads acknowledged' }, request: kill },
      { id: 's3', when: { atMs: 900 }, request: { kind: 'pause', node: 'node-1' } },
      { id: 's4', when: { atMs: 900 }, request: { kind: 'kill', node: { select: 'any' } } },
    ]),
  ).toEqual([{ id: 's1', node: 'node-1', atMs: 700 }]);
});
