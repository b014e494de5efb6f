import { parseSync, type Statement } from 'oxc-parser';
import { read } from '../unit/docs/repository.ts';

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly body: readonly Statement[];
  docBefore(start: number): string;
}

export function parsed(path: string): Source {
  const text = read(path);
  const { program, comments } = parseSync(path, text);
  const docs = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'));
  return {
    path,
    text,
    body: program.body,
    docBefore(start) {
      const doc = docs.findLast(({ end }) => end <= start && text.slice(end, start).trim() === '');
      return doc === undefined ? '' : `${text.slice(doc.start, doc.end)}\n${indentAt(text, start)}`;
    },
  };
}

function indentAt(text: string, start: number): string {
  return /[ \t]*$/.exec(text.slice(0, start))?.[0] ?? '';
}
