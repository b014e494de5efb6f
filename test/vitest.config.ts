import { configDefaults, defineConfig } from 'vitest/config';

/** Without a real node there is nothing to test against; `test/interop/run.ts` says so. */
const withoutBee =
  process.env['SVCNET_BEE_BINARY'] === undefined ? ['test/interop/**', 'test/docker/bee*.test.ts'] : [];

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...withoutBee],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Texts name commands as they are typed: the same ones, however the tests were started.
    env: { npm_lifecycle_event: 'test' },
    pool: 'forks',
    maxWorkers: 2,
    coverage: { include: ['node/**', 'chain/**', 'harness/**'] },
  },
});
