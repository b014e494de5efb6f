import type { ChunkPutter } from '../../formats/chunk/chunk.ts';
import { openFile } from '../files/joiner.ts';
import type { ContentGetter } from '../files/redundancy/siblings.ts';
import { inOnePiece, type SplitOptions, split } from '../files/splitter.ts';
import { ActError, type ActErrorCode } from './errors.ts';

export interface Reading {
  readonly getter: ContentGetter;
  readonly signal: AbortSignal;
}

export interface Writing extends Reading {
  readonly putter: ChunkPutter;
}

export async function load(
  reference: Uint8Array,
  { getter, signal }: Reading,
  { sizeMax, code }: { sizeMax: number; code: ActErrorCode },
): Promise<Uint8Array> {
  const file = await openFile(reference, getter, { signal });
  if (file.length > sizeMax) throw new ActError(code, `${file.length} bytes, at most ${sizeMax}`);
  return Buffer.concat(await Array.fromAsync(file.read(0n, file.length, { signal })));
}

export async function store(
  bytes: Uint8Array,
  { putter, signal }: Writing,
  options: SplitOptions = {},
): Promise<Uint8Array> {
  return (await split(inOnePiece(bytes), putter, { ...options, signal })).reference;
}
