/** A page of the files of a manifest, in the order of their paths' bytes: `http-api-completion.md` 5.3. */
import { bytesOf } from './byte-text.ts';
import type { Manifest } from './manifest.ts';
import type { Metadata } from './metadata.ts';

/** Characters of paths and metadata on one page, about. */
const PAGE_SIZE_MAX = 8 * 1024 * 1024;

export interface ListingRequest {
  /** Of every path. */
  readonly prefix: string;
  /** Paths that have it behind the prefix are one common prefix, up to and with the delimiter. Empty: none are. */
  readonly delimiter: string;
  /** Only what comes after this, file or common prefix. Empty: everything. */
  readonly after: string;
  /** Files and common prefixes, at least 1. */
  readonly limit: number;
}

export interface ListedFile {
  readonly path: string;
  readonly reference: Uint8Array;
  readonly metadata: Metadata;
}

export interface Listing {
  readonly entries: readonly ListedFile[];
  readonly commonPrefixes: readonly string[];
  /** The last one of a page that others follow: the next page comes after it. */
  readonly nextMarker: string | undefined;
}

/**
 * A path that carries only metadata is not a file. A page may end before its limit, and never at a name that is not UTF-8,
 * which no request could name. @throws ManifestError `MANIFEST_TOO_LARGE`, `PATH_TOO_LONG`; what reading a node throws
 */
export async function list(
  manifest: Manifest,
  { prefix, delimiter, after, limit }: ListingRequest,
): Promise<Listing> {
  const [wanted, mark] = [bytes(prefix), bytes(after)];
  const entries: ListedFile[] = [];
  const commonPrefixes: string[] = [];
  /** Bytes of the latest common prefix: nothing more is to be read below it. */
  let done: string | undefined;
  let last = '';
  let size = 0;
  const enters = (path: string) =>
    (path.startsWith(wanted) || wanted.startsWith(path)) &&
    (path > mark || mark.startsWith(path)) &&
    (done === undefined || !path.startsWith(done));
  for await (const { path, value } of manifest.values(enters)) {
    if (!path.startsWith(prefix) || value.reference.every((byte) => byte === 0)) continue;
    const end = delimiter === '' ? -1 : path.indexOf(delimiter, prefix.length);
    const shown = end === -1 ? path : path.slice(0, end + delimiter.length);
    if (end !== -1) done = bytes(shown);
    if (bytes(shown) <= mark) continue;
    if ((entries.length + commonPrefixes.length >= limit || size > PAGE_SIZE_MAX) && last.isWellFormed())
      return { entries, commonPrefixes, nextMarker: last };
    if (end === -1) entries.push({ path, ...value });
    else commonPrefixes.push(shown);
    last = shown;
    size += shown.length + Object.entries(value.metadata).flat().join('').length;
  }
  return { entries, commonPrefixes, nextMarker: undefined };
}

/** As one character per byte, so that texts compare as their bytes do. */
function bytes(text: string): string {
  return bytesOf(text).toString('latin1');
}
