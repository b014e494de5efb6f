import { expect, test, vi } from 'vitest';
import { flavoursNamed } from '../interop/flavours-named.ts';

test.each([
  [
    'flavours and files, also beside a Bee',
    'bee@./bee-2.8.1, ./ant.flavour.yaml,',
    './other',
    ['bee@./bee-2.8.1', './ant.flavour.yaml'],
  ],
  ['Bees by their programs', undefined, './bee-2.8.1,./bee-2.7.1', ['bee@./bee-2.8.1', 'bee@./bee-2.7.1']],
  ['nothing', undefined, undefined, []],
])('interop tests run against what is named: %s', (_what, flavours, programs, expected) => {
  vi.stubEnv('SVCNET_FLAVOURS', flavours);
  vi.stubEnv('SVCNET_BEE_BINARY', programs);
  expect(flavoursNamed()).toEqual(expected);
});
