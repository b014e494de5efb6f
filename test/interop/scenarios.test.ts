/** The acting node is first one of ours, then a Bee. */

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import type { Scenario } from '../../harness/run/scenario.ts';
import act from '../../scenarios/act.ts';
import feed from '../../scenarios/feed.ts';
import fileRetrieval from '../../scenarios/file-retrieval.ts';
import gsoc from '../../scenarios/gsoc.ts';
import manifest from '../../scenarios/manifest.ts';
import pss from '../../scenarios/pss.ts';
import redundancy from '../../scenarios/redundancy.ts';
import retrieval from '../../scenarios/retrieval.ts';
import soc from '../../scenarios/soc.ts';
import tagsAndPins from '../../scenarios/tags-and-pins.ts';
import upload from '../../scenarios/upload.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { OTHERS, of, startMixed } from './kit.ts';

/** On a loaded machine. */
const ROW_MS = 900_000;

interface Row {
  readonly scenario: Scenario;
  /** Less than by default: credit is the public network's. */
  readonly set?: Readonly<Record<string, string>>;
}

const ROWS: readonly Row[] = [
  { scenario: soc },
  { scenario: feed, set: { updates: '3' } },
  { scenario: act },
  { scenario: pss },
  { scenario: gsoc },
  { scenario: manifest },
  { scenario: fileRetrieval, set: { size: '300KiB', uploaders: '5', full: 'true' } },
  { scenario: upload, set: { sizes: '4096,256KiB', count: '4' } },
  { scenario: retrieval, set: { sizes: '4096,256KiB', count: '2' } },
  { scenario: redundancy },
  { scenario: tagsAndPins, set: { size: '1MiB', chunks: '200' } },
];

describe.each(OTHERS)('$title', (side) => {
  const folder = temporaryFolder('svcnet-interop');
  const stateDir = join(folder, 'state');
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 3, others: 2, seed: 86, stateDir });
  });
  afterAll(() => net.stop());

  const roles = [
    { acts: 'svc', answers: side.flavour },
    { acts: side.flavour, answers: 'svc' },
  ] as const;
  const cases = ROWS.flatMap(({ scenario, set = {} }) =>
    roles.map((role) => ({ ...role, scenario, set, name: scenario.name })),
  );

  test.each(cases)(
    '$name passes when $acts acts and $answers answers',
    async ({ scenario, set, acts, answers }) => {
      const [node, other] = [of(acts, net), of(answers, net)].map(([first]) => String(first?.name));
      const chosen = { ...set, node, receiver: other, listener: other, reader: other, keeper: other };
      const known = Object.entries(chosen).filter(([key]) => Object.hasOwn(scenario.parameters, key));
      const result = await runScenarios({
        planned: planScenarios([scenario], new Map(known as [string, string][])),
        attachTo: net.name,
        seed: acts === 'svc' ? 1n : 2n,
        stateDir,
        report: join(folder, `${scenario.name} ${acts}`),
        name: scenario.name,
        command: 'npm run test:interop',
        signal: new AbortController().signal,
      });
      const [outcome] = result.scenarios;
      expect(outcome?.error).toBeUndefined();
      expect(outcome?.assertions.filter(({ passed }) => !passed)).toEqual([]);
      expect(result.passed).toBe(true);
    },
    ROW_MS,
  );
});
