import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { createRecorder } from '../../../../../harness/metrics/recorder.ts';
import type { RunResult, ScenarioResult } from '../../../../../harness/report/result.ts';
import { runResult, scenarioResult } from '../results.ts';

const START_MS = Date.parse('2026-01-01T00:00:00.000Z');

export interface Made {
  /** Seconds since the first run of all. */
  readonly at?: number;
  /** Operations per second, evenly. */
  readonly rate?: number;
  readonly seconds?: number;
  /** Of the n-th operation, ms. */
  readonly latencyMs?: (n: number) => number;
  /** Every n-th operation fails; default: none. */
  readonly failing?: number;
  readonly scenario?: string;
  readonly parameters?: ScenarioResult['parameters'];
  readonly costs?: RunResult['costs'];
  readonly result?: ScenarioResult['result'];
}

export function madeRun(made: Made = {}): RunResult {
  const { at = 0, rate = 20, seconds = 30, latencyMs = (n) => 10 + (n % 7), failing } = made;
  const recorder = createRecorder(MACHINE_CLOCK, () => 'unknown');
  const startMs = START_MS + at * 1000;
  for (let n = 0; n < rate * seconds; n++) {
    const endMs = startMs + (1000 * n) / rate;
    const key = { operation: 'push', node: 'node-0' };
    if (failing !== undefined && n % failing === 0) recorder.failed(key, { endMs, class: 'x', message: 'x' });
    else recorder.succeeded(key, { endMs, latencyMs: latencyMs(n), bytes: 4096 });
  }
  const { scenario = 'upload', parameters = { count: 8 }, costs, result = 'passed' } = made;
  const durationMs = seconds * 1000;
  const [metrics, timelines] = [recorder.summaries(), recorder.timelines()];
  return runResult([scenarioResult({ name: scenario, result, durationMs, metrics, timelines, parameters })], {
    run: `run-${at}`,
    seed: 1,
    passed: true,
    startedAt: new Date(startMs).toISOString(),
    durationMs,
    command: 'svcnet run upload',
    environment: { cpu: 'made', cores: 2 },
    report: '/nowhere',
    ...(costs === undefined ? {} : { costs }),
  });
}

export function writeRun(folder: string, document: unknown): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'report.json'),
    typeof document === 'string' ? document : JSON.stringify(document),
  );
  return folder;
}
