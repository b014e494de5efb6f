import type { ChunkGetter } from '../../formats/chunk/chunk.ts';
import { openFile } from '../../node/files/joiner.ts';

/** As large as the parts of a request body. */
const PART_SIZE = 65_536;

export async function* parts(content: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < content.length; at += PART_SIZE) yield content.subarray(at, at + PART_SIZE);
}

/** @throws Error if its length is not as expected */
export async function readAll(
  { reference, size }: { readonly reference: Uint8Array; readonly size: number },
  getter: ChunkGetter,
): Promise<void> {
  const file = await openFile(reference, getter);
  let length = 0;
  for await (const piece of file.read(0n, file.length)) length += piece.length;
  if (length !== size) throw new Error(`read ${length} of ${size} bytes`);
}
