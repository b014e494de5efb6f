/** A real Chromium, and what every page of ours has to keep true in it. */
import { accessSync, constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'];

/** @throws Error when there is none: without it there is nothing to test in */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
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
  /** Errors and warnings of the console, and exceptions that nobody caught. */
  readonly complaints: string[];
  /** URLs that it asked for besides itself. */
  readonly requests: string[];
}

/** Opens a file from disk. */
export async function openFile(
  browser: Browser,
  path: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 }, ...options });
  const page = await context.newPage();
  const own = pathToFileURL(path).href;
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== own) requests.push(request.url());
  });
  await page.goto(own);
  return { page, complaints, requests };
}

/** How many pixels the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - window.innerWidth') as Promise<number>;
}

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe-core finds serious or critical, a line each. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  const axe = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));
  // Evaluated from outside: the page itself allows no script but its own.
  await page.evaluate(await readFile(axe, 'utf8'));
  const { violations } = (await page.evaluate('axe.run()')) as { violations: readonly Violation[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary = '' }) => `${html.slice(0, 200)} ${failureSummary}`).join(' | ')}`,
    );
}

/** For each canvas the share of its pixels that are not the colour of its corner; 0: nothing is drawn. */
export function drawnShares(page: Page): Promise<number[]> {
  return page.evaluate(`[...document.querySelectorAll('canvas')].map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let drawn = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] !== 0) drawn++;
    return drawn / (data.length / 4);
  })`) as Promise<number[]>;
}

/** Whether some pixel of the first canvas has about that colour, as `#rrggbb`. */
export function hasColour(page: Page, colour: string): Promise<boolean> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const wanted = [1, 3, 5].map((at) => parseInt(${JSON.stringify(colour)}.slice(at, at + 2), 16));
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200 && wanted.every((value, k) => Math.abs(value - data[i + k]) < 12)) return true;
    return false;
  })()`) as Promise<boolean>;
}

/**
 * Presses Tab through the whole page.
 * @returns what never had the focus though it should, and what had it without showing it
 */
export async function tabThrough(page: Page): Promise<{ missed: string[]; invisible: string[] }> {
  await page.evaluate(`(() => {
    window.expected = [...document.querySelectorAll('a[href], button, summary, input, select, [tabindex="0"]')]
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
  const count = (await page.evaluate('window.expected.length')) as number;
  for (let i = 0; i < count + 5; i++) await page.keyboard.press('Tab');
  return (await page.evaluate(`({
    missed: window.expected.filter((one) => !window.reached.has(one)).map(window.nameOf),
    invisible: window.unseen,
  })`)) as { missed: string[]; invisible: string[] };
}
