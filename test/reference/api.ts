/** The page has every export of the public entries with its declaration and docstring, without bodies. */
import { posix } from 'node:path';
import type { ClassElement, Statement } from 'oxc-parser';
import { page } from './markdown.ts';
import { parsed, type Source } from './source.ts';

interface Declared {
  readonly name: string;
  readonly text: string;
}

export function apiPage(entry: string): string {
  const all = exportsOf(entry).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return page(
    'Library',
    `\`${entry}\``,
    "Everything that `import … from 'svcnet'` gives, with its documentation. Guides: [a network in a test](../guides/library.md), [writing a scenario](../guides/writing-a-scenario.md).",
    ...all.map(({ name, text }) => `## ${name}\n\n\`\`\`ts\n${text}\n\`\`\``),
  );
}

/** @param only names to take; undefined: all */
function exportsOf(path: string, only?: ReadonlyMap<string, string>): Declared[] {
  const source = parsed(path);
  return source.body.flatMap((statement) => {
    if (statement.type === 'ExportAllDeclaration')
      return exportsOf(target(path, statement.source.value), only);
    if (statement.type !== 'ExportNamedDeclaration') return [];
    if (statement.source !== null) {
      const names = statement.specifiers.map(
        ({ local, exported }) => [nameOf(local), nameOf(exported)] as const,
      );
      const taken = names.filter(([, exported]) => only === undefined || only.has(exported));
      return taken.length === 0 ? [] : exportsOf(target(path, statement.source.value), new Map(taken));
    }
    const { declaration } = statement;
    if (declaration === null) return [];
    const name = declaredName(declaration);
    if (name === undefined || !(only === undefined || only.has(name))) return [];
    const doc = source.docBefore(statement.start);
    return [{ name: only?.get(name) ?? name, text: `${doc}${signature(source, declaration)}` }];
  });
}

type Declaration = NonNullable<Extract<Statement, { type: 'ExportNamedDeclaration' }>['declaration']>;

function declaredName(declaration: Declaration): string | undefined {
  if (declaration.type === 'VariableDeclaration') {
    const id = declaration.declarations[0]?.id;
    return id?.type === 'Identifier' ? id.name : undefined;
  }
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? declaration.id.name : undefined;
}

/** Without bodies of functions and classes. */
function signature(source: Source, declaration: Declaration): string {
  const { text } = source;
  if (declaration.type === 'FunctionDeclaration')
    return `${text.slice(declaration.start, declaration.body?.start ?? declaration.end).trimEnd()};`;
  if (declaration.type !== 'ClassDeclaration') return text.slice(declaration.start, declaration.end);
  const members = declaration.body.body
    .filter(isPublic)
    .map((member) => ({ member, doc: source.docBefore(member.start) }))
    .filter(({ doc }) => !doc.includes('@internal'))
    .map(({ member, doc }) => `  ${doc}${memberText(text, member)}`);
  return `${text.slice(declaration.start, declaration.body.start)}{\n${members.join('\n\n')}\n}`;
}

/** Methods make objects, so constructors are left out. */
function isPublic(member: ClassElement): boolean {
  if (member.type === 'StaticBlock' || member.type === 'TSIndexSignature') return false;
  if (member.key.type === 'PrivateIdentifier' || member.accessibility === 'private') return false;
  return !(member.type === 'MethodDefinition' && member.kind === 'constructor');
}

function memberText(text: string, member: ClassElement): string {
  if (member.type === 'MethodDefinition')
    return `${text.slice(member.start, member.value.body?.start ?? member.end).trimEnd()};`;
  if (member.type === 'PropertyDefinition' && member.value !== null && member.typeAnnotation)
    return `${text.slice(member.start, member.typeAnnotation.end)};`;
  return text.slice(member.start, member.end);
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: unknown }): string {
  return node.name ?? String(node.value);
}

function target(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier);
}
