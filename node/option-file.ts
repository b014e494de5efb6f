/** Values stay text: as a YAML number, a password of digits would lose its leading zero, and an address its digits. */
import { createRequire } from 'node:module';

/** All options with their help are a third of it. Some texts take quadratic time: two seconds for this length. */
const YAML_MAX = 32 * 1024;

/**
 * YAML, which includes JSON: for that the built-in parser does.
 * @returns mostly a map of texts, lists and `null`s; in JSON also booleans
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
