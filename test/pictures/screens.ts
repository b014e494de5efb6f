import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { pageAssets } from '../../harness/inspect/live/assets.ts';
import { serveUi } from '../../harness/inspect/live/server.ts';
import { pageBundle } from '../../harness/web/pages/bundle.ts';
import { leave, openFile, openUrl } from '../browser/browser.ts';
import { comparable, played, RECORDINGS } from './recordings.ts';

export interface Screen {
  /** WebP. */
  readonly picture: Buffer;
  /** Without what differs between two runs. */
  readonly words: string;
}

/** By name in `docs/pictures`. @param folder empty */
export const SCREENS: Readonly<Record<string, (browser: Browser, folder: string) => Promise<Screen>>> = {
  report: reportScreen,
  live: liveScreen,
};

const QUALITY = 0.85;
/** Pixels of pictures per pixel of the page. */
export const SCREEN = { deviceScaleFactor: 1.5 };

async function reportScreen(browser: Browser, folder: string): Promise<Screen> {
  const [failing] = RECORDINGS.flatMap((one) => (one.file === 'replay.svg' ? one.commands : []));
  await played({ file: '', commands: [failing ?? ''], moving: false }, folder);
  const viewport = { width: 1000, height: 610 };
  const { page } = await openFile(browser, join(folder, 'first/report.html'), { viewport });
  await page.locator('.ring-node').first().waitFor();
  return shot(browser, page, ['.verdict', 'nav', '#failures :is(h2, h3, .where, dl, .before, h4)']);
}

async function liveScreen(browser: Browser, stateDir: string): Promise<Screen> {
  await using net = await Cluster.start({
    name: 'local',
    seed: 7,
    driver: 'embedded',
    nodes: [{ count: 8, options: { 'chunk-events': 2000 } }],
    stateDir,
  });
  const watched = await Cluster.attach(net.name, { stateDir });
  const assets = pageAssets(await pageBundle('live'));
  const ui = await serveUi({ port: 0 }, { cluster: watched, isThere: () => true, assets });
  const ending = new AbortController();
  const uploading = uploadUntil(net, ending.signal);
  try {
    const { page } = await openUrl(browser, ui.url, {
      viewport: { width: 1000, height: 910 },
      reducedMotion: 'no-preference',
    });
    await page.waitForSelector('.connection.live');
    await net.node('node-2').kill();
    await page.waitForSelector('.events .fault');
    await page.getByRole('option', { name: /^node-2: svc full, killed,/ }).waitFor();
    const settled = { hasText: 'In trouble: node-2 (killed).', hasNotText: 'second look' };
    await page.locator('.summary', settled).waitFor();
    // The page allows no code from text to wait in it.
    while (!(await page.evaluate<boolean>(CHUNKS_FLY))) await sleep(50);
    return await shot(browser, page, [
      'h1',
      '.network h2',
      '.controls label',
      '.ring-legend',
      '.network > .quiet',
      '.happenings h2',
      '.head-facts span',
      '.events :nth-last-child(1 of .fault) span',
    ]);
  } finally {
    ending.abort();
    await uploading;
    await ui.close();
    await watched.detach();
  }
}

const CHUNKS_FLY = `(() => {
  const canvas = document.querySelector('.ring-stage canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length > 1500;
})()`;

async function uploadUntil(net: Cluster, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await net.node(0).bytes.upload(randomBytes(40_000));
    await sleep(500);
  }
}

/** @param selectors of the elements whose words count, if they are seen */
async function shot(browser: Browser, page: Page, selectors: readonly string[]): Promise<Screen> {
  const png = await page.screenshot();
  const texts = await page.evaluate<string[]>(
    `${JSON.stringify(selectors)}.flatMap((one) => [...document.querySelectorAll(one)].filter((found) => found.checkVisibility()).map((found) => found.innerText))`,
  );
  await leave(page);
  const lines = comparable(texts.flatMap((text) => text.split('\n')));
  return { picture: await webp(browser, png), words: `${lines.join('\n')}\n` };
}

/** Only Chromium writes this format here. */
async function webp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage();
  const data = await page.evaluate<string>(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png.toString('base64')}';
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', ${QUALITY});
  })()`);
  await page.close();
  return Buffer.from(data.split(',')[1] ?? '', 'base64');
}
