/**
 * The configuration file. Every value stays the text that was written: as a YAML number, a password of digits would
 * lose its leading zero, and an address its digits.
 */
import { createRequire } from 'node:module';

/**
 * Longest YAML, bytes: all options with their help are a third of it. The time to read some texts grows with the
 * square of their length; for this length it is some two seconds.
 */
const YAML_MAX = 32 * 1024;

/**
 * YAML, which includes JSON: the built-in JSON parser reads the testbed's files without loading another one.
 * @returns a map of texts, lists and `null`s in most cases; in JSON also booleans
 * @throws Error that says what is wrong and where, and from the second line on quotes the text
 */
export function parseOptionFile(text: string): unknown {
  if (isJson(text)) return JSON.parse(text, asWritten) as unknown;
  const bytes = Buffer.byteLength(text);
  if (bytes > YAML_MAX)
    throw new Error(`${bytes} bytes of YAML, expected at most ${YAML_MAX}; JSON may be longer`);
  const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  // A missing value is no empty text.
  return parse(text, { schema: 'failsafe', customTags: ['null'] }) as unknown;
}

function isJson(text: string): boolean {
  if (!text.startsWith('{')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? context?.source : value;
}
