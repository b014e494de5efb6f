import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { HarnessError, messageOf, reasonOf } from '../../../base/errors.ts';
import { readFileLimited, readLimitedText } from '../../../base/read-limited.ts';
import { lineAt, plainYaml } from './plain-yaml.ts';

/** Bytes: twice a cluster with every link and key written out. */
const DOCUMENT_MAX = 2 * 2 ** 20;

/** @param source names the text @throws HarnessError `DEFINITION_INVALID` when it is no map */
export async function documentOf(
  text: string,
  source: string,
  scalars: 'core' | 'failsafe' = 'core',
): Promise<Record<string, unknown>> {
  // Decoding puts U+FFFD in the place of other bytes.
  const wrong = text.search(/[\uFFFD\0]/);
  if (wrong !== -1) {
    const got = text[wrong] === '\0' ? 'a NUL' : 'bytes of another encoding';
    throw new HarnessError(
      'DEFINITION_INVALID',
      `${source}: line ${lineAt(text, wrong)}: got ${got}, expected text in UTF-8`,
    );
  }
  const document = await plainYaml(text, { source, scalars });
  // A file that was cut short would mean every default.
  if (document === null || document === undefined)
    throw new HarnessError('DEFINITION_INVALID', `${source}: got nothing, expected a map of keys to values`);
  if (typeof document !== 'object' || Array.isArray(document)) {
    const got = Array.isArray(document) ? 'a list' : 'a single value';
    throw new HarnessError('DEFINITION_INVALID', `${source}: got ${got}, expected a map of keys to values`);
  }
  return document as Record<string, unknown>;
}

/** @throws HarnessError `DEFINITION_INVALID`, `CANNOT_READ` */
export async function textOf(path: string, argument: string): Promise<string> {
  try {
    return (await pipedText(path)) ?? readFileLimited(path, DOCUMENT_MAX);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new HarnessError('DEFINITION_INVALID', `${argument}: no file '${path}'`, { cause: error });
    }
    const why =
      error instanceof HarnessError
        ? error.message
        : `cannot read ${path}: ${reasonOf(error) ?? messageOf(error)}`;
    throw new HarnessError('DEFINITION_INVALID', `${argument}: ${why}`, { cause: error });
  }
}

/** Reads a pipe, as shells make for `-f <(…)`, so that a signal ends the wait. @returns undefined: no pipe */
async function pipedText(path: string): Promise<string | undefined> {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  if (!fstatSync(file).isFIFO()) {
    closeSync(file);
    return undefined;
  }
  const text = await readLimitedText(new Socket({ fd: file, readable: true, writable: false }), DOCUMENT_MAX);
  // It would mean every default.
  if (text !== '') return text;
  throw new HarnessError('CANNOT_READ', `nothing came through the pipe ${path}`);
}
