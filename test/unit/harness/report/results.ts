import type { RunResult, ScenarioResult } from '../../../../harness/report/result.ts';

export function scenarioResult(more: Partial<ScenarioResult> = {}): ScenarioResult {
  return {
    name: 'smoke',
    result: 'passed',
    durationMs: 1500,
    assertions: [],
    metrics: [],
    timelines: [],
    slowest: [],
    figures: [],
    parameters: {},
    ledger: { acknowledged: 0, found: 0, missing: 0 },
    ...more,
  };
}

export function runResult(scenarios: readonly ScenarioResult[], more: Partial<RunResult> = {}): RunResult {
  return {
    run: 'r',
    seed: 42,
    driver: 'process',
    passed: false,
    startedAt: '2026-01-01T00:00:00.000Z',
    durationMs: 1,
    command: 'svcnet run smoke --seed 42',
    scenarios,
    events: [],
    environment: {},
    report: '/tmp/r',
    ...more,
  };
}
