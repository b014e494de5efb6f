import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startSvcnet } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { accessibilityProblems, everyLook, openUrl, overflow, startBrowser, tabThrough } from './browser.ts';

let browser: Browser;
beforeAll(async () => void (browser = await startBrowser()));
afterAll(() => browser.close());

/** It lasts longer than any test. */
async function storm(): Promise<{ url: string; interrupt: () => Promise<string> }> {
  const stateDir = temporaryFolder('svcnet-simulated-page');
  const { child, finished, output } = startSvcnet(
    ['run', 'storm', '--driver', 'simulated', '--seed', '7', '--nodes', '5', '--set', 'duration=10h', '--ui'],
    { stateDir },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await finished;
  });
  const url = () => /http:\S+/.exec(output.stdout)?.[0] ?? '';
  await expect.poll(() => url() !== '' && output.stdout.includes('✔ books')).toBe(true);
  return {
    url: url(),
    async interrupt() {
      child.kill('SIGINT');
      const { stderr } = await finished;
      return stderr;
    },
  };
}

const timeOf = (page: Page) => page.locator('.time-now').innerText();

test('time is paused, stepped and set free, on a wide and on a narrow page', async () => {
  const { url, interrupt } = await storm();
  const { page, complaints } = await openUrl(browser, url);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await page.locator('.time').waitFor();
  await page.locator('h1').click();
  await page.keyboard.press('Space');
  await button('Continue').waitFor();
  const paused = await timeOf(page);
  await page.keyboard.press('.');
  await expect.poll(() => timeOf(page)).not.toBe(paused);
  await button('Continue').waitFor();
  const stepped = await timeOf(page);
  await button('One second').click();
  await expect.poll(() => timeOf(page)).not.toBe(stepped);
  // The second is over and drawn: nothing moves while the page is examined.
  await button('Continue').waitFor();
  await expect.poll(() => page.locator('.messages li').count()).toBeGreaterThan(0);
  for await (const look of everyLook(page)) {
    expect([await overflow(page), await accessibilityProblems(page)], look).toEqual([0, []]);
    expect(await tabThrough(page), look).toEqual({ missed: [], invisible: [] });
  }
  await page.getByLabel('Pace').selectOption('as fast as possible');
  await button('Continue').click();
  await button('Pause').waitFor();
  const running = await timeOf(page);
  await expect.poll(() => timeOf(page)).not.toBe(running);
  expect(await page.getByLabel('Pace').inputValue()).toBe('fast');
  await button('Pause').click();
  await button('Continue').waitFor();
  expect(await interrupt()).toContain('paused at ');
  await page.getByText('The run has ended.').waitFor();
  expect(complaints.filter((text) => !text.includes('ERR_'))).toEqual([]);
});
