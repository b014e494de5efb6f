import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseDurationMs } from '../../../../formats/units.ts';
import { HarnessError, messageOf } from '../../../base/errors.ts';
import type { LoadPlan } from '../plan.ts';
import type { LoadScript } from '../scripts.ts';
import { commandOf, folderBeside } from './command.ts';
import { CONFIG_VARIABLE } from './config.ts';
import { MEASURED } from './executors.ts';
import type { K6 } from './find-k6.ts';
import { wordsOf } from './log.ts';

const LINES_SHOWN = 15;

export interface Shape {
  readonly ownMs: number | undefined;
  readonly totalMs: number;
}

export interface ShapeOptions {
  readonly k6: K6;
  readonly folder: string;
  readonly bundle: string;
  readonly config: string;
  readonly signal: AbortSignal;
}

/**
 * A user's script may have its own scenarios; k6 reports what it would run.
 * @throws HarnessError `USAGE` with k6's words when it cannot read the script
 */
export async function shapeOf(plan: LoadPlan, script: LoadScript, options: ShapeOptions): Promise<Shape> {
  const planned = { ownMs: undefined, totalMs: plan.warmupMs + plan.durationMs };
  if (!script.own) return planned;
  const { k6, folder, bundle, config, signal } = options;
  const environment = ['--env', `${CONFIG_VARIABLE}=${config}`];
  const [file = '', ...args] = commandOf(
    k6,
    ['inspect', '--execution-requirements', '--log-format', 'json', ...environment, bundle],
    { folder, beside: folderBeside(script) },
  );
  try {
    const { stdout } = await promisify(execFile)(file, args, { signal });
    const { scenarios, totalDuration = '0s' } = JSON.parse(stdout) as Inspected;
    if (scenarios !== null && MEASURED in scenarios) return planned;
    const lengths = Object.values(scenarios ?? {}).map(lengthMs);
    // Scenarios that end after a number of iterations have no length other than the limit that k6 gives them.
    const totalMs = lengths.length === 0 ? durationMs(totalDuration) : Math.max(...lengths);
    return { ownMs: totalMs, totalMs };
  } catch (error) {
    if (signal.aborted) throw error;
    const words = (error as { stderr?: string }).stderr ?? '';
    throw new HarnessError('USAGE', `k6 cannot read ${script.path}`, {
      cause: error,
      hint: wordsOf(words, LINES_SHOWN).join('\n') || messageOf(error),
    });
  }
}

interface Inspected {
  readonly scenarios: Readonly<Record<string, InspectedScenario>> | null;
  readonly totalDuration?: string;
}

interface InspectedScenario {
  readonly startTime?: string | null;
  readonly duration?: string | null;
  readonly stages?: readonly { readonly duration: string }[] | null;
  readonly maxDuration?: string | null;
}

function lengthMs({ startTime, duration, stages, maxDuration }: InspectedScenario): number {
  const own =
    stages?.reduce((sum, stage) => sum + durationMs(stage.duration), 0) ??
    durationMs(duration ?? maxDuration ?? '0s');
  return durationMs(startTime ?? '0s') + own;
}

function durationMs(text: string): number {
  return parseDurationMs(text) ?? 0;
}
