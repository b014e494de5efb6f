/** Pages that a reader works through stay short: a new sentence replaces another, and facts go to the reference. */
import { expect, test } from 'vitest';
import { files, read } from './repository.ts';

/** Words as `wc -w` counts them. */
const WORDS_MAX = 18_000;
const LOOKED_UP = /^docs\/(?:protocol|reference)\//;

test(`README and the guides have at most ${WORDS_MAX} words together`, () => {
  const pages = files().filter(
    (path) => path === 'README.md' || (/^docs\/.*\.md$/.test(path) && !LOOKED_UP.test(path)),
  );
  expect(pages).toContain('docs/guides/ci.md');
  const words = pages.map((path) => read(path).split(/\s+/).filter(Boolean).length);
  expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(WORDS_MAX);
});
