import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cannotWrite, messageOf } from '../base/errors.ts';
import { expectReplaceable, makeFolder, replaceFile } from '../base/own-folder.ts';
import { typed } from '../base/typed.ts';
import { METRICS_FILE } from '../metrics/series-file.ts';
import { pageBundle } from '../web/pages/bundle.ts';
import { junitXml } from './junit.ts';
import { reportMarkdown } from './markdown.ts';
import { gatherMaterial } from './material.ts';
import { MESSAGES_FILE, OLDER_MESSAGES_FILE } from './messages/message-file.ts';
import { reportPage } from './page/report-page.ts';
import type { RunResult } from './result.ts';

/** Of `report.json`; raised when a field's meaning changes. 2: percentiles are null with too few samples. */
export const REPORT_SCHEMA = 2;

/** Its presence makes a folder that of a run. */
export const REPORT_FILE = 'report.json';

/** What a person opens. */
export const REPORT_PAGE = 'report.html';

/** For CI systems. */
export const JUNIT_FILE = 'junit.xml';

/** The page as text, for comments and job summaries. */
export const REPORT_TEXT = 'report.md';

export const REPORT_REMEDY = 'choose another with --report';

export const RECIPE_FILE = 'recipe.json';

export const SCHEDULE_FILE = 'schedule.json';

/** Of a repetition: its `RepeatedRun`. */
export const REPEAT_FILE = 'repeat.json';

/** Of a run with many seeds: its `SeedsRun`. */
export const SEEDS_FILE = 'seeds.json';

export const DIFFERENCES_FILE = 'differences.json';

/** Every acknowledged upload. */
export const LEDGER_FILE = 'ledger.jsonl';

export const LOSSES_FILE = 'losses.jsonl';

export const FAULTS_FILE = 'faults.jsonl';

/** What a cluster was made of. */
export const CLUSTER_FILE = 'cluster.json';

const GROWING = [LEDGER_FILE, LOSSES_FILE, FAULTS_FILE, METRICS_FILE, MESSAGES_FILE, OLDER_MESSAGES_FILE];

/** Parts count from 0: parallel clusters have one each. */
export function partFolder(part: number): string {
  return `part-${part + 1}`;
}

/** Folders in order, named like parts and with parts' content. */
export function partFolders(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^part-\d+$/.test(name))
    .filter((name) => [REPORT_FILE, RECIPE_FILE].some((file) => existsSync(join(folder, name, file))))
    .sort((a, b) => numberOf(a) - numberOf(b));
}

function numberOf(part: string): number {
  return Number(part.slice('part-'.length));
}

/**
 * Removes an earlier run's files and parts.
 * @param asked the run's parameters: a file that one names stays
 * @throws HarnessError `CANNOT_WRITE`
 */
export function createReport(folder: string, asked: readonly unknown[] = []): void {
  inReport(folder, () => {
    const written = [REPORT_FILE, JUNIT_FILE, REPORT_PAGE, REPORT_TEXT, RECIPE_FILE, SCHEDULE_FILE];
    const files = [...GROWING, ...written];
    const named = new Set(asked.filter((value) => typeof value === 'string').map((value) => resolve(value)));
    for (const path of files.map((name) => join(folder, name)))
      if (!named.has(resolve(path))) rmSync(path, { force: true });
    for (const name of partFolders(folder)) rmSync(join(folder, name), { recursive: true });
  });
}

/** New pages may replace only pages. @throws HarnessError `USAGE` */
export function expectPages(folder: string): void {
  const page = (content: string) => content.includes(' · svcnet</title>');
  expectReplaceable('run', join(folder, REPORT_PAGE), page);
  expectReplaceable('run', join(folder, REPORT_TEXT), (content) => /^# (Passed|Failed): /.test(content));
}

/** Makes a missing folder. @throws HarnessError `CANNOT_WRITE` */
export function inReport<T>(folder: string, work: () => T): T {
  try {
    makeFolder(folder);
    return work();
  } catch (error) {
    throw cannotWrite(folder, error, REPORT_REMEDY);
  }
}

/**
 * Writes `report.json`, `junit.xml`, `report.html` and `report.md`.
 * @returns why there are no pages, which can be made later; undefined: there are
 * @throws HarnessError `CANNOT_WRITE` when the result itself cannot be kept
 */
export async function writeReport(run: RunResult): Promise<string | undefined> {
  const document = `${JSON.stringify({ schema: REPORT_SCHEMA, ...run }, undefined, 2)}\n`;
  writeInto(run.report, { [REPORT_FILE]: document, [JUNIT_FILE]: junitXml(run) });
  try {
    await writePages(run);
    return undefined;
  } catch (error) {
    return `no ${REPORT_PAGE}: ${messageOf(error)}; try again with: ${typed(`report ${run.report}`)}`;
  }
}

/** Made from the rest of the folder. @param baseline an earlier run */
export async function writePages(run: RunResult, baseline?: RunResult): Promise<void> {
  const material = await gatherMaterial(run, baseline);
  const page = reportPage(material, await pageBundle('report'));
  writeInto(run.report, { [REPORT_PAGE]: page, [REPORT_TEXT]: reportMarkdown(material) });
}

function writeInto(folder: string, files: Readonly<Record<string, string>>): void {
  try {
    makeFolder(folder);
    for (const [name, text] of Object.entries(files)) replaceFile(join(folder, name), text);
  } catch (error) {
    throw cannotWrite(folder, error, REPORT_REMEDY);
  }
}
