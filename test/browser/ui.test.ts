import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HarnessError } from '../../harness/base/errors.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { pageAssets } from '../../harness/inspect/live/assets.ts';
import { serveUi, type Ui, type UiDeps } from '../../harness/inspect/live/server.ts';
import { pageBundle } from '../../harness/web/pages/bundle.ts';
import {
  accessibilityProblems,
  drawnAgain,
  leave,
  type OpenPage,
  openUrl,
  overflow,
  startBrowser,
  tabThrough,
} from './browser.ts';
import { syntheticNetwork } from './synthetic-network.ts';

const WIDTHS = [400, 1000, 2000];

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

async function served(cluster: UiDeps['cluster']): Promise<Ui> {
  const assets = pageAssets(await pageBundle('live'));
  return serveUi({ port: 0 }, { cluster, isThere: () => true, assets });
}

async function opened(ui: Ui, width: number, colorScheme: 'light' | 'dark' = 'light'): Promise<OpenPage> {
  const open = await openUrl(browser, ui.url, { viewport: { width, height: 900 }, colorScheme });
  await open.page.waitForSelector('.connection.live');
  return open;
}

async function uploadUntil(net: Cluster, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await net.node(0).bytes.upload(randomBytes(40_000));
    await sleep(1000);
  }
}

/** The coloured ones of charts that are seen, have values and are as wide as their place: not those of grid and axis. */
function colouredPixels(page: Page): Promise<number[]> {
  return page.evaluate<
    number[]
  >(`[...document.querySelectorAll('.time-chart:not([hidden]) canvas')].map((canvas) => {
    if (canvas.clientWidth !== canvas.closest('.plot').clientWidth) return 0;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [r, g, b, a] = [data[i], data[i + 1], data[i + 2], data[i + 3]];
      if (a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 40) coloured++;
    }
    return coloured;
  })`);
}

/** `stoodStill`: chunks were seen in a frame for which nothing was drawn. */
const WATCH_STILL_FRAMES = `(() => {
  const canvas = document.querySelector('.ring-stage canvas');
  const context = canvas.getContext('2d');
  let drawn = true;
  window.stoodStill = false;
  context.clearRect = (...area) => {
    drawn = true;
    CanvasRenderingContext2D.prototype.clearRect.apply(context, area);
  };
  const look = () => {
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    window.stoodStill = !drawn && data.some((value) => value > 0);
    drawn = false;
    if (!window.stoodStill) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()`;

async function linesAreDrawn(page: Page): Promise<void> {
  await page.locator('.ring-areas path').first().waitFor();
  const ring = () =>
    page.evaluate(
      "(({ clientWidth, firstChild }) => clientWidth - firstChild.viewBox.baseVal.width)(document.querySelector('.ring-stage'))",
    );
  await expect.poll(ring, { interval: 100 }).toBe(0);
  // At least chunks, requests, queue and memory: what no node says is not shown.
  const drawn = async () => {
    const pixels = await colouredPixels(page);
    return pixels.length >= 4 ? Math.min(...pixels) : 0;
  };
  await expect.poll(drawn, { interval: 1000 }).toBeGreaterThan(20);
}

/** Reading pixels repeatedly, as these tests do, makes one. */
function complaintsOf({ complaints }: Pick<OpenPage, 'complaints'>): string[] {
  return complaints.filter((text) => !text.includes('willReadFrequently'));
}

async function closed({ page }: OpenPage): Promise<void> {
  await leave(page);
}

describe.each([
  { nodes: 5, kind: 'real', first: 400 },
  { nodes: 20, kind: 'made up', first: 1000 },
  { nodes: 100, kind: 'made up', first: 2000 },
] as const)('$nodes nodes, $kind', ({ nodes, kind, first }) => {
  let ui: Ui;
  let end: () => Promise<unknown>;

  beforeAll(async () => {
    if (kind === 'made up') {
      ui = await served(syntheticNetwork({ nodes, storageRadius: 4 }).cluster);
      end = () => ui.close();
      return;
    }
    const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-ui-'));
    const net = await Cluster.start({
      seed: 7,
      driver: 'embedded',
      nodes: [{ count: nodes, options: { 'chunk-events': 2000 } }],
      stateDir,
    });
    const watched = await Cluster.attach(net.name, { stateDir });
    ui = await served(watched);
    const ending = new AbortController();
    const uploading = uploadUntil(net, ending.signal);
    end = async () => {
      ending.abort();
      await uploading;
      await ui.close();
      await watched.detach();
      await net.stop();
      rmSync(stateDir, { recursive: true, force: true });
    };
  });
  afterAll(() => end());

  test('is drawn at every width without complaints, and nothing is wider than the window', async () => {
    const open = await opened(ui, first);
    for (const width of [first, ...WIDTHS.filter((other) => other !== first)]) {
      await open.page.setViewportSize({ width, height: 900 });
      await open.page.emulateMedia({ colorScheme: width === 1000 ? 'dark' : 'light' });
      await drawnAgain(open.page);
      expect(await open.page.locator('.ring-node').count()).toBe(nodes);
      expect(await open.page.locator('.all-nodes tbody tr').count()).toBe(nodes);
      await linesAreDrawn(open.page);
      expect(await overflow(open.page)).toBeLessThanOrEqual(0);
    }
    expect(complaintsOf(open)).toEqual([]);
    await closed(open);
  });

  test('axe-core finds nothing serious while a node is open', async () => {
    const open = await opened(ui, 1000, nodes === 20 ? 'dark' : 'light');
    await linesAreDrawn(open.page);
    await open.page.locator('.ring-node').first().press('Enter');
    await open.page.waitForSelector('.drawer .log-line');
    expect(await accessibilityProblems(open.page)).toEqual([]);
    await closed(open);
  });
});

describe('a made-up network', () => {
  test('the keyboard reaches everything, opens a node, and returns to it', async () => {
    const ui = await served(syntheticNetwork({ nodes: 6, storageRadius: 1 }).cluster);
    const open = await opened(ui, 1000);
    const { page } = open;
    await linesAreDrawn(page);
    expect(await tabThrough(page)).toEqual({ missed: [], invisible: [] });
    const focused = () => page.evaluate('document.activeElement.dataset.name ?? document.activeElement.id');
    await page.locator('.ring-node[tabindex="0"]').focus();
    const seen = new Set<unknown>();
    for (let i = 0; i < 6; i++) {
      seen.add(await focused());
      await page.keyboard.press('ArrowRight');
    }
    expect(seen.size).toBe(6);
    const name = await focused();
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('drawer-title');
    expect(await page.locator('#drawer-title').textContent()).toBe(name);
    await page.keyboard.press('Escape');
    expect(await focused()).toBe(name);
    expect(await page.locator('.drawer').isHidden()).toBe(true);
    expect(complaintsOf(open)).toEqual([]);
    await closed(open);
    await ui.close();
  });

  test('the table of a chart keeps the focus and its place while its values change', async () => {
    const ui = await served(syntheticNetwork({ nodes: 6, storageRadius: 1 }).cluster);
    const open = await opened(ui, 1000);
    const { page } = open;
    await linesAreDrawn(page);
    const table = page.locator('.time-chart:not([hidden]) .chart-table').first();
    await table.locator('summary').press('Enter');
    await table.locator('tbody tr').first().waitFor();
    await page.evaluate(
      'window.row = document.querySelector(".time-chart:not([hidden]) .chart-table tbody tr")',
    );
    const rows = await table.locator('tbody tr').count();
    await expect.poll(() => table.locator('tbody tr').count(), { interval: 100 }).toBeGreaterThan(rows);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Values as a table');
    expect(await page.evaluate('window.row.isConnected')).toBe(true);
    await closed(open);
    await ui.close();
  });

  test('chunks are shown on their way, and without motion where that is requested', async () => {
    const ui = await served(syntheticNetwork({ nodes: 6, storageRadius: 1 }).cluster);
    for (const reducedMotion of ['no-preference', 'reduce'] as const) {
      const { page, complaints } = await openUrl(browser, ui.url, { reducedMotion });
      const moving = () =>
        page.evaluate(`(() => {
          const canvas = document.querySelector('.ring-stage canvas');
          if (canvas === null || canvas.width === 0) return false;
          return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
        })()`);
      await expect.poll(moving, { interval: 50 }).toBe(true);
      if (reducedMotion === 'reduce') {
        await page.evaluate(WATCH_STILL_FRAMES);
        await expect.poll(() => page.evaluate('window.stoodStill'), { interval: 50 }).toBe(true);
      }
      expect(complaintsOf({ complaints })).toEqual([]);
      await leave(page);
    }
    await ui.close();
  });

  test('a fault appears as an event, a band in the charts and a node in trouble', async () => {
    const { cluster, tell } = syntheticNetwork({ nodes: 6, storageRadius: 1 });
    const ui = await served(cluster);
    const open = await opened(ui, 1000);
    tell({ part: 'node-3', what: 'died', how: 'SIGKILL', at: Date.now() });
    await open.page.waitForSelector('.events .fault');
    expect(await open.page.locator('.events .fault span').textContent()).toBe('node-3 died (SIGKILL)');
    await open.page.getByRole('option', { name: /^node-3: svc full, crashed,/ }).waitFor();
    expect(await open.page.locator('.summary').textContent()).toContain('node-3 (crashed)');
    await closed(open);
    await ui.close();
  });

  test('a node that leaves is no longer shown, and one that joins is', async () => {
    const { cluster, nodes } = syntheticNetwork({ nodes: 6, storageRadius: 1 });
    const ui = await served(cluster);
    const open = await opened(ui, 1000);
    const { page } = open;
    await page.locator('.ring-node[data-name="node-4"]').press('Enter');
    await page.waitForSelector('.drawer .log-line');
    const shown = () => page.locator('.ring-node').count();
    const told = async () => (await page.locator('.events span').allTextContents()).join('\n');
    const [left] = nodes.splice(4, 1);
    await expect.poll(shown).toBe(5);
    await expect.poll(told).toContain('node-4 has left');
    await expect.poll(() => page.locator('.drawer').isHidden()).toBe(true);
    await expect.poll(() => page.locator('.all-nodes tbody tr').count()).toBe(5);
    await page.locator('.ring-node[data-name="node-5"]').focus();
    nodes.push(left as (typeof nodes)[number]);
    await expect.poll(shown).toBe(6);
    await expect.poll(told).toContain('node-4 has joined');
    expect(await page.evaluate('document.activeElement.dataset.name')).toBe('node-5');
    expect(await page.locator('.ring-node[tabindex="0"]').count()).toBe(1);
    await linesAreDrawn(page);
    expect(complaintsOf(open)).toEqual([]);
    await closed(open);
    await ui.close();
  });

  test('text of nodes and of logs stays text, whatever it contains', async () => {
    const hostile = '<img src=x onerror="window.hostile=1"><script>window.hostile=1</script>';
    const ui = await served(syntheticNetwork({ nodes: 4, storageRadius: 1, hostile }).cluster);
    const open = await opened(ui, 1000);
    await open.page.locator('.ring-node[data-name="node-0"]').press('Enter');
    await open.page.waitForSelector('.drawer .log-line');
    expect(await open.page.locator('.log-line').first().textContent()).toBe(hostile);
    await expect.poll(() => open.page.locator('.drawer .facts').textContent()).toContain(hostile);
    expect(
      await open.page.evaluate('window.hostile ?? document.querySelector("main img, .drawer img")'),
    ).toBeNull();
    expect(complaintsOf(open)).toEqual([]);
    await closed(open);
    await ui.close();
  });

  test('a log that cannot be read once is read the next time', async () => {
    const { cluster } = syntheticNetwork({ nodes: 4, storageRadius: 1 });
    let asked = 0;
    const logOf: UiDeps['cluster']['logOf'] = (part) => {
      if (asked++ === 0) throw new HarnessError('ENGINE_FAILED', 'the engine is busy');
      return cluster.logOf(part);
    };
    const ui = await served({ ...cluster, logOf });
    const open = await opened(ui, 1000);
    await open.page.locator('.ring-node[data-name="node-0"]').press('Enter');
    await open.page.waitForSelector('.drawer .log-line');
    expect(asked).toBeGreaterThan(1);
    await closed(open);
    await ui.close();
  });

  test('a lost connection is reported, and the contents are marked as old', async () => {
    const { cluster } = syntheticNetwork({ nodes: 4, storageRadius: 1 });
    const ui = await served(cluster);
    const { page } = await opened(ui, 1000);
    await page.context().setOffline(true);
    await ui.close();
    await page.waitForSelector('.connection.lost');
    expect(await page.locator('.connection').textContent()).toContain('Connection lost');
    expect(await page.locator('body.old').count()).toBe(1);
    await leave(page);
  });

  test('the page requests nothing but itself', async () => {
    const ui = await served(syntheticNetwork({ nodes: 4, storageRadius: 1 }).cluster);
    const open = await opened(ui, 1000);
    expect(open.requests.filter((url) => !url.startsWith(ui.url) && !url.startsWith('data:'))).toEqual([]);
    await closed(open);
    await ui.close();
  });
});
