/** JSON as written by the API: a bigint becomes an integer with all its digits, never via a float. */
import { Buffer } from 'node:buffer';

/** Part of the language since ES2025 proposals that Node.js 24 ships; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

export function writeJson(body: unknown): Buffer {
  const text = JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'bigint' ? rawJSON(String(value)) : value,
  );
  return Buffer.from(`${text}\n`, 'utf8');
}
