/**
 * The pages' browser code as one script and one style sheet, bundled on demand; a published package carries the result
 * (`.ci/package.ts`), as its compiled files are no input for a page.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { entriesAt, programSuffix } from '../../base/machine/programs.ts';

export const PAGES = ['report', 'live'] as const;
export type Page = (typeof PAGES)[number];

export interface PageBundle {
  /** Fits into a `<script>`. */
  readonly script: string;
  readonly style: string;
}

const bundles = new Map<Page, Promise<PageBundle>>();

export function bundledFile(page: Page, kind: keyof PageBundle): string {
  return `${page}.${kind === 'script' ? 'js' : 'css'}.bundle`;
}

export function pageBundle(page: Page): Promise<PageBundle> {
  const made = bundles.get(page);
  if (made !== undefined) return made;
  const bundle = programSuffix === '.ts' ? bundleFromSource(page) : readBundle(page);
  bundles.set(page, bundle);
  return bundle;
}

async function readBundle(page: Page): Promise<PageBundle> {
  const read = (kind: keyof PageBundle) =>
    readFile(join(import.meta.dirname, bundledFile(page, kind)), 'utf8');
  const [script, style] = await Promise.all([read('script'), read('style')]);
  return { script, style };
}

/** Most commands never need the bundler. */
export async function bundleFromSource(page: Page): Promise<PageBundle> {
  const { build } = await import('esbuild');
  const folder = join(import.meta.dirname, '..', page);
  const { outputFiles } = await build({
    entryPoints: ['script', 'style'],
    plugins: [entriesAt({ script: join(folder, 'page.ts'), style: join(folder, 'page.css') })],
    outdir: folder,
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: 'es2023',
    // Also escapes what would end a script element.
    charset: 'ascii',
    logLevel: 'silent',
    legalComments: 'inline',
  });
  const text = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? '';
  return { script: text('.js'), style: text('.css') };
}
