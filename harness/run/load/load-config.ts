import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { cannotWrite } from '../../base/errors.ts';
import { makeFolder } from '../../base/own-folder.ts';
import type { LoadConfig, TargetNode } from './k6/config.ts';
import { scenariosOf } from './k6/executors.ts';
import { ALWAYS, DROPPED, ITERATIONS } from './load-book.ts';
import type { LoadPlan } from './plan.ts';
import { FEED_UPDATE_BYTES } from './prepare.ts';
import { statsOf, toK6 } from './thresholds.ts';

/** k6's own without `url`: it keeps a series for each value, and every request may have its own. */
const SYSTEM_TAGS =
  'proto subproto status method name group check error error_code tls_version scenario service expected_response'.split(
    ' ',
  );

interface Paths {
  readonly script: string;
  readonly config: string;
  readonly data: string;
  readonly summary: string;
  readonly samples: string;
}

/** A summary of an earlier load would be taken for the next one's. @throws HarnessError `CANNOT_WRITE` */
export function emptyPaths(folder: string): Paths {
  const at = (name: string) => join(folder, name);
  const paths = {
    script: at('script.js'),
    config: at('config.json'),
    data: at('data.json'),
    summary: at('summary.json'),
    samples: at('samples.json'),
  };
  try {
    makeFolder(folder);
    rmSync(paths.summary, { force: true });
  } catch (error) {
    throw cannotWrite(folder, error);
  }
  return paths;
}

export function configOf(
  plan: LoadPlan,
  load: {
    nodes: readonly TargetNode[];
    helper: boolean;
    paths: Paths;
    feeds: LoadConfig['feeds'] | undefined;
  },
): LoadConfig {
  const seconds = plan.durationMs / 1000;
  const thresholds: Record<string, string[]> = {
    [ITERATIONS]: [ALWAYS],
    [DROPPED]: [ALWAYS],
  };
  for (const threshold of plan.thresholds) {
    const { metric, expression } = toK6(threshold, { seconds, helper: load.helper });
    thresholds[metric] = [...(thresholds[metric] ?? []), expression];
  }
  return {
    seed: plan.seed.toString(),
    label: plan.label,
    nodes: load.nodes,
    sizes: plan.sizes,
    mode: plan.mode,
    encrypt: plan.encrypt,
    redundancyLevel: plan.redundancyLevel,
    reads: plan.reads,
    readShare: plan.readShare,
    compareShare: plan.compareShare,
    files: plan.files,
    options: {
      scenarios: scenariosOf(plan),
      thresholds,
      summaryTrendStats: statsOf(plan.thresholds),
      systemTags: SYSTEM_TAGS,
    },
    summary: load.paths.summary,
    data: load.paths.data,
    feeds: load.feeds ?? { owner: '', topics: [], size: FEED_UPDATE_BYTES, warmupUpdates: 0 },
  };
}
