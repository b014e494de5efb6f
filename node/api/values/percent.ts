/** RFC 3986. Bytes need not be UTF-8: decoded text is that of `byte-text.ts`. */
import { textOf } from '../../manifest/byte-text.ts';

const PLAIN = /^[^%\P{ASCII}]*$/u;

/** @returns undefined for a percent sign without two hex digits */
export function percentDecode(text: string): string | undefined {
  if (PLAIN.test(text)) return text;
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  // Unencoded bytes come as one character each.
  const bytes = text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return textOf(Buffer.from(bytes, 'latin1'));
}

export function percentEncode(text: string): string {
  if (text.isWellFormed()) return encodeURIComponent(text);
  return Array.from(text, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : `%${escapedByte(character)}`,
  ).join('');
}

/** The byte is in a lone surrogate's last two digits. */
function escapedByte(character: string): string {
  return character.charCodeAt(0).toString(16).slice(-2).toUpperCase();
}

/** First value of each name; wrong encoding stays. */
export function queryValues(query: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    const name = spaced(equals === -1 ? pair : pair.slice(0, equals));
    if (pair !== '' && !values.has(name))
      values.set(name, equals === -1 ? '' : spaced(pair.slice(equals + 1)));
  }
  return values;
}

function spaced(text: string): string {
  const written = text.replaceAll('+', ' ');
  return percentDecode(written) ?? written;
}
