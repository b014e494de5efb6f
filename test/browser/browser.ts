import { accessSync, constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'];

const WAIT_MS = 120_000;

/**
 * With one window, in which `openUrl` shows one document after the other: a new window takes more processor time than most
 * of what tests look at.
 *
 * @throws Error if there is none
 */
export async function startBrowser(
  args: readonly string[] = [],
  options: BrowserContextOptions = {},
): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', ...args] });
  const context = await browser.newContext(options);
  context.setDefaultTimeout(WAIT_MS);
  await context.newPage();
  return browser;
}

function chromiumPath(): string {
  const given = process.env['SVCNET_CHROMIUM'];
  if (given !== undefined && given !== '') return given;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.flatMap((folder) => PROGRAMS.map((name) => join(folder, name))).find(isProgram);
  if (found !== undefined) return found;
  throw new Error(`no Chromium: install ${PROGRAMS.join(' or ')}, or name one with SVCNET_CHROMIUM`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface OpenPage {
  readonly page: Page;
  readonly complaints: string[];
  /** URLs that it requested besides itself. */
  readonly requests: string[];
}

export interface Look {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
  readonly reducedMotion?: 'reduce' | 'no-preference';
}

export function openFile(browser: Browser, path: string, look: Look = {}): Promise<OpenPage> {
  return openUrl(browser, pathToFileURL(path).href, look);
}

/** In place of what the window shows. */
export async function openUrl(
  browser: Browser,
  url: string,
  {
    viewport = { width: 1000, height: 900 },
    colorScheme = 'light',
    // A page that moves takes twice as much of a processor.
    reducedMotion = 'reduce',
  }: Look = {},
): Promise<OpenPage> {
  const page = browser.contexts()[0]?.pages()[0];
  if (page === undefined) throw new Error('the window of startBrowser was closed');
  await leave(page);
  await page.setViewportSize(viewport);
  await page.emulateMedia({ media: null, colorScheme, reducedMotion });
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== url) requests.push(request.url());
  });
  await page.goto(url);
  return { page, complaints, requests };
}

/** Its document ends, and nothing of it reaches the next. */
export async function leave(page: Page): Promise<void> {
  for (const event of ['console', 'pageerror', 'request'] as const) page.removeAllListeners(event);
  await page.context().setOffline(false);
  await page.goto('about:blank');
  await page.mouse.move(0, 0);
}

/** Two frames later, what followed a change is on the page. */
export async function drawnAgain(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

const LOOKS = [
  { width: 1000, colorScheme: 'light' },
  { width: 400, colorScheme: 'dark' },
] as const;

/** Wide and light, then narrow and dark: it is drawn so when it is yielded. */
export async function* everyLook(page: Page): AsyncGenerator<string> {
  for (const { width, colorScheme } of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await drawnAgain(page);
    yield `${width} px, ${colorScheme}`;
  }
}

export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
}

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

export async function accessibilityProblems(page: Page): Promise<string[]> {
  const axe = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));
  // The page itself allows no script but its own.
  await page.evaluate(await readFile(axe, 'utf8'));
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    "axe.run({ resultTypes: ['violations'], selectors: false })",
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary = '' }) => `${html.slice(0, 200)} ${failureSummary}`).join(' | ')}`,
    );
}

/** Per canvas: pixels that are not the colour of its corner; 0: nothing is drawn. */
export function drawnShares(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`[...document.querySelectorAll('canvas')].map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let drawn = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] !== 0) drawn++;
    return drawn / (data.length / 4);
  })`);
}

/** As `#rrggbb`; about that colour. */
export function hasColour(page: Page, colour: string): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const canvas = document.querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const wanted = [1, 3, 5].map((at) => parseInt(${JSON.stringify(colour)}.slice(at, at + 2), 16));
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200 && wanted.every((value, k) => Math.abs(value - data[i + k]) < 12)) return true;
    return false;
  })()`);
}

/** @returns elements that should have had the focus but did not, and those that did not show it */
export async function tabThrough(page: Page): Promise<{ missed: string[]; invisible: string[] }> {
  await page.evaluate(`(() => {
    window.expected = [...document.querySelectorAll('a[href], button:not([tabindex="-1"]), summary, input, select, [tabindex="0"]')]
      .filter((one) => one.checkVisibility());
    window.reached = new Set();
    window.unseen = [];
    const name = (one) => one.outerHTML.slice(0, 120);
    window.nameOf = name;
    document.addEventListener('focusin', ({ target }) => {
      window.reached.add(target);
      const style = getComputedStyle(target);
      const ring = target.querySelector('.ring-target');
      const shown = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
      const drawn = ring !== null && parseFloat(getComputedStyle(ring).strokeWidth) >= 3;
      if (!shown && !drawn) window.unseen.push(name(target));
    });
  })()`);
  const count = await page.evaluate<number>('window.expected.length');
  for (let i = 0; i < count + 5; i++) await page.keyboard.press('Tab');
  return page.evaluate<{ missed: string[]; invisible: string[] }>(`({
    missed: window.expected.filter((one) => !window.reached.has(one)).map(window.nameOf),
    invisible: window.unseen,
  })`);
}
