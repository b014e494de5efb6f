import { join } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { type Failure, failuresOf } from './failures.ts';
import { type MessageSummary, messageSummaries, type UnreadableMessages } from './messages/summary.ts';
import { type Resources, readResources } from './resources.ts';
import type { RunResult, ScenarioResult } from './result.ts';

type Messages = MessageSummary | UnreadableMessages | undefined;

export interface ReportMaterial {
  readonly run: RunResult;
  readonly failures: readonly Failure[];
  readonly messages: readonly Messages[];
  readonly used: Resources | undefined;
  readonly baseline?: RunResult | undefined;
}

/** @param run `report` names its folder @throws HarnessError `STATE_INVALID` for unreadable series */
export async function gatherMaterial(run: RunResult, baseline?: RunResult): Promise<ReportMaterial> {
  const [failures, used, messages] = await Promise.all([
    failuresOf(run),
    readResources(run.report),
    messagesOf(run),
  ]);
  return { run, failures, used, messages, baseline };
}

async function messagesOf({ report, scenarios }: RunResult): Promise<Messages[]> {
  const found = new Map<ScenarioResult, Messages>();
  for (const [part, own] of Map.groupBy(scenarios, ({ folder = '' }) => folder)) {
    const periods = own.map(({ startedAt = 0, durationMs }) => ({
      from: startedAt,
      to: startedAt + durationMs,
    }));
    const summaries = await readable(messageSummaries(join(report, part), periods));
    for (const [i, scenario] of own.entries())
      found.set(scenario, Array.isArray(summaries) ? summaries[i] : summaries);
  }
  return scenarios.map((scenario) => found.get(scenario));
}

async function readable<T>(work: Promise<T>): Promise<T | UnreadableMessages> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof HarnessError) return { unreadable: error.message };
    throw error;
  }
}
