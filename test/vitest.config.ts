import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Without a real node there is nothing to test against; `test/interop/run.ts` says so. */
const withoutBee =
  process.env['SVCNET_BEE_BINARY'] === undefined ? ['test/interop/**', 'test/docker/bee*.test.ts'] : [];

/**
 * Large files begin first by default. Files that run whole lists of scenarios are the smallest and take minutes: begun
 * last, they would run alone at the end.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => moduleId.includes('/test/cluster/scenarios/');
    return [...sorted.filter(isLong).reverse(), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...withoutBee],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Texts name commands as they are typed: the same ones, however the tests were started.
    env: { npm_lifecycle_event: 'test' },
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    maxWorkers: 2,
    coverage: { include: ['node/**', 'chain/**', 'harness/**'] },
  },
});
