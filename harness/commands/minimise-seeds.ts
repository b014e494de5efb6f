/** `svcnet run --seeds --minimise`: each kind's first failure, in its own process. */
import type { FailedSeed, SeedsRun, SmallestRun } from '../report/result.ts';
import type { MinimiseDocument } from '../run/replay/minimise.ts';
import type { CommandContext } from './context.ts';
import type { FailureDocument } from './failure.ts';
import { documentOf } from './job.ts';
import { BUDGET } from './options/replay.ts';

export async function minimiseKinds(
  { failures, kinds }: Pick<SeedsRun, 'failures' | 'kinds'>,
  {
    trust,
    limitMs = BUDGET.defaultMs,
  }: { readonly trust?: boolean | undefined; readonly limitMs?: number | undefined },
  context: CommandContext,
): Promise<readonly SmallestRun[]> {
  const smallest: SmallestRun[] = [];
  for (const [kind, [seed]] of Object.entries(kinds)) {
    const failed = failures.find((one) => one.seed === seed);
    if (failed === undefined || context.signal.aborted) continue;
    context.note(`  minimising seed ${failed.seed}: ${kind}\n`);
    // The budget is looked at between two runs.
    const limits = { limitMs: BUDGET.defaultMs + limitMs, context, signal: context.signal };
    const result = await smallestOf(failed, trust, limits);
    if (result !== undefined) smallest.push({ kind, seed: failed.seed, ...result });
  }
  return smallest;
}

async function smallestOf(
  { report }: FailedSeed,
  trust: boolean | undefined,
  limits: Parameters<typeof documentOf>[1],
): Promise<Omit<SmallestRun, 'kind' | 'seed'> | undefined> {
  const words = ['minimise', report, '--json', ...(trust === true ? ['--trust'] : [])];
  const answered = await documentOf(words, limits);
  if (answered === undefined) return undefined;
  if ('failed' in answered) return { error: answered.failed };
  const document = answered.document as MinimiseDocument | FailureDocument;
  if ('error' in document) return { error: document.error.message };
  const { from, to, scenario, stopped } = document;
  return { from: { ...from }, to: { ...to }, scenario, stopped };
}
