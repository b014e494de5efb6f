import { expect, test } from 'vitest';
import { referencePages } from '../../reference/pages.ts';
import { files, read } from './repository.ts';

const pages = await referencePages();

test.each([...pages])('docs/reference/%s is up to date; npm run reference writes it', (name, text) => {
  expect(read(`docs/reference/${name}`)).toBe(text);
});

const BY_HAND = [
  'README.md',
  'access.md',
  'bee-reports.md',
  'boards.md',
  'conformance.md',
  'design.md',
  'fault-effects.md',
  'glossary.md',
  'growth.md',
  'handshake-without-record.md',
  'inputs.md',
  'limits.md',
  'load.md',
  'storms.md',
  'test-runners.md',
  'traces.md',
  'troubleshooting.md',
  'wire-conformance.md',
];

test('no page remains of a table that no longer exists', () => {
  const written = files()
    .filter((path) => path.startsWith('docs/reference/'))
    .map((path) => path.replace('docs/reference/', ''));
  expect(written.toSorted()).toEqual([...pages.keys(), ...BY_HAND].toSorted());
});

test('the page of the library has no member that the published types leave out', () => {
  expect(pages.get('api.md')).toContain('class ClusterNode');
  expect(pages.get('api.md')).not.toContain('@internal');
});
