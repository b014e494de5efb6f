import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FaultLine } from '../../../harness/cluster/faults/active.ts';
import { hadEffect } from '../../../harness/cluster/faults/fault.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { signaturesOf } from '../../../harness/run/replay/signature.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-storm-messages');
const DRAWN = {
  duration: '5s',
  faults: 'message',
  'fault-every': '300ms',
  'fault-for': '2s',
  sizes: '4096,30000',
  pace: '500ms',
};
const FAULTS_LEAST = 10;

async function storm(report: string, more: Readonly<Record<string, string>> = {}) {
  const { scenarios } = await runScenarios({
    planned: planScenarios([await loadScenario('storm')], new Map(Object.entries({ ...DRAWN, ...more }))),
    seed: 21n,
    nodes: [{ count: 4 }],
    definition: { driver: 'simulated' },
    stateDir: join(folder, 'state'),
    report: join(folder, report),
    name: `run-${report}`,
    command: 'none',
    signal: new AbortController().signal,
  });
  const lines = readFileSync(join(folder, report, 'faults.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  const ended = lines.map((line) => JSON.parse(line) as FaultLine).filter(({ event }) => event === 'end');
  return { scenario: scenarios[0], failures: signaturesOf({ scenarios }), ended };
}

test('a storm stands faults of messages, the same again for the same seed and from its schedule', async () => {
  const first = await storm('first');
  expect(first.failures).toEqual([]);
  expect(first.scenario?.result).toBe('passed');
  expect(first.ended.length).toBeGreaterThanOrEqual(FAULTS_LEAST);
  expect(new Set(first.ended.map(({ kind }) => kind))).toEqual(new Set(['message']));
  expect(first.ended.filter(hadEffect).length).toBeGreaterThan(first.ended.length / 2);
  const { scenario } = await storm('second');
  expect(scenario?.digest).toMatch(/^[\da-f]{64}$/);
  expect(scenario?.digest).toBe(first.scenario?.digest);
  const again = await storm('again', { schedule: join(folder, 'first', 'schedule.json') });
  expect(again.failures).toEqual([]);
  const requests = (ended: readonly FaultLine[]) =>
    ended.map(({ request }) => JSON.stringify(request)).sort();
  expect(requests(again.ended)).toEqual(requests(first.ended));
});
