/** RFC 2045 6.7, read as Go's `mime/quotedprintable`. */
import { ByteReader } from './byte-reader.ts';

/** The standard has 76. */
const LINE_MAX = 4096;
const SPACE_AT_END = /[\n\r \t]+$/;
/** Control characters, except those of lines. */
const NOT_TEXT = /[^\t\n\r\x20-\x7e\x80-\xff]/;
const HALF_BYTE = /=(?:[\r\n]|$)/;
const BYTE = /=([0-9A-Fa-f]{2})/g;

/** @param broken the error for other encodings */
export async function* decodeQuotedPrintable(
  pieces: AsyncIterable<Uint8Array>,
  broken: (detail: string) => Error,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = new ByteReader(pieces);
  for (;;) {
    const line = (await reader.line(LINE_MAX)).toString('latin1');
    if (line === '') return;
    const isLast = !line.endsWith('\n');
    if (isLast && line.length === LINE_MAX) throw broken('a line of quoted-printable that is too long');
    const text = line.replace(SPACE_AT_END, '');
    const end = /\r?\n$/.exec(line)?.[0] ?? '';
    const decoded = text.endsWith('=') ? softly(text, { line, isLast }, broken) : text + end;
    if (HALF_BYTE.test(decoded)) throw broken('a line of quoted-printable that ends with =');
    if (NOT_TEXT.test(decoded)) throw broken('a control character in quoted-printable');
    yield Buffer.from(
      decoded.replace(BYTE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    );
  }
}

/** Goes on in the next line. */
function softly(
  text: string,
  { line, isLast }: { line: string; isLast: boolean },
  broken: (detail: string) => Error,
): string {
  const after = line.slice(text.length).replace(/^[ \t]+/, '');
  const isEnd = isLast && after === '' && text.length > 1;
  if (!isEnd && !/^\r?\n/.test(after)) throw broken('a line of quoted-printable that ends with =');
  return text.slice(0, -1);
}
