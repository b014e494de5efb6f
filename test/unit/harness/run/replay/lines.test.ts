import { afterEach, expect, test, vi } from 'vitest';
import { type Case, withOperations } from '../../../../../harness/run/replay/case.ts';
import { minimiseLines, operationsText, progressText } from '../../../../../harness/run/replay/minimise.ts';

afterEach(() => void vi.unstubAllEnvs());

test.each([
  ['npx', 'npx svcnet'],
  ['svcnet', 'npm run svcnet --'],
])('the smallest run of a program started by %s is repeated by %s', (event, program) => {
  vi.stubEnv('npm_lifecycle_event', event);
  const size = { nodes: 3, faults: 1, operations: 0, uploadedBytes: 0, durationMs: 0 };
  const lines = minimiseLines({
    folder: 'run',
    failure: 'storm: false',
    from: size,
    to: size,
    parameters: {},
    runs: 2,
    stopped: null,
    failed: 1,
    of: 1,
    out: 'out',
    scenario: 'out/smallest.ts',
  });
  expect(lines.at(-1)).toBe(`  again        ${program} run out/smallest.ts`);
});

test('what is tried and what is left count the same operations', () => {
  const operations = [
    { do: 'upload', n: 0, size: 1 },
    { do: 'upload', n: 1, size: 1 },
    { do: 'download', upload: 1 },
    { do: 'download', upload: 0 },
  ];
  const given = { recipe: {}, schedule: { faults: [], operations } } as unknown as Case;
  const kept = given.schedule?.operations.slice(1) ?? [];
  const trying = operationsText(withOperations(given, kept));
  expect(trying).toBe('2 scheduled operations');
  const size = { nodes: 2, faults: 0, uploadedBytes: 0, durationMs: 0 };
  const from = { ...size, operations: 4 };
  const told = { runs: 3, attempts: 60, from, to: { ...size, operations: 2 }, trying, last: 'same' } as const;
  expect(progressText(told)).toMatch(
    /^3 of 60 runs: 2 of 2 nodes, 2 of 4 scheduled operations; tried 2 scheduled operations: /,
  );
});
