import { describe, expect, test } from 'vitest';
import { differencesOf, fieldDifferences, OPERATIONS, undocumented } from './compare.ts';
import { DIFFERENCES } from './differences.ts';

const CURE =
  'Each line is a difference between a route (node/api/routes) or its shape (node/api/route/shapes) and the document ' +
  '(test/vectors/http-document.json). Mend it, or add a row with its reason to test/unit/api/document/differences.ts';
const STALE = 'No difference matches these rows of test/unit/api/document/differences.ts: remove them';

const reasonsOf = (difference: string) => DIFFERENCES.filter(([pattern]) => pattern.test(difference));

describe('the node serves in the svc dialect what the document says', () => {
  test.each(OPERATIONS)('$method $path', (operation) => {
    expect(
      differencesOf(operation).filter((found) => reasonsOf(found).length === 0),
      CURE,
    ).toEqual([]);
  });

  test('operations beyond the document are on the list', () => {
    expect(
      undocumented().filter((found) => reasonsOf(found).length === 0),
      CURE,
    ).toEqual([]);
  });
});

test('nothing is on the list that is no difference', () => {
  const found = [...undocumented(), ...OPERATIONS.flatMap(differencesOf)];
  const stale = DIFFERENCES.filter(([pattern]) => !found.some((difference) => pattern.test(difference)));
  expect(
    stale.map(([pattern]) => String(pattern)),
    STALE,
  ).toEqual([]);
});

test.each([
  [{ a: 'string' }, { type: 'object', properties: {} }, ['field a is missing']],
  [
    { a: 'hash' },
    { properties: { a: { type: 'string' } }, required: ['a'] },
    ['field a: string instead of hash'],
  ],
  [{ a: 'integer' }, { properties: { a: { type: 'integer' } } }, ['field a may be missing']],
  [{ a: ['integer'] }, { properties: { a: { type: 'integer' } }, required: ['a'] }, ['field a: no list']],
  [{ '*': 'string' }, { properties: {} }, ['field (whole): names are fixed']],
  [
    { a: 'string' },
    { properties: { a: { type: 'string' }, b: {} }, required: ['a'] },
    ['field b is there, too'],
  ],
])('%j is compared with %j', (wanted, own, differences) => {
  expect(fieldDifferences(wanted as never, own, [])).toEqual(differences);
});
