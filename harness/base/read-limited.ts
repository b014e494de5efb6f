/** Others' answers and files are read with a limit each. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { aboutFile, HarnessError } from './errors.ts';

/** The rest of a too long answer was not read, and the connection is closed. */
export class AnswerTooLong extends Error {
  readonly code = 'ANSWER_TOO_LONG';

  constructor(max: number) {
    super(`the answer is longer than ${sizeText(max)}, which is no answer of a node`);
    this.name = 'AnswerTooLong';
  }
}

interface Source extends AsyncIterable<unknown> {
  destroy(): unknown;
}

/** @param max bytes @throws AnswerTooLong, and what the source throws */
export async function readLimited(source: Source, max: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    length += (piece as Uint8Array).length;
    if (length > max) {
      source.destroy();
      throw new AnswerTooLong(max);
    }
    pieces.push(piece as Uint8Array);
  }
  return joined(pieces, length);
}

export async function readLimitedText(source: Source, max: number): Promise<string> {
  return textOf(await readLimited(source, max));
}

/** All of an answer, or a longer one's beginning. @param max bytes */
export async function readBeginning(source: Source, max: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    pieces.push(piece as Uint8Array);
    length += (piece as Uint8Array).length;
    if (length >= max) break;
  }
  return joined(pieces, length).subarray(0, max);
}

/**
 * A regular file as text; a pipe would wait for ever.
 * @param max bytes @throws HarnessError `STATE_INVALID` for other kinds and longer ones, errors of the system
 */
export function readFileLimited(path: string, max: number): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const info = fstatSync(file);
    if (!info.isFile()) throw new HarnessError('STATE_INVALID', `${path} is not a regular file`);
    if (info.size > max)
      throw new HarnessError(
        'STATE_INVALID',
        `${path} is longer than ${sizeText(max)}, expected at most that`,
      );
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw aboutFile(path, error);
  } finally {
    closeSync(file);
  }
}

export function textOf({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): string {
  return Buffer.from(buffer, byteOffset, length).toString('utf8');
}

/** No `Buffer`: that is unequal to an array of the same bytes, and shares its memory. */
function joined(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function sizeText(bytes: number): string {
  const [unit, size] =
    bytes >= 2 ** 30
      ? (['GiB', 2 ** 30] as const)
      : bytes >= 2 ** 20
        ? (['MiB', 2 ** 20] as const)
        : (['KiB', 2 ** 10] as const);
  return `${bytes / size} ${unit}`;
}
