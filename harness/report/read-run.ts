import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import { readJson } from '../base/json-file.ts';
import { expectFile } from '../base/own-folder.ts';
import { partFolders, REPORT_FILE, REPORT_SCHEMA } from './folder.ts';
import { MESSAGES_FILE } from './messages/message-file.ts';
import { messageFiles } from './messages/read-messages.ts';
import type { RunResult } from './result.ts';
import { checkedResult } from './result-shape.ts';

/** The last by name: names of runs begin with their time. */
const LAST = 'last';

/**
 * @param name folder, name of a run in the state directory, or `last`
 * @returns a folder of a run or of repeats @throws HarnessError `RUN_NOT_FOUND`
 */
export function findRun(name: string, stateDir: string): string {
  const path = resolve(name);
  if (isFolder(path)) return path;
  const runs = join(stateDir, 'runs');
  const known = foldersIn(runs);
  const last = known.at(-1);
  if (name === LAST && last !== undefined) return join(runs, last);
  if (!/[/\\]/.test(name) && isFolder(join(runs, name))) return join(runs, name);
  throw new HarnessError('RUN_NOT_FOUND', `no run '${name}'${suggestion(name, known)}`, {
    hint:
      known.length === 0
        ? `Expected the folder of a run; ${runs} has none yet.`
        : `Expected the folder of a run, or the name of one in ${runs}; the last ones: ${known.slice(-5).join(', ')}`,
  });
}

export interface RunRecord {
  /** Folder in the run's; empty: the run itself. */
  readonly part: string;
  readonly folder?: string;
  /** Oldest first. */
  readonly files: readonly string[];
}

/**
 * @param run as for `findRun`, or a file of messages @returns one per part
 * @throws HarnessError `RUN_NOT_FOUND`
 */
export function recordsOf(run: string, stateDir: string): RunRecord[] {
  if (statSync(run, { throwIfNoEntry: false })?.isFile() === true) return [{ part: '', files: [run] }];
  const folder = findRun(run, stateDir);
  const records = ['', ...partFolders(folder)]
    .map((part) => ({ part, folder: join(folder, part) }))
    .map((place) => ({ ...place, files: messageFiles(place.folder) }))
    .filter(({ files }) => files.length > 0);
  if (records.length > 0) return records;
  throw new HarnessError('RUN_NOT_FOUND', `${folder}: no messages are in it, expected ${MESSAGES_FILE}`, {
    hint: 'A run keeps them when its cluster has a tap: svcnet run … --tap. Of several runs, name the folder of one.',
  });
}

/** A cluster's folder in its run's. @param cluster undefined: the first of its part */
export function recordLabel(part: string, cluster = 1): string {
  return [...(part === '' ? [] : [part]), `cluster-${cluster}`].join('/');
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** None without the folder. */
export function foldersIn(folder: string): string[] {
  if (!isFolder(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
}

/**
 * `report.json`; the folder may have moved.
 * @throws HarnessError `RUN_NOT_FOUND`, `RUN_INVALID`
 */
export function readRun(folder: string): RunResult {
  const file = join(folder, REPORT_FILE);
  if (!existsSync(file)) {
    const repeat = foldersIn(folder).find((name) => existsSync(join(folder, name, REPORT_FILE)));
    throw new HarnessError('RUN_NOT_FOUND', `${folder}: no run is in it, expected ${REPORT_FILE}`, {
      hint:
        repeat === undefined
          ? 'A run writes it when it ends; one that was interrupted has none.'
          : `It holds several runs; name one of them, such as ${join(folder, repeat)}`,
    });
  }
  const document = documentOf(folder, file);
  const { schema } = document;
  if (schema !== REPORT_SCHEMA) {
    throw new HarnessError('RUN_INVALID', `${file}: schema ${shown(schema)}, expected ${REPORT_SCHEMA}`, {
      hint: 'It was written by another version of svcnet; repeat the run with this one.',
    });
  }
  const missing = ['run', 'startedAt', 'scenarios', 'environment'].find((key) => !(key in document));
  if (missing !== undefined || !Array.isArray(document['scenarios'])) {
    throw new HarnessError('RUN_INVALID', `${file}: no ${missing ?? 'list of scenarios'}, expected a report`);
  }
  const { schema: _schema, ...run } = checkedResult(document, file);
  return { ...run, report: folder } as unknown as RunResult;
}

function documentOf(folder: string, file: string): Readonly<Record<string, unknown>> {
  let document: unknown;
  try {
    expectFile(folder, file);
    document = readJson(file);
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    throw new HarnessError('RUN_INVALID', error.message, { cause: error });
  }
  if (typeof document === 'object' && document !== null) return document as Record<string, unknown>;
  throw new HarnessError('RUN_INVALID', `${file}: got ${shown(document)}, expected a report`);
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : (JSON.stringify(value)?.slice(0, 40) ?? 'none');
}
