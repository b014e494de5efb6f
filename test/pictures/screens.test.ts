import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser } from '../browser/browser.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { SCREEN, SCREENS } from './screens.ts';

const PICTURES = join(import.meta.dirname, '../../docs/pictures');
const BYTES_MAX = 150_000;

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser([], SCREEN);
});
afterAll(() => browser?.close());

test.each(Object.entries(SCREENS))(
  'docs/pictures/%s.webp is up to date; npm run pictures takes it',
  async (name, take) => {
    const { words, picture } = await take(browser, temporaryFolder('svcnet-screen'));
    expect(readFileSync(join(PICTURES, `${name}.txt`), 'utf8')).toBe(words);
    expect(picture.length).toBeLessThan(BYTES_MAX);
    expect(statSync(join(PICTURES, `${name}.webp`)).size).toBeLessThan(BYTES_MAX);
  },
);
