/** Unmodified Bees show these bugs once a single message between them is lost. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import bee5208 from '../../scenarios/known/bee-5208.ts';
import bee5400 from '../../scenarios/known/bee-5400.ts';
import { SILENT_CLUSTER } from '../../scenarios/steps/silent-neighbourhood.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { aBee, describeOthers } from './kit.ts';

const TEST_MS = 900_000;

const folder = temporaryFolder('svcnet-interop-gallery');

describeOthers(aBee, '$title', (side) => {
  test.each([bee5400, bee5208])(
    'deliveries that are lost on the way show $name',
    async (scenario) => {
      const { nodes: count, neighbourhoods, options } = SILENT_CLUSTER;
      const { scenarios } = await runScenarios({
        planned: planScenarios([scenario], new Map([['by', 'message']])),
        nodes: [{ ...side.group, count, neighbourhoods: [...neighbourhoods], options }],
        exactNodes: true,
        seed: 7n,
        stateDir: join(folder, 'state'),
        report: join(folder, `${scenario.name}-${side.title}`),
        name: `${scenario.name}-${side.title}`,
        command: 'npm run test:interop',
        signal: new AbortController().signal,
      });
      const [outcome] = scenarios;
      expect(outcome?.error).toBeUndefined();
      expect(outcome?.assertions.map(({ name: condition, passed }) => [condition, passed])).toEqual([
        ['bee: while its node answers, its neighbourhood takes a chunk', true],
        ['bee: what is acknowledged is in its neighbourhood', false],
      ]);
      const lines = readFileSync(join(folder, `${scenario.name}-${side.title}`, 'faults.jsonl'), 'utf8')
        .trimEnd()
        .split('\n');
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
        event: 'end',
        effect: { 'messages dropped': expect.toSatisfy((count: number) => count > 0) as number },
      });
    },
    TEST_MS,
  );
});
