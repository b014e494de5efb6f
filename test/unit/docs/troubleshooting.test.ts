import { expect, test } from 'vitest';
import { files, read } from './repository.ts';

const SOURCES = files()
  .filter((path) => /^(?:node|harness|chain)\/.*\.[jt]s$/.test(path))
  .map((path) => read(path).replaceAll("\\'", "'"));

/** Of each table whose head is `Message`. */
function messages(): string[] {
  const tables = read('docs/reference/troubleshooting.md')
    .split(/\n\n(?=\| Message )/)
    .slice(1);
  return tables.flatMap((table) =>
    [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `([^`]+)`/gm)].map(([, message = '']) => message),
  );
}

test('the page has more than 20 messages', () => expect(messages().length).toBeGreaterThan(20));

test.each(messages())('%s', (message) => {
  const fixed = message
    .split(/…/)
    .map((part) => part.trim())
    .filter((part) => part.length > 5);
  expect(fixed).not.toEqual([]);
  for (const part of fixed)
    expect(
      SOURCES.some((source) => source.includes(part)),
      part,
    ).toBe(true);
});
