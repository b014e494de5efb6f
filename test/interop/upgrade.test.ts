/**
 * Bees get another version under load, one after the other, and their old one again: alone, if the versions do not talk to
 * each other, and beside our nodes, which talk to both. They begin with the last program and get the first.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import rollingUpgrade from '../../scenarios/rolling-upgrade.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { aBee, describeOthers, OTHERS } from './kit.ts';

const ROLLING_SECONDS = 180;
const TEST_MS = 900_000;

const folder = temporaryFolder('svcnet-interop-upgrade');
/** A single Bee is both. */
const BEES = OTHERS.filter((side) => aBee(side) === undefined);
const [before, after] = [BEES.at(-1), BEES[0]];
const first: typeof aBee = (side) =>
  aBee(side) ?? (side === after ? undefined : 'the Bee that is named first is the one that others become');

describeOthers(first, '$title', ({ binary = '' }) => {
  test.each([
    // Uploads to the first and from the last find nobody.
    { of: 'five Bees', own: 0, bees: 5, available: '0' },
    { of: 'two Bees beside three nodes of ours', own: 3, bees: 2, available: '0.9' },
  ])(
    'the versions of $of go there and back, each within three minutes, and what was acknowledged is readable',
    async ({ own, bees, available }) => {
      const { scenarios } = await runScenarios({
        planned: planScenarios(
          [rollingUpgrade],
          new Map(Object.entries({ binary, load: '5', 'min-available': available })),
        ),
        nodes: [
          ...(own === 0 ? [] : [{ count: own }]),
          ...(before === undefined ? [] : [{ ...before.group, count: bees }]),
        ],
        definition: { credit: 'network' },
        seed: 361n,
        stateDir: join(folder, 'state'),
        report: join(folder, `${bees} Bees`),
        name: `upgrade-${bees}`,
        command: 'npm run test:interop',
        signal: new AbortController().signal,
      });
      const [result] = scenarios;
      expect(result?.error).toBeUndefined();
      expect(result?.assertions.filter(({ passed }) => !passed)).toEqual([]);
      for (const { name, of, value } of result?.figures ?? []) {
        console.log(`${name} (${of}): ${value} s`);
        expect(Number(value), name).toBeLessThan(ROLLING_SECONDS);
      }
      expect(result?.figures).toHaveLength(2);
    },
    TEST_MS,
  );
});
