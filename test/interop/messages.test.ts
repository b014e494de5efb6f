/** Messages between Bees that are lost, repeated and changed: what each Bee makes of them, as `docs/tap.md` says. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import changedChunk from '../../scenarios/changed-chunk.ts';
import lostReceipt from '../../scenarios/lost-receipt.ts';
import repeatedCheque from '../../scenarios/repeated-cheque.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { BEES } from './kit.ts';

const TEST_MS = 900_000;
/** Conditions that each checks at least. */
const SCENARIOS = [
  { scenario: lostReceipt, conditions: 5 },
  { scenario: changedChunk, conditions: 11 },
  { scenario: repeatedCheque, conditions: 4 },
] as const;

describe.each(BEES)('$name', ({ name, binary }) => {
  const folder = temporaryFolder('svcnet-interop-messages');

  test.each(SCENARIOS)(
    '$scenario.name passes among Bees alone',
    async ({ scenario, conditions }) => {
      const result = await runScenarios({
        planned: planScenarios([scenario], new Map()),
        nodes: [
          {
            flavour: 'bee',
            binary,
            count: 4,
            neighbourhoods: ['0', '0', '1', '1'],
            options: { 'minimum-storage-radius': 1 },
          },
        ],
        exactNodes: true,
        seed: 7n,
        stateDir: join(folder, 'state'),
        report: join(folder, scenario.name),
        name: `${name} ${scenario.name}`,
        command: 'npm run test:interop',
        signal: new AbortController().signal,
      });
      const [outcome] = result.scenarios;
      expect(outcome?.error).toBeUndefined();
      expect(outcome?.unchecked ?? []).toEqual([]);
      expect(outcome?.assertions.filter(({ passed }) => !passed)).toEqual([]);
      expect(outcome?.assertions.length).toBeGreaterThanOrEqual(conditions);
      expect(result.passed).toBe(true);
    },
    TEST_MS,
  );
});
