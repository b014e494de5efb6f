/**
 * Entries about the next file: pax records, GNU long names, as in Go's `archive/tar`: a second list of records replaces the
 * first, a GNU long name wins over a pax path, empty values do not count.
 */
import { type ByteReader, skip } from './byte-reader.ts';
import type { CollectionError } from './collection.ts';
import { badHeader, cutOff, type Header, latin1, paddingOf, upToNul } from './tar-header.ts';

/** Byte strings, one character per byte. */
export interface Attributes {
  readonly records: ReadonlyMap<string, string>;
  readonly longName: string;
  readonly longTarget: string;
}

export const NO_ATTRIBUTES: Attributes = { records: new Map(), longName: '', longTarget: '' };

/** Archive writers stay far below. */
const ATTRIBUTES_SIZE_MAX = 1024 * 1024;

/** Values without NUL; of other keys the key itself. */
const TEXT_KEYS: readonly string[] = ['path', 'linkpath', 'uname', 'gname'];
/** Unused, but must be well formed. */
const SHAPES: ReadonlyMap<string, RegExp> = new Map([
  ...['uid', 'gid'].map((key) => [key, /^[+-]?\d{1,19}$/] as const),
  ...['atime', 'mtime', 'ctime'].map((key) => [key, /^[+-]?\d{1,19}(\.\d*)?$/] as const),
]);

/** Offsets and sizes of data in a sparse file; in the oldest form one record each. */
export const SPARSE_MAP = 'GNU.sparse.map';
const SPARSE_PAIR: readonly [string, string] = ['GNU.sparse.offset', 'GNU.sparse.numbytes'];

export const DESCRIBE: Readonly<Record<string, (content: Uint8Array) => Partial<Attributes>>> = {
  x: (content) => ({ records: recordsOf(content) }),
  L: (content) => ({ longName: upToNul(latin1(content)) }),
  K: (content) => ({ longTarget: upToNul(latin1(content)) }),
};

/** @throws CollectionError `INVALID_TAR_FILENAME`, `INVALID_TAR` */
export async function readContent(reader: ByteReader, { size }: Header): Promise<Uint8Array> {
  if (size < 0 || size > ATTRIBUTES_SIZE_MAX) throw badHeader(`attributes of ${size} bytes`);
  const content = await reader.take(size);
  if (content.length < size) throw cutOff();
  await skip(reader.next(paddingOf(size), cutOff));
  return content;
}

/** `LENGTH KEY=VALUE\n`, length of the record. @throws CollectionError `INVALID_TAR_FILENAME` */
export function recordsOf(content: Uint8Array): ReadonlyMap<string, string> {
  const text = latin1(content);
  const records = new Map<string, string>();
  const map: string[] = [];
  for (let at = 0; at < text.length; ) {
    const { key, value, end } = recordAt(text, at);
    if (SPARSE_PAIR.includes(key)) {
      if (key !== SPARSE_PAIR[map.length % 2] || value.includes(',')) throw badRecord(key);
      map.push(value);
    } else records.set(key, value);
    at = end;
  }
  if (map.length > 0) records.set(SPARSE_MAP, map.join(','));
  return records;
}

function recordAt(text: string, at: number): { key: string; value: string; end: number } {
  const space = text.indexOf(' ', at);
  const length = space === -1 ? '' : text.slice(at, space);
  const end = /^\+?\d{1,10}$/.test(length) ? at + Number(length) : 0;
  const equals = text.indexOf('=', space);
  if (end <= space + 1 || end > text.length || text[end - 1] !== '\n' || equals === -1 || equals >= end - 1)
    throw badHeader('a broken record of attributes');
  const key = text.slice(space + 1, equals);
  const value = text.slice(equals + 1, end - 1);
  const mustNotHaveNul = TEXT_KEYS.includes(key) ? value : key;
  if (key === '' || mustNotHaveNul.includes('\0')) throw badRecord(key);
  if (value !== '' && SHAPES.get(key)?.test(value) === false) throw badRecord(key);
  return { key, value, end };
}

/** @throws CollectionError `INVALID_TAR_FILENAME` */
export function decimalIn(records: ReadonlyMap<string, string>, key: string): number | undefined {
  const value = records.get(key) ?? '';
  return value === '' ? undefined : decimal(value, key);
}

/** @throws CollectionError `INVALID_TAR_FILENAME` unless counted exactly */
export function decimal(digits: string, what: string): number {
  const value = /^\+?\d{1,19}$/.test(digits) ? Number(digits) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw badHeader(`a value of ${what} that is no size`);
  return value;
}

function badRecord(key: string): CollectionError {
  return badHeader(`an invalid record ${JSON.stringify(key)}`);
}
