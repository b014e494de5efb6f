import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MetricTable } from '../../../node/env/metrics.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export function files(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const deleted = execFileSync('git', ['ls-files', '--deleted'], { cwd: ROOT, encoding: 'utf8' });
  const gone = new Set(deleted.split('\n'));
  return listed.split('\n').filter((path) => path !== '' && !gone.has(path));
}

export function absolute(path: string): string {
  return join(ROOT, path);
}

export function read(path: string): string {
  return readFileSync(absolute(path), 'utf8');
}

export async function nodeMetrics(): Promise<readonly MetricTable[string][]> {
  const modules = await Promise.all(
    files()
      .filter((path) => /^node\/.*\/metrics\.ts$/.test(path))
      .map(
        async (path) =>
          (await import(/* @vite-ignore */ absolute(path))) as Readonly<Record<string, unknown>>,
      ),
  );
  return modules
    .flatMap((exported) => Object.entries(exported).filter(([name]) => name.endsWith('_METRICS')))
    .flatMap(([, table]) => Object.values(table as MetricTable));
}

/** Code blocks have neither links nor headings. */
export function prose(markdown: string): string {
  return markdown.replace(/^(```+|~~~+)[^\n]*\n[\s\S]*?^\1\s*$/gm, '');
}

export function headings(markdown: string): string[] {
  return [...prose(markdown).matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, text = '']) => text);
}

/** Anchors of a page's headings as code hosts make them: lower case, no punctuation, hyphens for spaces, numbered when repeated. */
export function anchors(markdown: string): Set<string> {
  const counts = new Map<string, number>();
  const made = headings(markdown).map((heading) => {
    const text = heading.replace(/`([^`]*)`/g, '$1').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const anchor = text
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    const before = counts.get(anchor) ?? 0;
    counts.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
  return new Set(made);
}

/** Includes its subsections. @param number such as `4.9` @throws Error when the page has none */
export function section(markdown: string, number: string): string {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => line.replace(/^#+ /, '#').startsWith(`#${number} `));
  const level = /^#+/.exec(lines[start] ?? '')?.[0].length;
  if (level === undefined) throw new Error(`the page has no section ${number}`);
  const end = lines.findIndex((line, i) => i > start && (/^(#+) /.exec(line)?.[1]?.length ?? 9) <= level);
  return lines.slice(start, end === -1 ? undefined : end).join('\n');
}

export function rows(markdown: string, ...columns: readonly string[]): string[][] {
  const tables = markdown.match(/(?:^\|.*\n?)+/gm) ?? [];
  return tables.flatMap((table) => {
    const [head = [], , ...body] = table.trim().split('\n').map(cells);
    return columns.every((column, i) => head[i] === column) ? body : [];
  });
}

function cells(row: string): string[] {
  return row
    .slice(1, row.lastIndexOf('|'))
    .split('|')
    .map((cell) => cell.replaceAll('`', '').trim());
}
