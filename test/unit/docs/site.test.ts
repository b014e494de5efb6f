import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { files, read } from './repository.ts';

test('every page of docs is linked from the README, directly or by other pages', () => {
  const reached = new Set(['README.md']);
  for (const page of reached)
    for (const [, target = ''] of read(page).matchAll(/\]\(([^)#\s]+\.md)/g)) {
      const path = posix.join(posix.dirname(page), target);
      if (!/^[a-z]+:/.test(target)) reached.add(path);
    }
  const pages = files().filter((path) => /^docs\/.*\.md$/.test(path));
  expect(pages.filter((page) => !reached.has(page))).toEqual([]);
});

test('every picture is shown by a page', () => {
  const shown = files()
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      [...read(path).matchAll(/!\[[^\]]{20,}\]\(([^)\s]+)\)/g)].map(([, target = '']) =>
        posix.join(posix.dirname(path), target),
      ),
    );
  const pictures = files().filter((path) => /^docs\/pictures\/.*\.(svg|webp)$/.test(path));
  expect(pictures.length).toBeGreaterThan(0);
  expect(pictures.filter((path) => !shown.includes(path))).toEqual([]);
});

test('the README has at most 200 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(200);
});
