/**
 * What people read: pages (among them the reference, which has every help text), and the messages of errors and logs.
 */
import { type Expression, parseSync, type Super, Visitor } from 'oxc-parser';
import { files, read } from '../unit/docs/repository.ts';

export interface Prose {
  /** Path, for a message with its line. */
  readonly where: string;
  readonly text: string;
  readonly ext: '.md' | '.txt';
}

export function pages(): Prose[] {
  return files()
    .filter((path) => path.endsWith('.md'))
    .map((path) => ({ where: path, text: read(path), ext: '.md' as const }));
}

/** Texts that are given to the constructor of an error or to a log, their values as `…`. */
export function messageTexts(): Prose[] {
  return files()
    .filter((path) => /^(?:node|harness|chain|scenarios)\/.*\.ts$/.test(path))
    .flatMap((path) => textsOf(path, read(path)));
}

/** Methods of a logger. */
const LOGS = new Set(['error', 'warn', 'info', 'debug']);

function isLogged(callee: Expression | Super): boolean {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return false;
  const { object } = callee;
  const logger = object.type === 'MemberExpression' ? object.property : object;
  const name = logger.type === 'Identifier' || logger.type === 'PrivateIdentifier' ? logger.name : '';
  return /^log(?:ger)?$/.test(name) && LOGS.has(callee.property.name);
}

export function textsOf(path: string, source: string): Prose[] {
  const found: Prose[] = [];
  const { program } = parseSync(path, source);
  let inside = 0;
  const add = (text: string, start: number) => {
    if (inside > 0 && text.trim().includes(' '))
      found.push({ where: `${path}:${source.slice(0, start).split('\n').length}`, text, ext: '.txt' });
  };
  new Visitor({
    NewExpression: ({ callee }) => {
      if (callee.type === 'Identifier' && callee.name.endsWith('Error')) inside++;
    },
    'NewExpression:exit': ({ callee }) => {
      if (callee.type === 'Identifier' && callee.name.endsWith('Error')) inside--;
    },
    CallExpression: ({ callee }) => {
      if (isLogged(callee)) inside++;
    },
    'CallExpression:exit': ({ callee }) => {
      if (isLogged(callee)) inside--;
    },
    Literal: ({ value, start }) => {
      if (typeof value === 'string') add(value, start);
    },
    TemplateLiteral: ({ quasis, start }) =>
      add(quasis.map(({ value }) => value.cooked ?? '').join('…'), start),
  }).visit(program);
  return found;
}
