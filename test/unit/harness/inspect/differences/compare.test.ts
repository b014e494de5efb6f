import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  KNOWN_DIFFERENCES,
  type KnownDifference,
} from '../../../../../harness/conformance/known-differences.ts';
import type { Fact } from '../../../../../harness/inspect/differences/canonical.ts';
import { compareObservations, type Observation } from '../../../../../harness/inspect/differences/compare.ts';

function observed(name: string, facts: readonly Fact[]): Observation {
  return { name, version: name === 'bee' ? '2.8.1-dev' : '2.8.1-svcnet', facts };
}
const http = (what: string, seen: string): Fact => ({ kind: 'http', what, seen });

function compared(left: readonly Fact[], right: readonly Fact[], known: readonly KnownDifference[] = []) {
  const [one] = compareObservations([observed('svc', left), observed('bee', right)], known);
  if (one === undefined) throw new Error('one network was compared');
  return one;
}

test('names the first difference in the order of the first network, with both sides, and counts by kind', () => {
  const { differences, counts } = compared(
    [http('a', '1'), http('b', '1'), { kind: 'money', what: 'x', seen: 'even' }, http('c', '1')],
    [
      { kind: 'money', what: 'x', seen: 'odd' },
      http('c', '1'),
      http('b', '2'),
      http('a', '1'),
      http('d', '1'),
    ],
  );
  expect(differences[0]).toEqual({ kind: 'http', what: 'b', seen: { svc: '1', bee: '2' } });
  expect(differences.at(-1)).toEqual({ kind: 'http', what: 'd', seen: { svc: undefined, bee: '1' } });
  expect(counts).toEqual({ http: 2, money: 1 });
});

test('how often a state of the moment was asked for is no difference, what it looks like is one', () => {
  const shape = (what: string, seen: string): Fact => ({ ifBoth: true, kind: 'shape', what, seen });
  expect(compared([shape('a', '1'), shape('b', '1')], [shape('b', '1')]).differences).toEqual([]);
  expect(compared([shape('b', '1')], [shape('b', '2')]).counts).toEqual({ shape: 1 });
});

test('a detail is shown where the facts differ, and is none of what they are compared by', () => {
  const ends = (seen: string, detail?: string): Fact => ({
    kind: 'money',
    what: 'ends',
    seen,
    ...(detail === undefined ? {} : { detail }),
  });
  expect(compared([ends('differ', '1 of 2')], [ends('differ', '3 of 4')]).differences).toEqual([]);
  const { differences } = compared([ends('agree')], [ends('differ', '3 of 4')]);
  expect(differences.map(({ seen }) => seen)).toEqual([{ svc: 'agree', bee: 'differ: 3 of 4' }]);
});

const KNOWN: KnownDifference = {
  where: /^http .*body\.seen$/,
  isThis: () => true,
  versions: ['2.8.1'],
  kind: 'version',
  why: 'counts otherwise',
};

test('what is known is accepted by its reason, for its versions alone', () => {
  const left = [http('tag body.seen', '1'), http('tag body.sent', '1')];
  const right = [http('tag body.seen', '2'), http('tag body.sent', '2')];
  const { counts, accepted, differences } = compared(left, right, [KNOWN]);
  expect(counts).toEqual({ http: 1 });
  expect(accepted).toEqual({ 'version: counts otherwise': 1 });
  expect(differences.map((one) => one.accepted)).toEqual(['version: counts otherwise', undefined]);
  // Our version is that of the dialect.
  expect(compared(left, right, [{ ...KNOWN, versions: ['2.7.1'] }]).counts).toEqual({ http: 2 });
});

test('what is known of two sights is known of these alone, whichever network is the first', () => {
  const row: KnownDifference = {
    ...KNOWN,
    where: /→ status$/,
    isThis: (theirs, other) => theirs === '200' && other === '500',
  };
  const [bad, good] = [[http('x → status', '500')], [http('x → status', '200')]];
  expect(compared(bad, good, [row]).counts).toEqual({});
  expect(compared(good, bad, [row]).counts).toEqual({ http: 1 });
  const [turned] = compareObservations([observed('bee', good), observed('svc', bad)], [row]);
  expect(turned?.accepted).toEqual({ 'version: counts otherwise': 1 });
  const bees = [observed('bee', bad), { ...observed('bee', good), name: 'bee (2)' }] as const;
  expect(compareObservations(bees, [row])[0]?.counts).toEqual({});
});

const SHAPE = '{ block: number, minimumValidityBlocks: number, totalAmount: string }';

test.each<[fact: string, other: string | undefined, theirs: string | undefined, isKnown: boolean]>([
  ['shape x: node-0 GET /chainstate → body', SHAPE, '{ block: number, totalAmount: string }', true],
  ['shape x: node-0 GET /chainstate → body', SHAPE, '{ totalAmount: string }', false],
  ['shape x: node-0 GET /chainstate → body', '{ block: number }', '{ totalAmount: string }', false],
  ['http x: node-0 DELETE /tags/7 → content-type', undefined, 'application/json; charset=utf-8', true],
  ['http x: node-0 DELETE /tags/7 → content-type', undefined, 'text/plain', false],
  ['http x: node-0 GET /stamps → body.stamps[0].utilizationRatio', '0.5', undefined, true],
  ['http x: node-0 GET /stamps → body.stamps[0].utilizationRatio', '0.5', '0.25', false],
])('%s: %s here and %s in Bee 2.7.1 is accepted: %s', (fact, other, theirs, isKnown) => {
  const row = KNOWN_DIFFERENCES.find(({ where, versions }) => where.test(fact) && versions.includes('2.7.1'));
  expect(row?.isThis(theirs, other) ?? false).toBe(isKnown);
});

test('of an answer of another status, or of none, the status alone is told', () => {
  const answer = (status: string) => [
    http('x → status', status),
    http('x → body', status),
    http('y → body', status),
  ];
  const { differences } = compared(answer('200'), answer('500'));
  expect(differences.map(({ what }) => what)).toEqual(['x → status', 'y → body']);
  expect(compared(answer('200'), []).differences.map(({ what }) => what)).toEqual(['x → status', 'y → body']);
});

const facts = fc.uniqueArray(
  fc.record<Fact>({
    kind: fc.constantFrom('http', 'placement', 'money'),
    what: fc.string(),
    seen: fc.string(),
  }),
  { selector: ({ kind, what }) => `${kind} ${what}` },
);

test('equal facts in any order are no difference, and differences are the same from either side', () => {
  fc.assert(
    fc.property(facts, facts, (left, right) => {
      expect(compared(left, left.toReversed()).differences).toEqual([]);
      expect(compared(left, right).counts).toEqual(compared(right, left).counts);
    }),
  );
});
