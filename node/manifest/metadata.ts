/** Stored data, the same in every dialect. `data-formats.md` 5.2 and 5.5. */
import { ManifestError } from './errors.ts';

export type Metadata = Readonly<Record<string, string>>;

/** At the path `/`. */
export const INDEX_DOCUMENT = 'website-index-document';
export const ERROR_DOCUMENT = 'website-error-document';
export const CONTENT_TYPE = 'Content-Type';
export const FILENAME = 'Filename';

/** Metadata with its size field ends at a multiple of this. */
const ALIGNMENT = 32;
const SIZE_FIELD = 2;
const METADATA_SIZE_MAX = 0xffff;

const ESCAPED = /[<>&\u2028\u2029]/g;

/**
 * JSON with bytewise sorted keys, escaped as by Bees, padded with newlines: none for a short text that just fits, a block
 * for a longer one. Without the size field.
 * @throws ManifestError `METADATA_TOO_LARGE`
 */
export function encodeMetadata(metadata: Metadata): Uint8Array {
  const keys = Object.keys(metadata).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const members = keys.map((key) => `${quoted(key)}:${quoted(metadata[key] as string)}`);
  const json = Buffer.from(`{${members.join(',')}}`);
  const used = SIZE_FIELD + json.length;
  const padding = used <= ALIGNMENT ? ALIGNMENT - used : ALIGNMENT - (used % ALIGNMENT);
  if (json.length + padding > METADATA_SIZE_MAX)
    throw new ManifestError('METADATA_TOO_LARGE', 'metadata too large');
  return new Uint8Array(Buffer.concat([json, Buffer.alloc(padding, '\n')]));
}

/** @throws ManifestError `NODE_MALFORMED` unless an object of strings */
export function decodeMetadata(bytes: Uint8Array): Metadata {
  const value = parseJson(Buffer.from(bytes).toString());
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || !Object.values(value).every((member) => typeof member === 'string'))
    throw new ManifestError(
      'NODE_MALFORMED',
      'metadata is no object of strings: malformed manifest contents',
    );
  return Object.fromEntries(
    Object.entries(value as Metadata).map(([key, member]) => [key, member.toWellFormed()]),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ManifestError('NODE_MALFORMED', 'metadata is not JSON: malformed manifest contents', {
      cause: error,
    });
  }
}

/** A byte that is no text becomes U+FFFD. Compat: as Bee v2.8.1 writes names. */
function quoted(text: string): string {
  const pieces = text.split(/\p{Surrogate}/u).map((piece) =>
    JSON.stringify(piece)
      .slice(1, -1)
      .replace(ESCAPED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
  return `"${pieces.join(String.raw`\ufffd`)}"`;
}
