/**
 * Names are bytes, mostly UTF-8. As text, each byte that is no part of valid UTF-8 is a lone surrogate, U+DC00 plus the
 * byte, so every name survives. Text that is shown or stored as JSON goes through `shown` or `metadata.ts`.
 */
import { isUtf8 } from 'node:buffer';

/** Only 0x80 to 0xff: others are ASCII. */
const ESCAPE = 0xdc00;
const ESCAPED = /[\udc80-\udcff]/u;
const SHOWN_MAX = 200;

export function textOf(bytes: Uint8Array): string {
  if (isUtf8(bytes)) return Buffer.from(bytes).toString();
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const end = at + lengthOfCharacter(bytes[at] as number);
    const valid = isUtf8(bytes.subarray(at, end));
    text += valid
      ? Buffer.from(bytes.subarray(at, end)).toString()
      : String.fromCharCode(ESCAPE + (bytes[at] as number));
    at = valid ? end : at + 1;
  }
  return text;
}

function lengthOfCharacter(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

export function bytesOf(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  return Buffer.concat(
    Array.from(text, (character) =>
      ESCAPED.test(character) ? Buffer.of(character.charCodeAt(0) - ESCAPE) : Buffer.from(character),
    ),
  );
}

/** A name in quotes, without control characters, cut. */
export function shown(name: string): string {
  const cut = name.length > SHOWN_MAX ? `${name.slice(0, SHOWN_MAX)}…` : name;
  return JSON.stringify(cut.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd'));
}
