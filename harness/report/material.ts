/** What pages are made from: the result and the rest of the folder. */
import { type Failure, failuresOf } from './failures.ts';
import { type Resources, readResources } from './resources.ts';
import type { RunResult } from './result.ts';

export interface ReportMaterial {
  readonly run: RunResult;
  readonly failures: readonly Failure[];
  /** Undefined when the run has kept no series. */
  readonly used: Resources | undefined;
  /** An earlier run of the same scenarios, for changes. */
  readonly baseline?: RunResult | undefined;
}

/** @param run `report` names its folder @throws HarnessError `STATE_INVALID` when series cannot be read */
export async function gatherMaterial(run: RunResult, baseline?: RunResult): Promise<ReportMaterial> {
  const [failures, used] = await Promise.all([failuresOf(run), readResources(run.report)]);
  return { run, failures, used, baseline };
}
