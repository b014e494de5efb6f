import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Without a real node there is nothing to test against; `test/interop/run.ts` says so. */
const withoutBee =
  process.env['SVCNET_BEE_BINARY'] === undefined ? ['test/interop/**', 'test/docker/bee*.test.ts'] : [];

/** Small files that run long lists of scenarios: begun last, as small files are, they would run alone at the end. */
const LONGEST = ['catalogue-process', 'mutations-storms', 'catalogue-embedded', 'mutations', 'radius-growth'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.findIndex((name) => moduleId.endsWith(`/cluster/scenarios/${name}.test.ts`));
      return found === -1 ? LONGEST.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
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
