import { readPage } from './source-tree.ts';

export interface Allowance {
  /** Folder (with `/` at its end) or file. */
  readonly name: string;
  readonly mayImport: readonly string[];
}

const PAGE = readPage('ARCHITECTURE.md');

/** Each folder may import itself. */
export function topLevel(): Allowance[] {
  return allowances(rowsOf('Folder')).filter(({ name }) => name !== 'test/');
}

/** Names of each row, lowest first. */
export function nodeLayers(): string[][] {
  return rowsOf('Layer').map(([names = '']) => codeIn(names));
}

export function harnessRooms(): Allowance[] {
  return allowances(rowsOf('Room'));
}

/** Lowest first; `*.ts` is all that no other entry covers. */
export function innerRooms(): { room: string; inside: string[] }[] {
  return rowsOf('Room')
    .map((cells) => ({ room: codeIn(cells[0] ?? '')[0] ?? '', inside: codeIn(cells[2] ?? '') }))
    .filter(({ inside }) => inside.length > 0);
}

function allowances(rows: readonly string[][]): Allowance[] {
  return rows.map((cells) => ({
    name: codeIn(cells[0] ?? '')[0] ?? '',
    mayImport: codeIn(cells.at(-1) ?? ''),
  }));
}

function rowsOf(heading: string): string[][] {
  const lines = PAGE.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`));
  if (start === -1) throw new Error(`ARCHITECTURE.md has no table '${heading}'`);
  const body = lines.slice(start + 2);
  const length = body.findIndex((line) => !line.startsWith('|'));
  return body.slice(0, length).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
}
