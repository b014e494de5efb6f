/**
 * A dump, and the blocks since then, which are rebuilt on top of it.
 *
 *   FOLDER/state.json      what chain it is, what was deployed on it, and which dump is the valid one
 *   FOLDER/ID.dump         Anvil's own format, compressed
 *   FOLDER/ID.blocks       a line for each block since the dump: number, time, hash, transactions
 *
 * A new dump is written aside; `state.json` is replaced when it is complete. Everything is written through to the disk, half
 * a millisecond per block: a power failure loses at most the blocks that were being written then.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { makeFolder } from '../../node/env/folder.ts';
import type { Deployment } from '../deployment/deploy.ts';
import { LocalChainError } from '../errors.ts';
import type { ChainIdentity } from './identity.ts';

export interface BlockLine {
  readonly number: number;
  /** Unix seconds. */
  readonly time: number;
  readonly hash: string;
  readonly transactions: readonly string[];
}

interface StateDocument {
  readonly identity: ChainIdentity;
  readonly deployment: Deployment;
  readonly id: string;
}

export interface SavedState {
  readonly identity: ChainIdentity;
  readonly deployment: Deployment;
  readonly dump: Uint8Array;
  readonly blocks: readonly BlockLine[];
}

/** @returns undefined: no state @throws LocalChainError `STATE_REFUSED` when unreadable */
export function readState(folder: string): SavedState | undefined {
  const text = textOf(join(folder, 'state.json'));
  if (text === undefined) return undefined;
  try {
    const { identity, deployment, id } = JSON.parse(text) as StateDocument;
    const dump = gunzipSync(readFileSync(join(folder, `${id}.dump`)));
    return { identity, deployment, dump, blocks: wholeLines(textOf(join(folder, `${id}.blocks`)) ?? '') };
  } catch (cause) {
    throw new LocalChainError(
      'STATE_REFUSED',
      `the state in ${folder} cannot be read (${cause instanceof Error ? cause.message : String(cause)}): remove the folder`,
      { cause },
    );
  }
}

/**
 * The last line is incomplete if its writer was killed; after a power failure its place may hold anything, and nothing that
 * follows it can be built.
 */
function wholeLines(text: string): BlockLine[] {
  const lines = text.split('\n').slice(0, -1);
  const blocks = lines.map((line) => blockOf(line));
  const broken = blocks.indexOf(undefined);
  return blocks.slice(0, broken < 0 ? Infinity : broken).filter((block) => block !== undefined);
}

function blockOf(line: string): BlockLine | undefined {
  try {
    return JSON.parse(line) as BlockLine;
  } catch {
    return undefined;
  }
}

export interface BlockFile {
  append(lines: readonly BlockLine[]): void;
  close(): void;
}

/**
 * Removes the previous dump, or leaves the folder as it was: on a full disk there is a new attempt at every block.
 * @param dump compressed, as Anvil gives it
 */
export function writeState(
  folder: string,
  { identity, deployment, dump }: Omit<SavedState, 'blocks'>,
): BlockFile {
  const id = randomUUID();
  makeFolder(folder);
  let file: number | undefined;
  try {
    writeFileSync(join(folder, `${id}.dump`), dump, { mode: 0o600, flush: true });
    file = openSync(join(folder, `${id}.blocks`), 'ax', 0o600);
    const document: StateDocument = { identity, deployment, id };
    const aside = join(folder, `${id}.tmp`);
    writeFileSync(aside, `${JSON.stringify(document, undefined, 2)}\n`, { mode: 0o600, flush: true });
    renameSync(aside, join(folder, 'state.json'));
  } catch (error) {
    if (file !== undefined) closeSync(file);
    removeStates(folder, (name) => name.startsWith(id));
    throw error;
  }
  removeStates(folder, (name) => !name.startsWith(id));
  return blockFile(file);
}

function removeStates(folder: string, isMeant: (name: string) => boolean): void {
  for (const name of readdirSync(folder)) {
    if (/\.(dump|blocks|tmp)$/.test(name) && isMeant(name)) rmSync(join(folder, name), { force: true });
  }
}

function blockFile(file: number): BlockFile {
  return {
    append(lines) {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      // On a nearly full disk a single write may store half of it, and says so only by a count.
      writeFileSync(file, text, { flush: true });
    },
    close: () => closeSync(file),
  };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
