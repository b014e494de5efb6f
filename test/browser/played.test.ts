import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startSvcnet } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { writeRecord } from '../unit/harness/inspect/live/recorded/record.ts';
import { accessibilityProblems, openUrl, overflow, startBrowser, tabThrough } from './browser.ts';

let browser: Browser;
beforeAll(async () => void (browser = await startBrowser()));
afterAll(() => browser.close());

async function played(): Promise<{ url: string; interrupt: () => Promise<number | null> }> {
  const folder = temporaryFolder('svcnet-played-page');
  await writeRecord(folder);
  const { child, finished, output } = startSvcnet(['ui', '--run', folder, '--json'], {
    stateDir: temporaryFolder('svcnet-played-state'),
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await finished;
  });
  await expect.poll(() => output.stdout).toContain('"url"');
  return {
    url: (JSON.parse(output.stdout) as { url: string }).url,
    async interrupt() {
      child.kill('SIGINT');
      return (await finished).code;
    },
  };
}

const timeOf = (page: Page) => page.locator('.time-now').innerText();
/** Runs in the browser. */
const STATES = `[...document.querySelectorAll('.all-nodes tbody tr')].map(({ cells: [node, state] }) =>
  node.innerText + ' ' + state.innerText)`;
const statesOf = (page: Page) => page.evaluate<string[]>(STATES);

test.each([
  { width: 400, colorScheme: 'dark' },
  { width: 1000, colorScheme: 'light' },
] as const)('a record is played by mouse and keys, $width pixels wide', async ({ width, colorScheme }) => {
  const { url, interrupt } = await played();
  const { page, complaints } = await openUrl(browser, url, { viewport: { width, height: 900 }, colorScheme });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await button('Play').waitFor();
  expect(await page.locator('header .connection').innerText()).toBe('Recorded');
  for (const name of ['Next message', 'Pause']) expect(await button(name).count()).toBe(0);
  await page.locator('h1').click();
  for (const time of ['0:00.100', '0:01.000', '0:02.200']) {
    await page.keyboard.press('.');
    await expect.poll(() => timeOf(page)).toBe(time);
  }
  await expect.poll(() => page.locator('.events li').first().innerText()).toContain('kills node-1');
  await expect.poll(() => statesOf(page)).toEqual(['node-0 runs', 'node-1 killed']);
  await expect.poll(() => page.locator('.doing').innerText()).toBe('upload: kills node-1');
  await page.keyboard.press('f');
  await expect.poll(() => timeOf(page)).toBe('0:08.000');
  await expect
    .poll(() => page.locator('.events li.failure').innerText())
    .toContain('condition failed: all is there: 2 of 3, expected 3 of 3');
  await expect.poll(() => statesOf(page)).toEqual(['node-0 runs', 'node-1 runs', 'node-2 runs']);
  const position = page.getByLabel('Position');
  await position.press('Home');
  await expect.poll(() => timeOf(page)).toBe('0:00.000');
  expect(await position.getAttribute('aria-valuetext')).toBe('0:00.000');
  await page.locator('.lacks summary').click();
  await page.getByText('the cluster had no tap').waitFor();
  await position.press('End');
  await expect.poll(() => timeOf(page)).toBe('0:09.500');
  await page.getByText('Operations of the scenario').waitFor();
  expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
  expect(await tabThrough(page)).toEqual({ missed: [], invisible: [] });
  await page.getByLabel('Pace').selectOption('100×');
  await page.locator('h1').click();
  await page.keyboard.press('Space');
  // From the beginning, and to its end.
  await expect.poll(() => timeOf(page)).toBe('0:09.500');
  await button('Play').waitFor();
  expect(await interrupt()).toBe(130);
  expect(complaints.filter((text) => !text.includes('ERR_'))).toEqual([]);
  await page.context().close();
});
