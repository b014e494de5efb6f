import { expect, test } from 'vitest';
import type { StatusDocument } from '../../../../../harness/inspect/status/document.ts';
import { lasting, mayPass } from '../../../../../harness/inspect/status/lasting.ts';

interface Look {
  readonly units?: string;
  readonly counts?: string;
  readonly unheard?: readonly string[];
  readonly lacking?: readonly string[];
}

function look({ units = '100', counts, unheard = [], lacking = [] }: Look): StatusDocument {
  const debt = { debtor: 'node-0', creditor: 'node-1', units };
  return {
    debts: [counts === undefined ? debt : { ...debt, creditorCounts: counts }],
    nodes: [{ name: 'node-0', unheard, lacking }],
    problems: ['node-1 is paused', ...lacking.map((lack) => `${lack}: fault f1 is active`)],
  } as unknown as StatusDocument;
}

test.each<[string, Look, Look | undefined, Look]>([
  [
    'accounts that differ by as much as before',
    { units: '100', counts: '90' },
    { units: '50', counts: '40' },
    { units: '100', counts: '90' },
  ],
  [
    'accounts that differed otherwise',
    { units: '100', counts: '90' },
    { units: '100', counts: '80' },
    { units: '100' },
  ],
  ['accounts that were equal', { units: '100', counts: '90' }, { units: '100' }, { units: '100' }],
  ['accounts at the first look', { units: '100', counts: '90' }, undefined, { units: '100' }],
  [
    'a ping that fails again, and a new one',
    { unheard: ['node-1', 'node-2'] },
    { unheard: ['node-1'] },
    { unheard: ['node-1'] },
  ],
  [
    'what a node lacks as before, and more of it',
    { lacking: ['node-0 is warming up', 'node-0 is not connected to node-1'] },
    { lacking: ['node-0 is warming up'] },
    { lacking: ['node-0 is warming up'] },
  ],
])('of %s, what lasts is told', (_what, now, before, told) => {
  expect(lasting(look(now), before && look(before))).toEqual(look(told));
});

test('only differences, pings without an answer and what nodes lack need a second look', () => {
  expect(mayPass(look({}))).toBe(false);
  expect(mayPass(look({ counts: '1' }))).toBe(true);
  expect(mayPass(look({ unheard: ['node-1'] }))).toBe(true);
  expect(mayPass(look({ lacking: ['node-0 is warming up'] }))).toBe(true);
});
