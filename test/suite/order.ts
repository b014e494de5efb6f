import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** More than half a minute of a processor, or a minute of waiting: begun last they would be waited for alone. */
export const LONG = [
  'test/cluster/scenarios/mutations.test.ts',
  'test/storm/storm.test.ts',
  // These two mostly wait, beside the two that compute.
  'test/cluster/diff/diff.test.ts',
  'test/cluster/flavours/flavour-file.test.ts',
  'test/cluster/growth/upgrade.test.ts',
  'test/cluster/growth/scale.test.ts',
  'test/cluster/scenarios/catalogue-process.test.ts',
  'test/cluster/simulated/catalogue.test.ts',
  'test/cluster/scenarios/run.test.ts',
  'test/cluster/harness/snapshots.test.ts',
  'test/cluster/harness/embedded.test.ts',
  'test/cluster/simulated/run.test.ts',
  'test/storm/simulated.test.ts',
  'test/cluster/replay/planted.test.ts',
  'test/cluster/library/readme-commands.test.ts',
] as const;

/** @returns less for files that begin earlier; the same for all that are not long */
export function rankOf(path: string): number {
  const index = LONG.findIndex((file) => path.endsWith(`/${file}`));
  return index === -1 ? LONG.length : index;
}

/** Then as vitest orders: the largest first if no earlier run is known. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a.moduleId) - rankOf(b.moduleId));
  }
}
