import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const ENTRIES = (
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string>>;
  }
).exports;

export interface SourceFile {
  /** From the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const ROOMS = /^(formats|node|chain|harness|scenarios|dashboards)\//;

/** Every file of the rooms, or of other folders, without what is compiled to WebAssembly. */
export function readSources(folders = ROOMS): SourceFile[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', 'harness/*.js'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  return listed
    .split('\n')
    .filter((path) => folders.test(path) && !path.includes('/assembly/'))
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'((?:\.{1,2}\/|svcnet)[^']*)'/g)].map(
        (match) => match[1] as string,
      );
      return { path, text, imports: specifiers.map((specifier) => targetOf(path, specifier)) };
    });
}

/** The package's own name stands for its entry. */
function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(dirname(path), specifier);
  return posix.join(ENTRIES[specifier.replace('svcnet', '.')] ?? specifier);
}

export function readPage(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8');
}

/** Each file of a group reaches every other one (Tarjan). */
export function importCycles(files: readonly Pick<SourceFile, 'path' | 'imports'>[]): string[][] {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]));
  const number = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];

  const visit = (path: string): number => {
    const own = number.size;
    number.set(path, own);
    open.push(path);
    let low = own;
    for (const target of importsOf.get(path) ?? []) {
      if (!importsOf.has(target)) continue;
      if (!number.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, number.get(target) as number);
    }
    if (low === own) {
      const group = open.splice(open.indexOf(path));
      if (group.length > 1 || importsOf.get(path)?.includes(path)) cycles.push(group.sort());
    }
    return low;
  };

  for (const path of importsOf.keys()) if (!number.has(path)) visit(path);
  return cycles.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
