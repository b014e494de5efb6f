/** Where two runs of one seed first differ: in what nodes sent each other, or in what came of it. */
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { grouped } from '../../base/format.ts';
import { linesOf } from '../../base/logs/logs.ts';
import { FRAMES_FILE } from '../../places/simulated/frame-log.ts';
import type { Difference, RunResult } from '../../report/result.ts';

const CLUSTER_NAME = /\bnet-[\da-f]{8}\b/g;

/**
 * A different frame, which is the cause, comes before any different result.
 * @param first with its logs in its report @returns undefined: equal
 */
export function firstDifference(first: RunResult, second: RunResult): Difference | undefined {
  const digests = differenceIn('digests', digestsOf(first), digestsOf(second));
  const frame = digests === undefined ? undefined : differentFrame(first.report, second.report);
  return frame ?? digests ?? differenceIn('', outcomeOf(first), outcomeOf(second));
}

function digestsOf({ scenarios }: RunResult): unknown {
  return scenarios.map(({ digest }) => digest);
}

function outcomeOf({ scenarios, events, report }: RunResult): unknown {
  const outcome = { scenarios: scenarios.map(({ picture: _picture, ...others }) => others), events };
  const text = JSON.stringify(outcome).replaceAll(JSON.stringify(report).slice(1, -1), '<report>');
  return JSON.parse(text.replaceAll(CLUSTER_NAME, '<cluster>'));
}

function differentFrame(first: string, second: string): Difference | undefined {
  for (const file of globSync(`**/logs/${FRAMES_FILE}`, { cwd: first }).toSorted()) {
    if (!existsSync(join(second, file))) continue;
    const difference = differentLine(join(first, file), join(second, file));
    if (difference !== undefined) return { ...difference, what: `${difference.what} of ${file}` };
  }
  return undefined;
}

function differentLine(first: string, second: string): Difference | undefined {
  const [ones, others] = [linesOf(first), linesOf(second)];
  for (let number = 1; ; number++) {
    const [one, other] = [ones.next().value, others.next().value];
    if (one === undefined && other === undefined) return undefined;
    if (one === other) continue;
    return { what: `frame ${grouped(number)}`, first: one ?? 'none', second: other ?? 'none' };
  }
}

function differenceIn(path: string, first: unknown, second: unknown): Difference | undefined {
  if (!isObject(first) || !isObject(second)) {
    const [one, other] = [first, second].map((value) => JSON.stringify(value) ?? 'none') as [string, string];
    return one === other ? undefined : { what: path, first: one, second: other };
  }
  for (const key of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const difference = differenceIn(path === '' ? key : `${path}.${key}`, first[key], second[key]);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
