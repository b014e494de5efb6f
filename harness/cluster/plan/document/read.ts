/** Documents that people write, as files: cluster files, network files, schedules, checks. */
import { dirname, resolve } from 'node:path';
import { HarnessError } from '../../../base/errors.ts';
import { mistakeLines } from '../../../base/foreign-text.ts';
import { strayPath } from '../../../base/own-folder.ts';
import { INTERNET } from '../options/network.ts';
import { uploadedPath, uploadsIn } from '../trust.ts';
import { readFlavour } from './flavour-file.ts';
import { documentOf, textOf } from './text.ts';

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
  return documentOf(await textOf(path, argument), path, scalars);
}

/**
 * The same for a cluster file, with the regions of its network and its flavour files in place of their paths. What it uploads is
 * relative to its folder, and below it: another person's file does not upload files of its reader.
 * @throws HarnessError `DEFINITION_INVALID`
 */
export async function readClusterFile(path: string, argument = '--file'): Promise<Record<string, unknown>> {
  const document = await withFlavours(
    await withRegions(await readDefinitionFile(path, argument), path),
    path,
  );
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

/** Paths of flavour files are relative to the file's folder, and below it. */
async function withFlavours(
  document: Record<string, unknown>,
  path: string,
): Promise<Record<string, unknown>> {
  const { flavours } = document;
  if (!Array.isArray(flavours) || flavours.every((one) => typeof one !== 'string')) return document;
  const read = flavours.map((one: unknown, index) => {
    if (typeof one !== 'string') return one;
    const stray = strayPath(dirname(path), one, 'file');
    if (stray !== undefined) {
      throw new HarnessError('DEFINITION_INVALID', `${path}: flavours[${index}]: ${stray}`);
    }
    return readFlavour(resolve(dirname(path), one), `flavours[${index}]`);
  });
  return { ...document, flavours: await Promise.all(read) };
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
