/** What a folder has, read from the nodes of its manifest. */
import { decodeNode, FLAG_EDGE, FLAG_VALUE, isNode, NODE_SIZE_MAX } from '../../node/manifest/codec.ts';

/** A folder may have millions. */
const NAMES_MAX = 8;
const READS_MAX = 32;
/** Index and error documents of the whole folder, no file. */
const ROOT = '/';

export interface FolderNames {
  /** In the order of their bytes. */
  readonly names: readonly string[];
  readonly areAll: boolean;
  readonly hasIndex: boolean;
}

/** @param read content by its reference, in hex @returns undefined: no folder */
export async function namesIn(
  reference: string,
  read: (reference: string) => Promise<AsyncIterable<Uint8Array>>,
): Promise<FolderNames | undefined> {
  const names: string[] = [];
  let reads = 0;
  let hasIndex = false;
  let areAll = true;

  /** What is longer is none. */
  async function nodeOf(at: string): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of await read(at)) {
      pieces.push(piece);
      size += piece.length;
      if (size > NODE_SIZE_MAX) break;
    }
    return Buffer.concat(pieces);
  }

  async function walk(bytes: Uint8Array, before: string): Promise<void> {
    for (const { prefix, flags, reference: below, metadata } of decodeNode(bytes).forks) {
      const path = before + prefix;
      if (path === ROOT) hasIndex ||= metadata?.['website-index-document'] !== undefined;
      else if ((flags & FLAG_VALUE) !== 0) names.push(Buffer.from(path, 'latin1').toString('utf8'));
      if ((flags & FLAG_EDGE) === 0) continue;
      if (reads >= READS_MAX || names.length > NAMES_MAX) {
        areAll = false;
        return;
      }
      reads++;
      await walk(await nodeOf(Buffer.from(below).toString('hex')), path);
    }
  }

  const root = await nodeOf(reference);
  if (!isNode(root)) return undefined;
  await walk(root, '');
  return { names: names.slice(0, NAMES_MAX), areAll: areAll && names.length <= NAMES_MAX, hasIndex };
}
