import { expect, test } from 'vitest';
import { readDefinitionFile } from '../../../../harness/cluster/plan/document/read.ts';
import { readChecks } from '../../../../harness/run/checks-file.ts';

const read = (checks: unknown) => readChecks({ checks }, 'checks.yaml');

test('a check becomes a scenario with its options and its timeout', async () => {
  const { chosen, unknown } = await read({
    'ci-pushsync-chunks': {
      type: 'pushsync',
      timeout: '5m',
      options: { mode: 'chunks', 'chunks-per-node': 3, 'postage-depth': 21, 'retry-delay': '15s' },
    },
    'ci-manifest': { type: 'manifest', options: { 'files-in-collection': 10 } },
    'ci-smoke': { type: 'smoke', options: { 'file-sizes': [3072, 30720] } },
    'ci-connectivity': { type: 'full-connectivity', options: null },
  });
  expect(unknown).toEqual([]);
  expect(chosen.map(({ scenario: { name }, set }) => [name, set])).toEqual([
    ['pushsync', { mode: 'chunks', 'chunks-per-node': '3', 'retry-delay': '15s' }],
    ['manifest', { versions: 'v2', files: '10' }],
    ['retrieval', { sizes: '3072,30720' }],
    ['full-connectivity', {}],
  ]);
  expect(chosen[0]?.scenario.timeoutMs).toBe(300_000);
});

test('an option of theirs that has a different name here, or several, sets all of ours', async () => {
  const { chosen, unknown } = await read({
    a: { type: 'load', options: { 'content-size': 5_000_000 } },
    b: { type: 'feed-v1', options: { 'n-updates': 2 } },
    c: {
      type: 'file-retrieval',
      options: { 'file-name': 'data', 'files-per-node': 3, 'upload-node-count': 2 },
    },
  });
  expect(unknown).toEqual([]);
  expect(chosen.map(({ set }) => set)).toEqual([
    { 'min-file-size': '5000000', 'max-file-size': '5000000' },
    { versions: 'v1', updates: '2' },
    { file: 'data', count: '3', uploaders: '2' },
  ]);
});

test('every option of the example is known', async () => {
  const { chosen, unknown } = await readChecks(
    await readDefinitionFile('docs/checks.yaml', '--checks'),
    'docs',
  );
  expect(unknown).toEqual([]);
  expect(chosen.length).toBeGreaterThan(5);
});

test('what does not exist here is named, and the rest is run', async () => {
  const { chosen, unknown } = await read({
    a: { type: 'pingpnog' },
    b: { type: 'pullsync', options: { 'chunks-per-node': 1, 'exclude-groups': ['light'] } },
  });
  expect(chosen.map(({ scenario }) => scenario.name)).toEqual(['pullsync']);
  expect(unknown).toEqual([
    expect.stringMatching(/^a: no check of type 'pingpnog'.*pingpong/),
    expect.stringMatching(/^b: pullsync has no option 'exclude-groups'/),
  ]);
});

test.each([
  [
    { a: { type: 'pushsync', options: { 'chunks-per-node': 'many' } } },
    /checks\.yaml: a: pushsync: chunks-per-node/,
  ],
  [{ a: { type: 'pushsync', timeout: '5 minutes' } }, /a: timeout: got '5 minutes'/],
  [{ a: { options: {} } }, /checks\.a\.type/],
  [undefined, /checks/],
])('%j is refused with its position', async (checks, message) => {
  await expect(read(checks)).rejects.toThrow(message);
});
