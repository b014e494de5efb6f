import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { MessageFile } from '../../harness/report/messages/message-file.ts';
import type { RunResult } from '../../harness/report/result.ts';
import { startSvcnet } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { BEGAN, writeRecord } from '../unit/harness/inspect/live/recorded/record.ts';
import { accessibilityProblems, everyLook, openUrl, overflow, startBrowser, tabThrough } from './browser.ts';

let browser: Browser;
beforeAll(async () => void (browser = await startBrowser()));
afterAll(() => browser.close());

async function record(): Promise<string> {
  const folder = temporaryFolder('svcnet-played-page');
  await writeRecord(folder);
  return folder;
}

/** Only of the second one, messages are kept. */
async function recordOfTwo(): Promise<string> {
  const folder = await record();
  const path = join(folder, 'report.json');
  const run = JSON.parse(readFileSync(path, 'utf8')) as RunResult;
  const second = { ...run.scenarios[0], name: 'second', result: 'passed', assertions: [], cluster: 2 };
  writeFileSync(path, JSON.stringify({ ...run, scenarios: [...run.scenarios, second] }));
  mkdirSync(join(folder, 'cluster-2'));
  copyFileSync(join(folder, 'cluster.json'), join(folder, 'cluster-2', 'cluster.json'));
  const messages = new MessageFile(folder);
  for (const began of [BEGAN, BEGAN]) messages.next(began);
  const id = '/swarm/pushsync/1.3.1/pushsync';
  const said = { from: 'node-0', to: 'node-1', stream: 's', protocol: 'pushsync', id, name: 'Delivery' };
  await messages.append([{ ...said, at: BEGAN + 50, kind: 'message', fields: {}, bytes: 99, cluster: 2 }]);
  return folder;
}

async function played(folder: string): Promise<{ url: string; interrupt: () => Promise<number | null> }> {
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
const COVERED = `(() => {
  scrollTo(0, document.body.scrollHeight);
  return [...document.querySelectorAll('.time button:not([hidden])')]
    .filter((button) => {
      const { x, y, width, height } = button.getBoundingClientRect();
      return !button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    })
    .map(({ innerText }) => innerText);
})()`;
const STATES = `[...document.querySelectorAll('.all-nodes tbody tr')].map(({ cells: [node, state] }) =>
  node.innerText + ' ' + state.innerText)`;
const statesOf = (page: Page) => page.evaluate<string[]>(STATES);

test('a record is played by mouse and keys, on a wide and on a narrow page', async () => {
  const { url, interrupt } = await played(await record());
  const { page, complaints } = await openUrl(browser, url);
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
  expect(await page.locator('.marks .failure').getAttribute('title')).toContain('all is there: 2 of 3');
  const position = page.getByLabel('Position');
  await position.press('Home');
  await expect.poll(() => timeOf(page)).toBe('0:00.000');
  expect(await position.getAttribute('aria-valuetext')).toBe('0:00.000');
  // Also where the slider has the focus.
  await page.keyboard.press('.');
  await expect.poll(() => timeOf(page)).toBe('0:00.100');
  await page.locator('.lacks summary').click();
  await page.getByText('the run kept none (svcnet run … --tap)').waitFor();
  await position.press('End');
  await expect.poll(() => timeOf(page)).toBe('0:09.537');
  await page.getByText('Operations of the scenario').waitFor();
  for await (const look of everyLook(page)) {
    expect([await overflow(page), await accessibilityProblems(page)], look).toEqual([0, []]);
    expect(await tabThrough(page), look).toEqual({ missed: [], invisible: [] });
    expect(await page.evaluate<string[]>(COVERED)).toEqual([]);
  }
  await page.getByLabel('Pace').selectOption('100×');
  await page.locator('h1').click();
  await page.keyboard.press('Space');
  // From the beginning, and to its end.
  await expect.poll(() => timeOf(page)).toBe('0:09.537');
  await button('Play').waitFor();
  expect(await interrupt()).toBe(130);
  expect(complaints.filter((text) => !text.includes('ERR_'))).toEqual([]);
});

test('each cluster of a record has its own events and messages; a log has what was logged until now', async () => {
  const { url } = await played(await recordOfTwo());
  const { page } = await openUrl(browser, url, { viewport: { width: 1800, height: 900 } });
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
  await page.locator('h1').click();
  await page.keyboard.press('.');
  const last = () => page.locator('.events li').first().innerText();
  const modes = () => page.getByLabel('Links').locator('option').allInnerTexts();
  await expect.poll(last).toContain('scenario smoke begins');
  expect([await page.locator('.messages').isVisible(), await modes()]).toEqual([
    false,
    ['all connections', 'none'],
  ]);
  const tops = await page.evaluate<number[]>(
    `['.network', '.over-time'].map((of) => document.querySelector(of).getBoundingClientRect().top)`,
  );
  expect(tops[1]).toBe(tops[0]);
  await page.locator('.all-nodes').getByText('node-1', { exact: true }).click();
  const log = page.getByRole('log');
  await expect.poll(() => log.innerText()).toBe('Nothing logged yet.');
  await page.getByLabel('Position').press('End');
  await expect.poll(() => log.locator('.log-line').allInnerTexts()).toHaveLength(3);
  await page.setViewportSize({ width: 1000, height: 900 });
  expect(await page.evaluate<string[]>(COVERED)).toEqual([]);
  await page.getByLabel('Cluster', { exact: true }).selectOption('second');
  await expect.poll(last).toContain('scenario second begins');
  await expect.poll(() => log.locator('.log-line').count()).toBe(0);
  expect(await page.locator('.messages li').innerText()).toContain('node-0 → node-1');
  expect(await modes()).toEqual(['with traffic now', 'all connections', 'none']);
});
