import { accessSync, constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'];

const WAIT_MS = 120_000;

/** @throws Error if there is none */
export function startBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', ...args] });
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

export function openFile(
  browser: Browser,
  path: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  return openUrl(browser, pathToFileURL(path).href, options);
}

export async function openUrl(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 }, ...options });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
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
