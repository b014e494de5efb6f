import { configDefaults, defineConfig } from 'vitest/config';
import { flavoursNamed } from './interop/flavours-named.ts';
import { LongestFirst } from './suite/order.ts';

/** Without another implementation there is nothing to test against; `test/interop/run.ts` says so. */
const withoutOthers = [
  ...(flavoursNamed().length === 0 ? ['test/interop/**'] : []),
  ...(process.env['SVCNET_BEE_BINARY'] === undefined ? ['test/docker/bee*.test.ts'] : []),
];

/** Cluster tests whose files are many and short, so that to load all modules again for each file is much of their time. */
const SHARING = [
  'test/cluster/{api,chain,harness,node,official-client,onchain,p2p,postage,store,swap,ui}/**/*.test.ts',
  // That one judges by what its whole process has open.
  'test/cluster/platform/!(embedded).test.ts',
];

/** What all unit tests together run at the least, in whole per cents. Most of `chain` and of commands runs in clusters. */
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
    // They end what hangs, and nothing that is only slow: how long work takes is the machine's affair.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    // Texts name commands as they are typed: the same ones, however the tests were started.
    env: { npm_lifecycle_event: 'test' },
    pool: 'forks',
    // As Node.js runs the sources everywhere else: an import costs nothing when it is used, and compiled code is kept.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/suite/unfinished.ts'],
    coverage: {
      include: ['{formats,node,chain,harness}/**/*.ts'],
      // Compiled to WebAssembly, whose lines are not counted.
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
          // To load all modules again for each file takes longer than the tests themselves.
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
          // The same.
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
