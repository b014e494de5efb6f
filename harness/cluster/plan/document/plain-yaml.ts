/**
 * The parser compares every key with all others and nests aliases: a small hostile text would take minutes. Here each takes
 * its time once.
 */
import type { Alias, Document, Node, Scalar, YAMLError } from 'yaml';
import { HarnessError } from '../../../base/errors.ts';
import { grouped } from '../../../base/format.ts';

/** Values once aliases are filled in: a text of the longest allowed length has fewer. */
const VALUES_MAX = 1_000_000;
/** No document of ours has more than eight levels. */
const DEPTH_MAX = 100;
const TOO_DEEP = `more than ${DEPTH_MAX} levels`;
/** The parser says what it met; for these, not what it wants. */
const EXPECTED: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_SCALAR_START: 'it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'one value, in quotes if it has a colon and a space',
  BLOCK_IN_FLOW: 'a comma between two entries',
  MISSING_CHAR: 'that, or quotes around a text with braces, brackets or commas',
  MULTILINE_IMPLICIT_KEY: 'KEY: VALUE',
  TAG_RESOLVE_FAILED: 'the value without it',
  TAB_AS_INDENT: 'spaces',
};

/**
 * @param source names the text @param scalars `failsafe`: even what looks like a number is a text
 * @throws HarnessError `DEFINITION_INVALID` with the line
 */
export async function plainYaml(
  text: string,
  { source, scalars = 'core' }: { readonly source: string; readonly scalars?: 'core' | 'failsafe' },
): Promise<unknown> {
  const yaml = await import('yaml');
  const document: Document.Parsed = yaml.parseDocument(text, { schema: scalars, uniqueKeys: false });
  const unknown = document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED');
  const [error] = [...document.errors, ...unknown];
  if (error !== undefined) {
    const line = lineAt(text, begunAt(yaml, document, error));
    throw new HarnessError('DEFINITION_INVALID', `${source}: line ${line}: ${syntaxMistake(error)}`);
  }
  return new PlainValues(yaml, text, source).of(document.contents);
}

function syntaxMistake({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'a second document, expected one';
  // Later lines quote text, perhaps a token.
  const [first = ''] = message.trim().split('\n', 1);
  // The parser calls itself for each level.
  if (first.startsWith('Maximum call stack')) return TOO_DEEP;
  const what = first
    .replace(/ at line \d+, column \d+:?$/, '')
    .replace(/(["'])quote$/, 'quote $1')
    .replace('Unresolved tag: tag:yaml.org,2002:', 'unknown tag !!')
    .replace('Unresolved tag:', 'unknown tag');
  const expected = EXPECTED[code];
  return expected === undefined ? what : `${what}, expected ${expected}`;
}

/** A text without its closing quote takes all that follows, and the parser misses the quote there. */
function begunAt(
  { isScalar, visit }: typeof import('yaml'),
  document: Document.Parsed,
  { code, pos: [met] }: YAMLError,
): number {
  let begun = met;
  visit(document, (_key, node) => {
    if (code !== 'MISSING_CHAR' || !isScalar(node) || !node.type?.startsWith('QUOTE_')) return;
    const [start = met, end = met] = node.range ?? [];
    if (start <= met && met <= end) begun = start;
  });
  return begun;
}

class PlainValues {
  readonly #yaml: typeof import('yaml');
  readonly #text: string;
  readonly #source: string;
  /** The last node of each anchor, and what each alias stood for where it is written. */
  readonly #anchors = new Map<string, Node>();
  readonly #targets = new Map<Alias, Node>();
  readonly #around = new Set<Node>();
  #values = 0;

  constructor(yaml: typeof import('yaml'), text: string, source: string) {
    this.#yaml = yaml;
    this.#text = text;
    this.#source = source;
  }

  /** @param inAlias whether the node was read before, where it is written */
  of(node: Node | null, inAlias = false): unknown {
    if (node === null) return null;
    if (++this.#values > VALUES_MAX)
      throw this.#mistake(node, `more than ${grouped(VALUES_MAX)} values, aliases filled in`);
    if (this.#yaml.isAlias(node)) return this.of(this.#targetOf(node), true);
    if (!inAlias && 'anchor' in node && typeof node.anchor === 'string') this.#anchors.set(node.anchor, node);
    if (this.#yaml.isScalar(node)) return this.#number(node) ?? node.value;
    if (this.#around.size === DEPTH_MAX) throw this.#mistake(node, TOO_DEEP);
    this.#around.add(node);
    const value = this.#collection(node, inAlias);
    this.#around.delete(node);
    return value;
  }

  #collection(node: Node, inAlias: boolean): unknown {
    if (this.#yaml.isSeq<Node | null>(node)) return node.items.map((item) => this.of(item, inAlias));
    const entries = new Map<string, unknown>();
    if (!this.#yaml.isMap<Node, Node | null>(node))
      throw this.#mistake(node, 'neither a value, a list nor a map');
    for (const { key, value } of node.items) {
      const name = this.#yaml.isAlias(key) ? this.#targetOf(key) : key;
      if (!this.#yaml.isScalar(name)) throw this.#mistake(key ?? node, 'expected a text as key');
      if (!inAlias && name.anchor !== undefined) this.#anchors.set(name.anchor, name);
      const written = name.value as string | number | boolean | null;
      const text = String(written ?? '');
      // What merges keys by name would take it for the prototype.
      if (text === '__proto__') throw this.#mistake(key, `unknown key '${text}'`);
      if (text === '<<') throw this.#mistake(key, `merge key '<<', expected the keys themselves`);
      if (entries.has(text)) throw this.#mistake(key, `key '${text}' again, expected each key once`);
      entries.set(text, this.of(value, inAlias));
    }
    return Object.fromEntries(entries);
  }

  /** @returns undefined when it is no number */
  #number(node: Scalar): number | undefined {
    const { value, source = String(value) } = node;
    if (typeof value !== 'number') return undefined;
    if (!Number.isFinite(value)) throw this.#mistake(node, `got ${source}, expected a finite number`);
    if (/^[-+]?\d+$/.test(source) && !Number.isSafeInteger(value))
      throw this.#mistake(
        node,
        `got ${source}, expected a number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, or text in quotes`,
      );
    return value;
  }

  #targetOf(alias: Alias): Node {
    const target = this.#targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined)
      throw this.#mistake(alias, `alias *${alias.source} before its anchor &${alias.source}`);
    if (this.#around.has(target)) throw this.#mistake(alias, `alias *${alias.source} within itself`);
    this.#targets.set(alias, target);
    return target;
  }

  #mistake(node: Node, what: string): HarnessError {
    const line = lineAt(this.#text, node.range?.[0] ?? 0);
    return new HarnessError('DEFINITION_INVALID', `${this.#source}: line ${line}: ${what}`);
  }
}

/** @param offset of a character @returns the number of its line, from 1 */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
