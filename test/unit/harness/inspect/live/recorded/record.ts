/** The record of a small run, as a run would have written it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SeriesId } from '../../../../../../harness/metrics/series.ts';
import { SeriesFile } from '../../../../../../harness/metrics/series-file.ts';
import { runResult, scenarioResult } from '../../../report/results.ts';

export const BEGAN = 1_700_000_000_000;
const NAMES = ['node-0', 'node-1', 'node-2'];

/** Ten seconds: node-2 joins at 5, node-1 is killed from 2.2 to 4.7, node-0 is slow from 6 to 7 and stopped from 8.5 to 9, a condition fails at 8. */
export async function writeRecord(folder: string): Promise<void> {
  const fault = (id: string, kind: string, node: string, [at, endAt]: readonly [number, number]) => {
    const text = `${kind}s ${node}`;
    return { id, kind, request: {}, text, targets: [node], at: BEGAN + at, endAt: BEGAN + endAt, effect: {} };
  };
  const faults = [fault('f1', 'kill', 'node-1', [2200, 4700]), fault('f2', 'link', 'node-0', [6000, 7000])];
  writeFileSync(
    join(folder, 'faults.jsonl'),
    faults
      .flatMap((one) => ['begin', 'end'].map((event) => ({ scenario: 'smoke', began: BEGAN, event, ...one })))
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  const nodes = NAMES.map((name, i) => ({
    name,
    overlay: `${i}`.repeat(64),
    ethereum: `${i}`.repeat(40),
    flavour: 'svc',
  }));
  writeFileSync(join(folder, 'cluster.json'), JSON.stringify({ name: 'net', nodes }));
  const up = (node: string): SeriesId => ({
    name: 'testbed_node_up',
    labels: { node, group: 'svc-full' },
    kind: 'gauge',
  });
  const reserve = (node: string): SeriesId => ({
    node,
    name: 'localstore_reserve_size',
    labels: {},
    kind: 'gauge',
  });
  const uploads: SeriesId = {
    name: 'testbed_op_total',
    labels: { op: 'upload file', result: 'ok' },
    kind: 'counter',
  };
  const ids = [...NAMES.map(up), ...NAMES.map(reserve), uploads];
  const file = new SeriesFile(folder);
  for (let second = 0; second < 10; second++) {
    const there = NAMES.slice(0, second < 5 ? 2 : 3);
    const isUp = (name: string) => name !== 'node-1' || second < 3 || second > 4;
    await file.append(
      {
        at: BEGAN + second * 1000,
        values: new Map([
          ...there.map((name, i) => [i, isUp(name) ? 1 : 0] as const),
          ...there.filter(isUp).map((name) => [3 + NAMES.indexOf(name), 100 * second] as const),
          [6, 2 * second],
        ]),
      },
      ids,
    );
  }
  mkdirSync(join(folder, 'logs'));
  writeFileSync(
    join(folder, 'logs', 'node-1.log'),
    [1, 3, 9]
      .map(
        (s) => `{"level":"info","time":"${new Date(BEGAN + s * 1000).toISOString()}","msg":"second ${s}"}\n`,
      )
      .join(''),
  );
  const scenario = scenarioResult({
    result: 'failed',
    startedAt: BEGAN + 100,
    clusterStartedAt: BEGAN,
    durationMs: 9437,
    assertions: [
      { name: 'all is there', passed: false, observed: '2 of 3', expected: '3 of 3', at: BEGAN + 8000 },
    ],
  });
  const stopped = {
    kind: 'fault' as const,
    at: BEGAN + 8500,
    endAt: BEGAN + 9000,
    part: 'node-0',
    text: 'node-0 was stopped',
  };
  const step = { kind: 'phase' as const, at: BEGAN + 1000, endAt: BEGAN + 9000, text: 'upload · 18 files' };
  const { report: _report, ...result } = runResult([scenario], {
    events: [step, stopped],
    driver: 'simulated',
  });
  writeFileSync(join(folder, 'report.json'), JSON.stringify({ schema: 2, ...result }));
}
