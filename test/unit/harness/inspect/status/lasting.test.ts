import { expect, test } from 'vitest';
import type { StatusDocument } from '../../../../../harness/inspect/status/document.ts';
import { lasting, mayPass } from '../../../../../harness/inspect/status/lasting.ts';

interface Look {
  readonly units?: string;
  readonly counts?: string;
  readonly unheard?: readonly string[];
}

function look({ units = '100', counts, unheard = [] }: Look): StatusDocument {
  const debt = { debtor: 'node-0', creditor: 'node-1', units };
  return {
    debts: [counts === undefined ? debt : { ...debt, creditorCounts: counts }],
    nodes: [{ name: 'node-0', unheard }],
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
])('of %s, what lasts is told', (_what, now, before, told) => {
  expect(lasting(look(now), before && look(before))).toEqual(look(told));
});

test('only differences and pings without an answer need a second look', () => {
  expect(mayPass(look({}))).toBe(false);
  expect(mayPass(look({ counts: '1' }))).toBe(true);
  expect(mayPass(look({ unheard: ['node-1'] }))).toBe(true);
});
