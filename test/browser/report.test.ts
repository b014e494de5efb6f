import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeReport } from '../../harness/report/folder.ts';
import type { RunResult } from '../../harness/report/result.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { defineScenario, type Scenario } from '../../harness/run/scenario.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  accessibilityProblems,
  drawnAgain,
  drawnShares,
  hasColour,
  leave,
  type OpenPage,
  openFile,
  overflow,
  startBrowser,
  tabThrough,
} from './browser.ts';
import { hostileRun, longRun } from './long-run.ts';

const folder = temporaryFolder('svcnet-browser');
const WIDTHS = [400, 1000, 2000];
/** Of the background, and of the first series. */
const DARK = { paper: 'rgb(18, 23, 29)', series: '#6db3f8' };
const LIGHT_SERIES = '#0a5ea8';

let browser: Browser;
const pages: Record<'passing' | 'failing' | 'long' | 'hostile', string> = {
  passing: '',
  failing: '',
  long: '',
  hostile: '',
};

async function ran(scenario: Scenario, name: string): Promise<string> {
  const run = await runScenarios({
    planned: planScenarios([scenario], new Map()),
    seed: 7n,
    definition: { driver: 'embedded' },
    stateDir: join(folder, 'state'),
    report: join(folder, name),
    name,
    command: `svcnet run ${scenario.name} --seed 7`,
    signal: new AbortController().signal,
  });
  return join(run.report, 'report.html');
}

async function written(make: (folder: string) => Promise<RunResult>, name: string): Promise<string> {
  const place = join(folder, name);
  mkdirSync(place);
  await writeReport(await make(place));
  return join(place, 'report.html');
}

const passing = defineScenario({
  name: 'passes',
  group: 'functional',
  about: 'Uploads some files and reads them.',
  parameters: {},
  needs: { nodes: 3 },
  cluster: { nodes: 3 },
  timeoutMs: 60_000,
  async run(context) {
    const { cluster } = context;
    await context.step('upload', async () => {
      // Over several windows of a second: charts and tables of fewer look empty.
      for (let i = 0; i < 6; i++) {
        const upload = () => cluster.node(0).bytes.upload(new Uint8Array(20_000).fill(i));
        await context.measure({ operation: 'upload file', node: 'node-0' }, upload, () => 20_000);
        await sleep(800);
      }
    });
    context.expect('all are there', true, { observed: 'yes', expected: 'yes' });
  },
});

const failing = defineScenario({
  name: 'fails',
  group: 'functional',
  about: 'Kills a node and looks for a chunk that nobody has.',
  parameters: {},
  needs: { nodes: 3 },
  cluster: { nodes: 4 },
  timeoutMs: 60_000,
  async run(context) {
    const { cluster, ledger, signal } = context;
    const upload = () => cluster.node(0).bytes.upload(new Uint8Array(20_000).fill(1));
    const { reference } = await context.measure(
      { operation: 'upload file', node: 'node-0' },
      upload,
      () => 20_000,
    );
    await context.step('kill', () => cluster.node('node-2').kill());
    await sleep(1200);
    const lost = 'ab'.repeat(32);
    const download = () => cluster.node(1).bytes.download(lost);
    const [answer] = await Promise.allSettled([
      context.measure({ operation: 'download file', node: 'node-1' }, download, () => 0),
    ]);
    context.expect('the chunk can be read', answer.status === 'fulfilled', {
      observed: '404',
      expected: 'its bytes',
    });
    await ledger.add({
      kind: 'bytes',
      node: 'node-0',
      batch: '00',
      reference,
      size: 20_000,
      chunks: [reference, lost],
      mode: 'deferred',
      level: 'synced',
      requestedAtMs: Date.now(),
      acknowledgedAtMs: Date.now(),
    });
    const running = cluster.nodes.filter((node) => node.running);
    const holders = running.map(({ name, overlay, chunks }) => ({
      name,
      overlay,
      hasChunk: (chunk: string, limit: AbortSignal) => chunks.has(chunk, limit),
    }));
    const { missing } = await ledger.verify(holders, { signal });
    context.expect('every acknowledged chunk is held by a node', missing === 0, {
      observed: `${missing} missing`,
      expected: '0 missing',
    });
  },
});

beforeAll(async () => {
  browser = await startBrowser();
  pages.passing = await ran(passing, 'passing');
  pages.failing = await ran(failing, 'failing');
  pages.long = await written((place) => longRun(place, { nodes: 50, seconds: 3600 }), 'long');
  pages.hostile = await written(hostileRun, 'hostile');
});

afterAll(() => browser?.close());

async function opened(
  which: keyof typeof pages,
  options: Parameters<typeof openFile>[2] = {},
): Promise<OpenPage & AsyncDisposable> {
  const open = await openFile(browser, pages[which], options);
  await open.page.locator('canvas').first().waitFor({ state: 'attached' });
  return { ...open, [Symbol.asyncDispose]: () => leave(open.page) };
}

describe.each(['passing', 'failing', 'long', 'hostile'] as const)('report of a %s run', (which) => {
  test('fits its window, logs no complaint and requests nothing', async () => {
    await using open = await opened(which);
    for (const width of WIDTHS) {
      await open.page.setViewportSize({ width, height: 900 });
      await drawnAgain(open.page);
      expect(await overflow(open.page), `${width} px`).toBeLessThanOrEqual(0);
    }
    expect(open.complaints).toEqual([]);
    expect(open.requests).toEqual([]);
  });

  test.each(['light', 'dark'] as const)(
    'has no serious finding of axe-core in the %s scheme',
    async (colorScheme) => {
      await using open = await opened(which, { colorScheme });
      expect(await accessibilityProblems(open.page)).toEqual([]);
    },
  );

  test('draws every chart and the ring', async () => {
    await using open = await opened(which);
    const shares = await drawnShares(open.page);
    expect(shares.length).toBeGreaterThan(0);
    for (const share of shares) expect(share).toBeGreaterThan(0.005);
    const nodes = await open.page.locator('.ring-node').count();
    expect(nodes).toBeGreaterThanOrEqual(3);
    const box = await open.page.locator('.ring-line').boundingBox();
    expect(box?.width).toBeGreaterThan(100);
  });

  test('can be reached by Tab everywhere, and shows the focus', async () => {
    await using open = await opened(which);
    expect(await tabThrough(open.page)).toEqual({ missed: [], invisible: [] });
  });
});

test('a failed run first shows what failed, what had been done before, and what is lost', async () => {
  await using open = await opened('failing');
  const failures = open.page.locator('#failures');
  expect(await open.page.locator('h1').innerText()).toContain('Failed: fails');
  expect(await failures.locator('article').count()).toBe(2);
  const [first = '', second = ''] = await failures.locator('article').allInnerTexts();
  expect(first).toMatch(/the chunk can be read[\s\S]*expected\s+its bytes[\s\S]*observed\s+404/);
  expect(first).toContain('node-2 was killed');
  expect(second).toMatch(/observed\s+1 missing/);
  const text = await open.page.locator('main').innerText();
  expect(text).toContain('2 chunks acknowledged, 1 found, 1 lost');
  expect(text).toContain('ab'.repeat(32));
  expect(text).toContain('Not answering: node-2 (killed)');
  expect(await open.page.locator('.ring-node.trouble').count()).toBe(1);
  expect(await open.page.locator('.bar.fault').innerText()).toContain('node-2 was killed');
});

test('a passed run shows its verdict, seed, command and resources, and no list of failures', async () => {
  await using open = await opened('passing');
  expect(await open.page.locator('.verdict').innerText()).toMatch(
    /Passed: passes[\s\S]*seed 7[\s\S]*svcnet run passes --seed 7/,
  );
  expect(await open.page.locator('#failures').count()).toBe(0);
  expect(await open.page.locator('#resources .spark path').count()).toBeGreaterThan(0);
});

test('beside the ring, or else below it, the table of nodes is whole', async () => {
  await using open = await opened('passing');
  for (const width of [1000, 1400, 2000]) {
    await open.page.setViewportSize({ width, height: 900 });
    const hidden = () =>
      open.page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.split .scroll'))",
      );
    await expect.poll(hidden, { message: `${width} px` }).toBe(0);
  }
});

test('charts follow the colours of the page, and are light in print', async () => {
  await using open = await opened('passing', { colorScheme: 'dark' });
  const { page } = open;
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  expect(await background()).toBe(DARK.paper);
  expect(await hasColour(page, DARK.series)).toBe(true);
  await page.emulateMedia({ media: 'print' });
  expect(await background()).toBe('rgb(255, 255, 255)');
  // A chart is redrawn in a separate frame.
  await expect.poll(() => hasColour(page, LIGHT_SERIES)).toBe(true);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  expect(await page.locator('nav').isVisible()).toBe(false);
});

test('arrow keys move through a chart and announce its values; its table has them all', async () => {
  await using open = await opened('passing');
  const plot = open.page.locator('.plot').first();
  await plot.focus();
  await open.page.keyboard.press('Home');
  const first = await plot.getAttribute('aria-valuetext');
  await open.page.keyboard.press('ArrowRight');
  expect(first).toMatch(/^at .*upload file .* MiB\/s$/);
  expect(await plot.getAttribute('aria-valuetext')).not.toBe(first);
  await open.page.locator('.chart-table summary').first().click();
  await expect.poll(() => open.page.locator('.chart-table tbody tr').count()).toBeGreaterThan(1);
});

test('arrow keys move around the ring and select a node', async () => {
  await using open = await opened('long');
  const { page } = open;
  const focused = page.locator('.ring-node:focus');
  await page.locator('.ring-node[tabindex="0"]').focus();
  const first = await focused.getAttribute('data-name');
  await page.keyboard.press('ArrowRight');
  expect(await focused.getAttribute('data-name')).not.toBe(first);
  // The ring is redrawn in a separate frame; until then the node focused before may be the chosen one.
  await expect.poll(() => focused.getAttribute('aria-selected')).toBe('true');
  expect(await page.locator('.ring-node[aria-selected="true"]').count()).toBe(1);
  expect(await page.locator('.ring-links path').last().getAttribute('d')).not.toBe('');
});

test('a click on a node of the ring selects it, and another click unselects it', async () => {
  await using open = await opened('passing');
  const name = await open.page.locator('.ring-node').last().getAttribute('data-name');
  const node = open.page.locator(`.ring-node[data-name="${name}"]`);
  const click = () => node.locator('.ring-dot').click({ force: true });
  await click();
  const selected = () => node.getAttribute('aria-selected');
  await expect.poll(selected).toBe('true');
  expect(await open.page.locator('.ring-links path').last().getAttribute('d')).not.toBe('');
  await click();
  await expect.poll(selected).toBe('false');
});

test('a series can be hidden by its name in the legend', async () => {
  await using open = await opened('passing');
  const button = open.page.locator('.legend button').first();
  await button.press('Enter');
  expect(await button.getAttribute('aria-pressed')).toBe('false');
  expect(await hasColour(open.page, LIGHT_SERIES)).toBe(false);
});

test('no output of a node becomes an element or runs', async () => {
  await using open = await opened('hostile');
  expect(await open.page.title()).toContain('seed 7');
  expect(await open.page.locator('img').count()).toBe(0);
  expect(await open.page.locator('script').count()).toBe(2);
  expect(open.complaints).toEqual([]);
});

/** Processor time of the page: other work of the machine does not count. */
test('an hour of fifty nodes is a small file, drawn in less than a second of processor time', async () => {
  expect(statSync(pages.long).size).toBeLessThan(2 * 2 ** 20);
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const seconds = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  const before = await seconds();
  await page.goto(pathToFileURL(pages.long).href);
  await page.waitForSelector('.ring-node');
  await page.waitForSelector('canvas');
  await drawnAgain(page);
  expect((await seconds()) - before).toBeLessThan(1);
  await context.close();
});
