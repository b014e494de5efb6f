/**
 * Files of a `multipart/form-data` body, one after another as they stream by. The content type of a part is
 * kept as sent, parameters included, because it goes into the manifest. `http-api-completion.md` 5.3, RFC
 * 2046, RFC 7578.
 */
import { posix } from 'node:path';
import { ByteReader, leaveOpen, skip } from './byte-reader.ts';
import { type CollectionEntry, CollectionError } from './collection.ts';

/** Header block of one part; a path is at most 4096 bytes. */
const PART_HEADER_SIZE_MAX = 16 * 1024;
/** RFC 2046. */
const BOUNDARY_SIZE_MAX = 70;

/**
 * What a backslash escapes in a name: the special characters of RFC 2045. Before others it is part of the name,
 * since browsers do not escape it. Compat: Bee v2.8.1 reads names in the same way.
 */
const ESCAPED = /\\([()<>@,;:\\"/[\]?=])/g;

const LINE_END = Buffer.from('\r\n');
const HEADER_END = Buffer.from('\r\n\r\n');

/**
 * @param contentType the request's header, with its boundary
 * @throws CollectionError `INVALID_MULTIPART`, `INVALID_PART_NAME`; what the source throws
 */
export async function* multipartEntries(
  source: AsyncIterable<Uint8Array>,
  contentType: string,
): AsyncGenerator<CollectionEntry, void, void> {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`);
  const reader = new ByteReader(source);
  // The first boundary may come at the very start, without its line end.
  reader.unread(LINE_END);
  try {
    await skip(reader.until(delimiter, cutOff));
    for (let head = await readHead(reader); head !== undefined; head = await readHead(reader)) {
      const body = reader.until(delimiter, cutOff);
      yield { ...describe(head), body: leaveOpen(body) };
      await skip(body);
    }
  } finally {
    await reader.end();
  }
}

function boundaryOf(contentType: string): string {
  const parameter = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))/i.exec(contentType);
  const boundary = parameter?.[1]?.replace(/\\(.)/g, '$1') ?? parameter?.[2] ?? '';
  if (boundary === '' || boundary.length > BOUNDARY_SIZE_MAX) throw invalid('no usable boundary');
  return boundary;
}

/** What follows a boundary: the headers of a part by lower-case name, or undefined after the last part. */
async function readHead(reader: ByteReader): Promise<Map<string, string> | undefined> {
  const mark = await reader.take(2);
  if (mark.length === 2 && mark.every((byte) => byte === 0x2d)) return undefined;
  reader.unread(mark);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of reader.until(HEADER_END, cutOff)) {
    size += piece.length;
    if (size > PART_HEADER_SIZE_MAX) throw invalid('headers of a part are too long');
    pieces.push(piece);
  }
  const [padding = '', ...lines] = Buffer.concat(pieces).toString().split('\r\n');
  if (padding.trim() !== '') throw invalid('a boundary is followed by something else');
  return new Map(lines.map(parseHeader));
}

function parseHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw invalid('a part with a broken header');
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
}

/** The base name of the file name, or the whole form name, which is how directories are sent. */
function describe(head: ReadonlyMap<string, string>): Omit<CollectionEntry, 'body'> {
  const disposition = head.get('content-disposition') ?? '';
  const filename = parameterOf(disposition, 'filename');
  const formName = /^form-data\s*(;|$)/i.test(disposition) ? parameterOf(disposition, 'name') : '';
  const path = filename === '' ? formName : posix.basename(filename);
  checkPath(path);
  return { path, contentType: head.get('content-type') ?? '', filename: posix.basename(path) };
}

function parameterOf(disposition: string, name: string): string {
  const parameter = /;\s*([^\s=;*]+)(\*?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))/g;
  let value = '';
  for (const [, key, extended, quoted, plain = ''] of disposition.matchAll(parameter)) {
    if (key?.toLowerCase() !== name) continue;
    if (extended === '*') return decodeExtended(plain);
    value = quoted?.replace(ESCAPED, '$1') ?? plain;
  }
  return value;
}

/** `UTF-8''percent-encoded`, RFC 8187. */
function decodeExtended(value: string): string {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value)?.[1];
  try {
    return decodeURIComponent(encoded ?? '');
  } catch (error) {
    if (error instanceof URIError) throw badName();
    throw error;
  }
}

function checkPath(path: string): void {
  const segments = path.split('/');
  const leadsOut = path.startsWith('/') || segments.includes('..') || segments.includes('.');
  if (path === '' || leadsOut || path.includes('\0')) throw badName();
}

function badName(): CollectionError {
  return new CollectionError('INVALID_PART_NAME', 'a part whose name is no path in the collection');
}

function invalid(detail: string): CollectionError {
  return new CollectionError('INVALID_MULTIPART', `multipart body: ${detail}`);
}

function cutOff(): CollectionError {
  return invalid('it is cut off');
}
