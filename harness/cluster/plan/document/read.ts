import { dirname, resolve } from 'node:path';
import { HarnessError } from '../../../base/errors.ts';
import { mistakeLines } from '../../../base/foreign-text.ts';
import { strayPath } from '../../../base/own-folder.ts';
import { INTERNET } from '../options/network.ts';
import { uploadedPath, uploadsIn } from '../trust.ts';
import { readFlavour } from './flavour-file.ts';
import { documentOf, textOf } from './text.ts';

/**
 * Does not check keys, because flags may override them.
 * @param argument how the path was given
 * @param scalars `failsafe`: all are texts, even what looks like a number
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
 * With regions and flavours filled in. Uploads are below its folder: another person's file does not upload its reader's
 * files. @throws HarnessError `DEFINITION_INVALID`
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
