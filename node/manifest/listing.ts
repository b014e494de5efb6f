/** A page of a manifest's files, by their paths' bytes: `http-api-completion.md` 5.3. */
import { bytesOf, textOf } from './byte-text.ts';
import { ManifestError } from './errors.ts';
import type { Manifest } from './manifest.ts';
import type { Metadata } from './metadata.ts';

/** Characters of a page as JSON, about. */
const PAGE_SIZE_MAX = 8 * 1024 * 1024;
/** Names of the fields, and signs. */
const FILE_SIZE = 64;

export interface ListingRequest {
  readonly prefix: string;
  /** Paths with it behind the prefix become one common prefix, delimiter included. Empty: none. */
  readonly delimiter: string;
  /** Exclusive. Empty: all. */
  readonly after: string;
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
  /** The last entry of a page that others follow. */
  readonly nextMarker: string | undefined;
}

/**
 * A path with only metadata is no file. A page may end before its limit, but never at a name that is not UTF-8, which no
 * answer could tell: it becomes longer, up to twice.
 * @throws ManifestError `MANIFEST_TOO_LARGE`, `PATH_TOO_LONG`; what reading a node throws
 */
export async function list(manifest: Manifest, request: ListingRequest): Promise<Listing> {
  const [prefix, delimiter, after] = [bytes(request.prefix), bytes(request.delimiter), bytes(request.after)];
  const entries: ListedFile[] = [];
  const commonPrefixes: string[] = [];
  /** Nothing more is read below this common prefix. */
  let done: string | undefined;
  let last = '';
  let size = 0;
  const exceeds = (times: number) =>
    entries.length + commonPrefixes.length >= times * request.limit || size > times * PAGE_SIZE_MAX;
  const enters = (path: string) =>
    (path.startsWith(prefix) || prefix.startsWith(path)) &&
    (path > after || after.startsWith(path)) &&
    (done === undefined || !path.startsWith(done));
  for await (const { path: text, value } of manifest.values(enters)) {
    const path = bytes(text);
    if (!path.startsWith(prefix) || value.reference.every((byte) => byte === 0)) continue;
    const end = delimiter === '' ? -1 : path.indexOf(delimiter, prefix.length);
    const isFile = end === -1;
    const shown = isFile ? path : path.slice(0, end + delimiter.length);
    if (!isFile) done = shown;
    if (shown <= after) continue;
    if (exceeds(1) && last.isWellFormed()) return { entries, commonPrefixes, nextMarker: last };
    if (exceeds(2))
      throw new ManifestError(
        'MANIFEST_TOO_LARGE',
        `manifest too large: more than twice the limit of ${request.limit} or ${PAGE_SIZE_MAX} bytes, without a name in UTF-8 to end a page at`,
      );
    last = textOf(Buffer.from(shown, 'latin1'));
    size += JSON.stringify(last).length;
    if (isFile) {
      entries.push({ path: last, ...value });
      size += JSON.stringify(value.metadata).length + 2 * value.reference.length + FILE_SIZE;
    } else commonPrefixes.push(last);
  }
  return { entries, commonPrefixes, nextMarker: undefined };
}

/** One character per byte: texts compare as bytes. */
function bytes(text: string): string {
  return bytesOf(text).toString('latin1');
}
