import { expect, test } from 'vitest';
import { lastOf } from '../../../../../harness/cluster/growth/upgrade.ts';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';

test('what a node was under a flavour: now, on the way, or in the group that it began with', () => {
  const nodes = [{ options: { 'cache-capacity': 77 } }, { mode: 'light' as const }];
  const definition = parseDefinition({ nodes }, 'a test');
  const [svc] = definition.nodes;
  if (svc === undefined) throw new TypeError('it has a group');
  const bee = { ...svc, flavour: 'bee' as const, options: {} };
  const changed = { ...svc, options: { 'cache-capacity': 78 } };
  const upgraded = { ...definition, upgraded: { 0: bee } };
  expect(lastOf(definition, 0, 'svc')).toEqual(svc);
  expect(lastOf({ ...upgraded, formerly: { 0: [changed] } }, 0, 'svc')).toEqual(changed);
  // As from a snapshot.
  expect(lastOf(upgraded, 0, 'svc')).toEqual(svc);
  expect(lastOf(upgraded, 0, 'bee')).toEqual(bee);
  expect(lastOf(definition, 0, 'bee')).toBeUndefined();
});
