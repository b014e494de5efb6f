/**
 * Guides the fuzzer: every source loaded from here on counts, in one array for all, how often each of its blocks, branches
 * and cases is entered.
 */
import { registerHooks } from 'node:module';
import { MagicString } from 'magic-string';
import { parseSync } from 'oxc-parser';

const BLOCKS_MAX = 1 << 17;
const COUNTERS = '__fuzzCounters';
const OWN_CODE = /\/(node|harness|chain)\/.*\.ts$/;

export interface Coverage {
  /** By block, modulo 256. */
  readonly counters: Uint8Array;
  readonly size: () => number;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** From here on. Once per thread. */
export function instrumentImports(): Coverage {
  const counters = new Uint8Array(BLOCKS_MAX);
  Object.assign(globalThis, { [COUNTERS]: counters });
  let blocks = 0;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!OWN_CODE.test(url) || url.includes('/node_modules/') || loaded.source == null) return loaded;
      const source = Buffer.from(loaded.source as Uint8Array).toString();
      return { ...loaded, source: instrumented(source, () => blocks++ % BLOCKS_MAX) };
    },
  });
  return { counters, size: () => Math.min(blocks, BLOCKS_MAX) };
}

export function instrumented(source: string, nextBlock: () => number): string {
  const { program, errors } = parseSync('source.ts', source);
  if (errors.length > 0) throw new SyntaxError(`cannot be instrumented: ${errors[0]?.message}`);
  const text = new MagicString(source);
  const count = () => `${COUNTERS}[${nextBlock()}]++`;
  const asStatement = (node: SyntaxNode) => {
    if (node.type === 'BlockStatement' || node.type === 'FunctionBody') return;
    text.appendLeft(node.start, `{${count()};`).appendRight(node.end, '}');
  };
  const asExpression = (node: SyntaxNode) =>
    text.appendLeft(node.start, `(${count()},`).appendRight(node.end, ')');

  function visit(node: SyntaxNode): void {
    switch (node.type) {
      case 'BlockStatement':
      case 'FunctionBody':
        text.appendRight(node.start + 1, `${count()};`);
        break;
      case 'IfStatement':
        asStatement(node['consequent'] as SyntaxNode);
        if (isNode(node['alternate'])) asStatement(node['alternate']);
        break;
      case 'ForStatement':
      case 'ForOfStatement':
      case 'ForInStatement':
      case 'WhileStatement':
        asStatement(node['body'] as SyntaxNode);
        break;
      case 'SwitchCase': {
        const [first] = node['consequent'] as SyntaxNode[];
        if (first !== undefined) text.appendRight(first.start, `${count()};`);
        break;
      }
      case 'ConditionalExpression':
        asExpression(node['consequent'] as SyntaxNode);
        asExpression(node['alternate'] as SyntaxNode);
        break;
      case 'LogicalExpression':
        asExpression(node['right'] as SyntaxNode);
        break;
      case 'ArrowFunctionExpression': {
        const body = node['body'] as SyntaxNode;
        if (node['expression'] === true) asExpression(body);
        break;
      }
    }
    for (const [member, value] of Object.entries(node)) {
      if (member === 'typeAnnotation' || member === 'typeParameters' || member === 'returnType') continue;
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child);
    }
  }
  visit(program as unknown as SyntaxNode);
  return text.toString();
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}
