/** Documents that people write, as files: cluster files, network files, schedules, checks. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import { HarnessError, messageOf } from '../../../base/errors.ts';
import { mistakeLines } from '../../../base/foreign-text.ts';
import { strayPath } from '../../../base/own-folder.ts';
import { readFileLimited, readLimitedText } from '../../../base/read-limited.ts';
import { INTERNET } from '../options/network.ts';
import { uploadedPath, uploadsIn } from '../trust.ts';
import { plainYaml } from './plain-yaml.ts';

/** Longest document, bytes: that of a cluster with every link and key written out has half of it. */
const DOCUMENT_MAX = 2 * 2 ** 20;

/**
 * Reads the file without checking its keys, so that flags can override it first.
 * @param argument how the path was given, for messages @param scalars `failsafe`: all are texts, even what
 * looks like a number
 * @throws HarnessError `DEFINITION_INVALID`
 */
export async function readDefinitionFile(
  path: string,
  argument = '--file',
  scalars: 'core' | 'failsafe' = 'core',
): Promise<Record<string, unknown>> {
  const document = await plainYaml(await textOf(path, argument), { source: path, scalars });
  if (document === null || document === undefined) return {};
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new HarnessError('DEFINITION_INVALID', `${path}: expected a map with keys such as nodes and seed`);
  }
  return document as Record<string, unknown>;
}

/**
 * The same for a cluster file, with the regions of its network in place of the path of their file. What it uploads is
 * relative to its folder, and below it: another person's file does not upload files of its reader.
 * @throws HarnessError `DEFINITION_INVALID`
 */
export async function readClusterFile(path: string, argument = '--file'): Promise<Record<string, unknown>> {
  const document = await withRegions(await readDefinitionFile(path, argument), path);
  const uploads = uploadsIn(document);
  if (uploads.length === 0) return document;
  const folder = dirname(path);
  const mistakes: string[] = [];
  const own = uploads.map((upload, index): unknown => {
    const named = uploadedPath(upload);
    if (named === undefined) return upload;
    const stray = strayPath(folder, named, 'file or folder');
    if (stray !== undefined) mistakes.push(`prepare.uploads[${index}].path: ${stray}`);
    return { ...(upload as object), path: resolve(folder, named) };
  });
  if (mistakes.length > 0) throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, path));
  return { ...document, prepare: { ...(document['prepare'] as object), uploads: own } };
}

/** A path is relative to the file's folder, and below it. */
async function withRegions(
  document: Record<string, unknown>,
  path: string,
): Promise<Record<string, unknown>> {
  const network = document['network'];
  if (typeof network !== 'object' || network === null || !('regions' in network)) return document;
  const { regions } = network;
  if (typeof regions !== 'string' || regions === INTERNET) return document;
  const stray = strayPath(dirname(path), regions, 'file');
  if (stray !== undefined) {
    throw new HarnessError('DEFINITION_INVALID', `${path}: network.regions: ${stray}`);
  }
  const file = resolve(dirname(path), regions);
  return { ...document, network: { ...network, regions: await readDefinitionFile(file, 'network.regions') } };
}

async function textOf(path: string, argument: string): Promise<string> {
  try {
    return (await pipedText(path)) ?? readFileLimited(path, DOCUMENT_MAX);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new HarnessError('DEFINITION_INVALID', `${argument}: no file '${path}'`, { cause: error });
    }
    throw new HarnessError('DEFINITION_INVALID', `${argument}: ${messageOf(error)}`, { cause: error });
  }
}

/** Of a pipe, as shells make them for `-f <(…)`: read so that a signal ends it. @returns undefined: it is none */
async function pipedText(path: string): Promise<string | undefined> {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  if (!fstatSync(file).isFIFO()) {
    closeSync(file);
    return undefined;
  }
  const text = await readLimitedText(new Socket({ fd: file, readable: true, writable: false }), DOCUMENT_MAX);
  // Without a writer a pipe is empty, which as a document would mean every default.
  if (text !== '') return text;
  throw new HarnessError('CANNOT_READ', `nothing came through the pipe ${path}`);
}
