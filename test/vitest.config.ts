import { configDefaults, defineConfig } from 'vitest/config';
import { flavoursNamed } from './interop/flavours-named.ts';
import { LongestFirst } from './suite/order.ts';

/** `test/interop/run.ts` says that there is nothing to test against. */
const withoutOthers = [
  ...(flavoursNamed().length === 0 ? ['test/interop/**'] : []),
  ...(process.env['SVCNET_BEE_BINARY'] === undefined ? ['test/docker/bee*.test.ts'] : []),
];

/** Many and short: loading all modules again for each file would be much of their time. */
const SHARING = [
  'test/cluster/{api,attached,chain,conformance,faults,harness,node,official-client}/**/*.test.ts',
  'test/cluster/{onchain,p2p,postage,store,swap,ui}/**/*.test.ts',
  // Without the longest, which begin first.
  'test/cluster/growth/!(scale|upgrade).test.ts',
  'test/cluster/scenarios/!(catalogue-process|mutations|run).test.ts',
  'test/cluster/simulated/!(catalogue).test.ts',
  // It judges by what its whole process has open.
  'test/cluster/platform/!(embedded).test.ts',
];

/** Of all unit tests, in whole per cents. Most of `chain` and of commands runs in clusters. */
const FLOORS = {
  lines: 71,
  branches: 65,
  'node/**': { lines: 93, branches: 89 },
  'harness/**': { lines: 51, branches: 49 },
  'formats/**': { lines: 98, branches: 95 },
  'chain/**': { lines: 38, branches: 21 },
};

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    exclude: [...configDefaults.exclude, ...withoutOthers],
    globalSetup: './test/compiled.ts',
    setupFiles: './test/suite/processor-setup.ts',
    // They end what hangs, not what is slow: how long work takes is the machine's affair.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    // Texts name commands as typed, however the tests were started.
    env: { npm_lifecycle_event: 'test' },
    pool: 'forks',
    // As everywhere else: imports cost nothing when used, and compiled code is kept.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/suite/unfinished.ts'],
    coverage: {
      include: ['{formats,node,chain,harness}/**/*.ts'],
      // Lines of WebAssembly are not counted.
      exclude: ['formats/crypto/*/assembly/**', '**/*.gen.ts'],
      reporter: ['text-summary'],
      thresholds: FLOORS,
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          // Loading all modules again for each file takes longer than the tests.
          isolate: false,
          restoreMocks: true,
          unstubEnvs: true,
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: SHARING,
          setupFiles: './test/suite/nothing-left.ts',
          isolate: false,
          restoreMocks: true,
          unstubEnvs: true,
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['test/!(unit)/**/*.test.ts'],
          exclude: SHARING,
        },
      },
    ],
  },
});
