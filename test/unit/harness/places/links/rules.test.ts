import { expect, test } from 'vitest';
import {
  ActiveRule,
  changed,
  Direction,
  type LinkRule,
  Rules,
} from '../../../../../harness/places/links/rules.ts';

const rule: LinkRule = {
  between: [[['node-0'], ['node-1', 'node-2']]],
  oneWay: false,
  share: 1,
  seed: '1',
  conditions: { latencyMs: 10 },
};

test('a rule applies to both directions of its links, and to no other link', () => {
  const active = new ActiveRule(rule);
  expect(active.meets(['node-0'], ['node-2'])).toBe(true);
  expect(active.meets(['node-2'], ['node-0'])).toBe(true);
  expect(active.meets(['node-1'], ['node-2'])).toBe(false);
  expect(active.meets(['node-0'], ['node-0'])).toBe(false);
});

test('a rule for one direction does not apply to the other', () => {
  const active = new ActiveRule({ ...rule, oneWay: true });
  expect(active.meets(['node-0'], ['node-1'])).toBe(true);
  expect(active.meets(['node-1'], ['node-0'])).toBe(false);
});

test('an unknown end may be any node, a stranger is none', () => {
  const active = new ActiveRule(rule);
  expect(active.meets(undefined, ['node-0'])).toBe(true);
  expect(active.meets(['node-1'], undefined)).toBe(true);
  expect(active.meets(undefined, ['node-3'])).toBe(false);
  expect(active.meets([], ['node-0'])).toBe(false);
  // Of one process with several nodes.
  expect(active.meets(['node-1', 'node-3'], ['node-0'])).toBe(true);
});

test('a rule of all means every node, whenever it has come, and no stranger', () => {
  const active = new ActiveRule({ ...rule, between: [[['node-0'], ['all']]] });
  expect(active.meets(['node-9'], ['node-0'])).toBe(true);
  expect(active.meets(undefined, ['node-9'])).toBe(true);
  expect(active.meets(['node-0'], ['node-0'])).toBe(false);
  expect(active.meets(['node-8'], ['node-9'])).toBe(false);
  expect(active.meets([], ['node-0'])).toBe(false);
});

test('a share of the links is drawn from the seed, and is the same in both directions', () => {
  const names = Array.from({ length: 60 }, (_, i) => `node-${i}`);
  const pairs = names.flatMap((a, i) => names.slice(i + 1).map((b) => [a, b] as const));
  const chosen = (seed: string) => {
    const active = new ActiveRule({ ...rule, between: [[names, names]], share: 0.2, seed });
    for (const [a, b] of pairs) expect(active.meets([a], [b])).toBe(active.meets([b], [a]));
    return pairs.filter(([a, b]) => active.meets([a], [b]));
  };
  const links = chosen('5');
  expect(links.length / pairs.length).toBeGreaterThan(0.15);
  expect(links.length / pairs.length).toBeLessThan(0.25);
  expect(chosen('5')).toEqual(links);
  expect(chosen('6')).not.toEqual(links);
});

test('each rule counts what it has done, and keeps the count when it is over', () => {
  const rules = new Rules();
  rules.begin('slow', rule);
  rules.begin('stalled', { ...rule, conditions: { stall: true } });
  const direction = new Direction(rules.of(['node-0'], ['node-1']));
  direction.countBytes(100);
  direction.countBytes(50);
  const same = changed(direction, rules.of(['node-0'], ['node-1']));
  expect(same).toBe(direction);
  rules.end('stalled');
  changed(direction, rules.of(['node-0'], ['node-1'])).countBytes(7);
  expect(rules.effect('stalled')).toMatchObject({ 'bytes held back': 150, 'bytes delayed': 0 });
  expect(rules.effect('slow')).toMatchObject({ 'bytes delayed': 157, 'connections delayed': 1 });
  expect(() => rules.effect('other')).toThrow('no rule other');
  expect(() => rules.begin('stalled', rule)).toThrow('known already');
});
