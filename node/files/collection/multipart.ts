/**
 * Streams the files of a `multipart/form-data` body, read as Go's `mime/multipart`, because a Bee does. Types are kept as
 * sent: they go into the manifest. `http-api-completion.md` 5.3, RFC 2046, RFC 7578.
 */
import { posix } from 'node:path';
import { bytesOf, shown, textOf } from '../../manifest/byte-text.ts';
import { ByteReader, leaveOpen, skip } from './byte-reader.ts';
import { type CollectionEntry, CollectionError } from './collection.ts';
import { parseMediaType } from './media-parameters.ts';
import { decodeQuotedPrintable } from './quoted-printable.ts';

/** Fits the longest path of a manifest. */
const PART_HEADER_SIZE_MAX = 20 * 1024;
/** Outside headers and contents; RFC 2046 allows boundaries of 70 bytes. */
const LINE_MAX = 4096;

/** A name with a space at its end is another name. */
const HEADER = /^([!#$%&'*+\-.^_`|~0-9A-Za-z ]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;

export interface MultipartOptions {
  /**
   * Refuses what a Bee takes: a body without its last boundary, which it stores as far as it came; a part
   * without a name, which becomes the file of the empty path, where no request finds it. Default true.
   */
  readonly strict?: boolean;
}

/**
 * @param contentType the header, with its boundary
 * @throws CollectionError `INVALID_MULTIPART`, `INVALID_PART_NAME`; what the source throws
 */
export async function* multipartEntries(
  source: AsyncIterable<Uint8Array>,
  contentType: string,
  { strict = true }: MultipartOptions = {},
): AsyncGenerator<CollectionEntry, void, void> {
  const reader = new ByteReader(source);
  const lines = new BoundaryLines(boundaryOf(contentType));
  try {
    for (;;) {
      const found = await toNextPart(reader, lines);
      const head = found === 'part' ? await readHead(reader) : found;
      if (head === 'last' || (head === 'cut' && !strict)) return;
      if (head === 'cut') throw cutOff();
      const raw = contentUpTo(lines, reader);
      const about = describe(head);
      if (strict && about.path === '') throw nameless(lines.parts);
      const encoding = head.get('content-transfer-encoding')?.toLowerCase();
      const body = leaveOpen(raw);
      const broken = (detail: string) => invalid(`${detail}, in part ${shown(about.path)}`);
      yield {
        ...about,
        body: encoding === 'quoted-printable' ? decodeQuotedPrintable(body, broken) : body,
      };
      await skip(raw);
    }
  } finally {
    await reader.end();
  }
}

function boundaryOf(contentType: string): string {
  const { parameters } = parseMediaType(bytesOf(contentType).toString('latin1'));
  const boundary = parameters.get('boundary') ?? '';
  if (boundary === '') throw invalid('the content type has no boundary');
  return boundary;
}

/** What lines around parts look like, which may end with LF alone if the first boundary does. */
class BoundaryLines {
  readonly dash: string;
  end = '\r\n';
  parts = 0;

  constructor(boundary: string) {
    this.dash = `--${boundary}`;
  }

  /** In front of a boundary that ends content. */
  get delimiter(): Buffer {
    return Buffer.from(`${this.end}${this.dash}`, 'latin1');
  }

  startsPart(line: string): boolean {
    if (!line.startsWith(this.dash)) return false;
    const rest = trimmed(line.slice(this.dash.length));
    if (this.parts === 0 && rest === '\n') this.end = '\n';
    return rest === this.end;
  }

  isLast(line: string): boolean {
    if (!line.startsWith(`${this.dash}--`)) return false;
    const rest = trimmed(line.slice(this.dash.length + 2));
    return rest === '' || rest === this.end;
  }
}

/** Reads up to the headers of the next part. */
async function toNextPart(reader: ByteReader, lines: BoundaryLines): Promise<'part' | 'last' | 'cut'> {
  for (let afterContent = false; ; ) {
    const line = (await reader.line(LINE_MAX)).toString('latin1');
    if (!line.endsWith('\n')) {
      if (lines.isLast(line)) return 'last';
      if (line.length === LINE_MAX) throw invalid('a line that is too long for a boundary');
      return 'cut';
    }
    if (lines.startsPart(line)) {
      lines.parts += 1;
      return 'part';
    }
    if (lines.isLast(line)) return 'last';
    // Whatever comes before the first part is skipped.
    if (lines.parts === 0) continue;
    if (afterContent || line !== lines.end)
      throw invalid(`a boundary is expected after part ${lines.parts}, not ${shown(line.trimEnd())}`);
    afterContent = true;
  }
}

/** Headers of a part by lower-case name, the first of each name. */
async function readHead(reader: ByteReader): Promise<ReadonlyMap<string, string> | 'cut'> {
  const lines: string[] = [];
  let isCut = false;
  for (let left = PART_HEADER_SIZE_MAX; !isCut; ) {
    const bytes = await reader.line(left);
    left -= bytes.length;
    const whole = bytes.toString('latin1');
    isCut = !whole.endsWith('\n');
    if (isCut && left <= 0) throw invalid('headers of a part are too long');
    const line = whole.replace(/\r?\n$/, '');
    if (line === '') break;
    const goesOn = /^[ \t]/.test(line);
    if (goesOn ? lines.length === 0 : !line.includes(':'))
      throw invalid(`a part with the broken header ${shown(textOf(Buffer.from(line, 'latin1')))}`);
    if (!goesOn) lines.push(trimmedAtEnd(line));
    else lines.push(`${lines.pop()} ${trimmedAtEnd(trimmed(line))}`);
  }
  const head = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw invalid(`a part with the broken header ${shown(textOf(Buffer.from(line, 'latin1')))}`);
    if (!head.has(name.toLowerCase())) head.set(name.toLowerCase(), value);
  }
  return isCut ? 'cut' : head;
}

/** The content of a part; the boundary behind it is left in the reader. */
async function* contentUpTo(
  lines: BoundaryLines,
  reader: ByteReader,
): AsyncGenerator<Uint8Array, void, void> {
  const { delimiter } = lines;
  // Empty content may come without the line end in front of the boundary.
  let wanted: Buffer = Buffer.from(lines.dash, 'latin1');
  for (let held: Uint8Array = new Uint8Array(0), isEnd = false; ; ) {
    const bytes = Buffer.from(held.buffer, held.byteOffset, held.length);
    const found = scan(bytes, { dash: wanted, delimiter, isEnd });
    if (found.size > 0) {
      yield held.subarray(0, found.size);
      wanted = delimiter;
      held = held.subarray(found.size);
    }
    if (found.isDone) return reader.unread(held);
    if (found.size > 0) continue;
    if (isEnd) throw cutOff();
    const more = await reader.some(Number.POSITIVE_INFINITY);
    isEnd = more === undefined;
    if (more !== undefined) held = held.length === 0 ? more : Buffer.concat([held, more]);
  }
}

/**
 * How many bytes are content for certain, and whether a boundary follows them. Nothing and no boundary: more bytes
 * must tell.
 * @param dash a boundary that counts at the very start, besides the delimiter
 */
function scan(
  held: Buffer,
  { dash, delimiter, isEnd }: { dash: Buffer; delimiter: Buffer; isEnd: boolean },
): { size: number; isDone?: true } {
  const isAtStart = held.subarray(0, dash.length).equals(dash);
  if (!isAtStart && held.length < dash.length && dash.subarray(0, held.length).equals(held))
    return { size: 0 };
  const at = isAtStart ? 0 : held.indexOf(delimiter);
  if (at === -1) return { size: held.length - beginning(held, delimiter) };
  const length = isAtStart ? dash.length : delimiter.length;
  const verdict = endsBoundary(held.subarray(at + length), isEnd);
  if (verdict === false) return { size: at + length };
  return verdict === undefined ? { size: at } : { size: at, isDone: true };
}

/**
 * Whether a boundary ends before these bytes, or is a part of the content that goes on; undefined: more must tell.
 */
function endsBoundary(after: Buffer, isEnd: boolean): boolean | undefined {
  const [first, second] = after.toString('latin1', 0, 2);
  if (first === undefined) return isEnd || undefined;
  if (' \t\r\n'.includes(first)) return true;
  if (first !== '-') return false;
  return second === undefined ? (isEnd ? false : undefined) : second === '-';
}

/** How many of the last bytes may be the beginning of the delimiter, which has its first byte only once. */
function beginning(held: Buffer, delimiter: Buffer): number {
  const at = held.lastIndexOf(delimiter[0] as number);
  if (at === -1) return 0;
  const tail = held.subarray(at);
  return tail.length < delimiter.length && delimiter.subarray(0, tail.length).equals(tail) ? tail.length : 0;
}

/** The base name of the file name, or the whole form name, which is how directories are sent. */
function describe(head: ReadonlyMap<string, string>): Omit<CollectionEntry, 'body'> {
  const { type, parameters } = parseMediaType(head.get('content-disposition') ?? '');
  const filename = parameters.get('filename') ?? '';
  const formName = type === 'form-data' ? (parameters.get('name') ?? '') : '';
  const path = textOf(Buffer.from(filename === '' ? formName : baseName(filename), 'latin1'));
  checkPath(path);
  const contentType = textOf(Buffer.from(head.get('content-type') ?? '', 'latin1'));
  return { path, contentType, filename: baseName(path) };
}

function baseName(path: string): string {
  if (path === '') return '.';
  return posix.basename(path) || '/';
}

/** @throws CollectionError for a path that no request reaches, because paths of requests are cleaned */
function checkPath(path: string): void {
  if (path === '') return;
  const segments = path.split('/');
  const isUnreachable = segments.some(
    (segment, i) => ['.', '..'].includes(segment) || (segment === '' && i < segments.length - 1),
  );
  if (isUnreachable)
    throw new CollectionError(
      'INVALID_PART_NAME',
      `a part with the name ${shown(path)}, which is no path in the collection`,
    );
}

function nameless(part: number): CollectionError {
  return new CollectionError(
    'INVALID_PART_NAME',
    `part ${part} without a name, expected Content-Disposition: form-data; name="path/of/the/file"`,
  );
}

function trimmed(text: string): string {
  return text.replace(/^[ \t]+/, '');
}

function trimmedAtEnd(text: string): string {
  return text.replace(/[ \t]+$/, '');
}

function invalid(detail: string): CollectionError {
  return new CollectionError('INVALID_MULTIPART', `multipart body: ${detail}`);
}

function cutOff(): CollectionError {
  return invalid('it is cut off');
}
