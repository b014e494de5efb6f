import { afterEach, expect, test, vi } from 'vitest';
import { minimiseLines } from '../../../../../harness/run/replay/minimise.ts';

afterEach(() => void vi.unstubAllEnvs());

test.each([
  ['npx', 'npx svcnet'],
  ['svcnet', 'npm run svcnet --'],
])('the smallest run of a program started by %s is repeated by %s', (event, program) => {
  vi.stubEnv('npm_lifecycle_event', event);
  const size = { nodes: 3, faults: 1, operations: 0, durationMs: 0 };
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
