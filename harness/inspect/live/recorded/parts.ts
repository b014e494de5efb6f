/** The clusters of a run's record, one after the other, each with what the record's files hold of it. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { HarnessError } from '../../../base/errors.ts';
import { readJson } from '../../../base/json-file.ts';
import { expectFile } from '../../../base/own-folder.ts';
import { readFileLimited } from '../../../base/read-limited.ts';
import { type Rows, rowsByCluster, type SeriesColumns } from '../../../metrics/series.ts';
import { METRICS_FILE, readSeries } from '../../../metrics/series-file.ts';
import { CLUSTER_FILE, FAULTS_FILE } from '../../../report/folder.ts';
import type { ReadEvent } from '../../../report/messages/message-file.ts';
import { messageFiles, readMessages } from '../../../report/messages/read-messages.ts';
import { originOf, type RunEvent, type RunResult, type ScenarioResult } from '../../../report/result.ts';
import { isShown } from '../recorded-figures.ts';

export const UP = 'testbed_node_up';
export const BROKEN = 'testbed_fault_active';
const FAULTS_MAX = 256 * 2 ** 20;

const faultLine = z.object({
  scenario: z.string(),
  began: z.number(),
  cluster: z.number().optional(),
  event: z.enum(['begin', 'end']),
  id: z.string(),
  kind: z.string(),
  text: z.string(),
  targets: z.array(z.string()),
  at: z.number(),
  endAt: z.number().optional(),
});
export type RecordedFault = z.infer<typeof faultLine>;

const membersFile = z.object({
  name: z.string(),
  nodes: z.array(
    z.object({ name: z.string(), overlay: z.string(), ethereum: z.string(), flavour: z.string() }),
  ),
});
export type RecordedMembers = z.infer<typeof membersFile>;

export interface RecordedPart {
  readonly run: RunResult;
  /** When its cluster began, ms since the epoch. */
  readonly originMs: number;
  readonly scenarios: readonly ScenarioResult[];
  readonly events: readonly RunEvent[];
  readonly faults: readonly RecordedFault[];
  /** Undefined: the record has none. */
  readonly members: RecordedMembers | undefined;
  /** Undefined: none were kept. */
  readonly columns: SeriesColumns | undefined;
  /** Rows of the columns that are its own: from one, up to another. */
  readonly rows: Rows;
  /** Undefined: none were kept. */
  readonly messages: readonly ReadEvent[] | undefined;
  /** Folder of its logs. */
  readonly folder: string;
  /** What is missing in its files. */
  readonly lacks: readonly string[];
}

/** @throws HarnessError `RUN_INVALID` or `STATE_INVALID` naming the file, or when no cluster was started */
export async function partsOf(run: RunResult): Promise<RecordedPart[]> {
  const clustered = run.scenarios.filter(({ clusterStartedAt }) => clusterStartedAt !== undefined);
  const byFolder = Map.groupBy(clustered, ({ folder = '' }) => folder);
  const parts: RecordedPart[] = [];
  for (const [folder, scenarios] of byFolder) parts.push(...(await inFolder(run, folder, scenarios)));
  if (parts.length > 0) return parts;
  throw new HarnessError(
    'RUN_INVALID',
    `${run.report}: the run has started no cluster, expected one to play`,
  );
}

async function inFolder(
  run: RunResult,
  part: string,
  scenarios: readonly ScenarioResult[],
): Promise<RecordedPart[]> {
  const report = join(run.report, part);
  const faults = faultsIn(report);
  const columns = await readSeries(
    report,
    (id) => isShown(id) || (id.node === undefined && [UP, BROKEN].includes(id.name)),
  );
  if (columns !== undefined) expectTimes(columns, report);
  const lacks = [METRICS_FILE, FAULTS_FILE]
    .map((name) => join(report, name))
    .filter(isCut)
    .map((path) => `${path} ends in the middle of a line.`);
  const messages: ReadEvent[] = [];
  for await (const event of readMessages(messageFiles(report), (what) => void lacks.push(`${what}.`)))
    if (event.kind === 'message' || event.protocol === 'noise') messages.push(event);
  const byCluster = [...Map.groupBy(scenarios, ({ cluster = 1 }) => cluster)];
  const origins = byCluster.map(([, [first]]) => originOf(run, first as ScenarioResult));
  const rows = columns === undefined ? undefined : rowsByCluster(columns);
  const unnumbered = rows?.size === 1 && columns !== undefined ? rowsByOrigin(columns.times, origins) : [];
  return byCluster.map(([cluster, own], i) => {
    const folder = cluster === 1 ? report : join(report, `cluster-${cluster}`);
    const heard = messages.filter((event) => (event.cluster ?? 1) === cluster);
    return {
      run,
      originMs: origins[i] as number,
      scenarios: own,
      events: run.events.filter((event) => (event.folder ?? '') === part && (event.cluster ?? 1) === cluster),
      faults: faults.filter((fault) => (fault.cluster ?? 1) === cluster),
      members: membersIn(folder),
      columns,
      rows: unnumbered[i] ?? rows?.get(cluster) ?? [0, 0],
      messages: heard.length === 0 ? undefined : heard,
      folder,
      lacks,
    };
  });
}

function expectTimes({ times }: SeriesColumns, report: string): void {
  const wrong = times.find((at) => !Number.isFinite(at));
  if (wrong === undefined) return;
  throw new HarnessError(
    'RUN_INVALID',
    `${join(report, METRICS_FILE)}: got time ${wrong}, expected milliseconds`,
  );
}

/**
 * For runs recorded before rows had the number of their cluster. A later cluster's rows begin when it does, or where times go
 * back: each simulated one begins at the same instant.
 */
function rowsByOrigin(times: Float64Array, origins: readonly number[]): Rows[] {
  const starts = [0];
  for (const [row, at] of times.entries()) {
    const [origin, next] = [origins[starts.length - 1], origins[starts.length]];
    if (origin === undefined || next === undefined) break;
    const isBack = at < (times[row - 1] ?? at);
    if (isBack || (next > origin && at >= next)) starts.push(row);
  }
  return origins.map((_, i) => [starts[i] ?? times.length, starts[i + 1] ?? times.length]);
}

function isCut(path: string): boolean {
  if (!existsSync(path)) return false;
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
  } finally {
    closeSync(file);
  }
}

/** Without a last line that is cut off. */
function faultsIn(folder: string): RecordedFault[] {
  const path = join(folder, FAULTS_FILE);
  const text = textIn(folder, path);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line, i) => {
      const parsed = faultLine.safeParse(jsonOf(line));
      if (parsed.success) return parsed.data;
      throw new HarnessError(
        'RUN_INVALID',
        `${path}:${i + 1}: got '${line.slice(0, 80)}', expected a fault as a line of JSON`,
      );
    })
    .filter(({ event }) => event === 'begin');
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Empty: there is no such file. */
function textIn(folder: string, path: string): string {
  expectFile(folder, path);
  try {
    return readFileLimited(path, FAULTS_MAX);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function membersIn(folder: string): RecordedMembers | undefined {
  const path = join(folder, CLUSTER_FILE);
  expectFile(folder, path);
  const document = readJson(path);
  if (document === undefined) return undefined;
  const parsed = membersFile.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new HarnessError(
    'RUN_INVALID',
    `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}; expected the nodes of a cluster`,
  );
}
