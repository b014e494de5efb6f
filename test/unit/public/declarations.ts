/** What the package declares, by the compiler's declarations: the exports of each entry, and what each refers to. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Comment, parseSync } from 'oxc-parser';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Declaration {
  /** `path#name`, from the package's root without extension. */
  readonly id: string;
  readonly name: string;
  readonly node: AstNode;
  readonly module: Module;
}

export interface PublicExport {
  /** `svcnet`, `svcnet/scenario` and so on. */
  readonly entry: string;
  readonly name: string;
  readonly typeOnly: boolean;
  readonly declaration: Declaration;
}

interface Module {
  readonly path: string;
  readonly text: string;
  readonly comments: readonly Comment[];
  readonly body: readonly AstNode[];
  readonly declared: ReadonlyMap<string, AstNode>;
  /** Local name → where it is from. */
  readonly imported: ReadonlyMap<string, { readonly from: string; readonly name: string }>;
}

/**
 * As the build does.
 * @param outDir an empty folder
 */
export function emitDeclarations(outDir: string, entries: readonly string[]): void {
  const project = join(outDir, 'tsconfig.json');
  const compilerOptions = {
    rootDir: ROOT,
    outDir,
    emitDeclarationOnly: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  const files = entries.map((entry) => join(ROOT, entry));
  const config = {
    extends: join(ROOT, '.tsconfig.build.json'),
    compilerOptions,
    include: [],
    exclude: [],
    files,
  };
  writeFileSync(project, JSON.stringify(config));
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project], { stdio: ['ignore', 'pipe', 'pipe'] });
}

export class Declarations {
  readonly #folder: string;
  readonly #modules = new Map<string, Module>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @param path from the package's root without extension @param entry name that users import */
  exportsOf(entry: string, path: string): PublicExport[] {
    return [...this.#exports(this.#module(path), false)]
      .map(([name, { typeOnly, declaration }]) => ({ entry, name, typeOnly, declaration }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** By name, with packages that it takes types from. */
  referencesOf({ declaration, typeOnly }: Pick<PublicExport, 'declaration' | 'typeOnly'>): {
    readonly declarations: readonly Declaration[];
    readonly packages: readonly string[];
  } {
    const { module } = declaration;
    const declarations = new Map<string, Declaration>();
    const packages = new Set<string>();
    const use = (from: string, name: string) => {
      if (!from.startsWith('.')) {
        if (!from.startsWith('node:')) packages.add(from);
        return;
      }
      const found = this.#resolve(pathOf(module, from), name);
      declarations.set(found.id, found);
    };
    const bound = new Set<string>();
    const seen: string[] = [];
    walk(declaration.node, (node) => {
      if (typeOnly && isConstruction(node)) return false;
      if (node.type === 'TSTypeParameter') bound.add((node['name'] as { name: string }).name);
      if (node.type === 'TSImportType') {
        const source = node['source'] as { value: string };
        const qualifier = node['qualifier'] as AstNode | null;
        if (qualifier !== null) use(source.value, leftmost(qualifier));
      }
      const referred = REFERENCES[node.type];
      const target = referred === undefined ? undefined : (node[referred] as AstNode | null);
      if (target !== undefined && target !== null) seen.push(leftmost(target));
      return true;
    });
    for (const name of seen) {
      if (bound.has(name) || name === declaration.name) continue;
      const imported = module.imported.get(name);
      if (imported !== undefined) use(imported.from, imported.name);
      else if (module.declared.has(name)) {
        const found = this.#declaration(module, name);
        declarations.set(found.id, found);
      }
    }
    return { declarations: [...declarations.values()], packages: [...packages] };
  }

  /** By `typeof`: the words of a union are theirs. */
  valuesOf({
    declaration,
    typeOnly,
  }: Pick<PublicExport, 'declaration' | 'typeOnly'>): Pick<PublicExport, 'declaration' | 'typeOnly'>[] {
    const { module } = declaration;
    const names = new Set<string>();
    walk(declaration.node, (node) => {
      if (typeOnly && isConstruction(node)) return false;
      if (node.type === 'TSTypeQuery') names.add(leftmost(node['exprName'] as AstNode));
      return true;
    });
    return [...names]
      .filter((name) => module.declared.has(name))
      .map((name) => ({ declaration: this.#declaration(module, name), typeOnly: true }));
  }

  #module(path: string): Module {
    const known = this.#modules.get(path);
    if (known !== undefined) return known;
    const file = join(this.#folder, `${path}.d.ts`);
    const text = readFileSync(existsSync(file) ? file : join(ROOT, `${path}.d.ts`), 'utf8');
    const { program, comments, errors } = parseSync(`${path}.d.ts`, text);
    if (errors.length > 0) throw new Error(`${path}.d.ts: ${errors[0]?.message}`);
    const body = program.body as unknown as readonly AstNode[];
    const module = { path, text, comments, body, declared: declaredIn(body), imported: importedIn(body) };
    this.#modules.set(path, module);
    return module;
  }

  #declaration(module: Module, name: string): Declaration {
    const node = module.declared.get(name);
    if (node === undefined) throw new Error(`${module.path} declares no ${name}`);
    return { id: `${module.path}#${name}`, name, node, module };
  }

  #resolve(path: string, name: string): Declaration {
    const module = this.#module(path);
    const exported = this.#exports(module, false).get(name);
    if (exported !== undefined) return exported.declaration;
    return this.#declaration(module, name);
  }

  #exports(
    module: Module,
    typesAlone: boolean,
  ): Map<string, { readonly typeOnly: boolean; readonly declaration: Declaration }> {
    const found = new Map<string, { typeOnly: boolean; declaration: Declaration }>();
    for (const node of module.body) {
      const source = (node['source'] as { value: string } | null | undefined)?.value;
      const typeOnly = typesAlone || node['exportKind'] === 'type';
      if (node.type === 'ExportAllDeclaration') {
        const all = this.#exports(this.#module(pathOf(module, source as string)), typeOnly);
        for (const [name, one] of all) found.set(name, one);
      }
      if (node.type !== 'ExportNamedDeclaration') continue;
      for (const specifier of node['specifiers'] as AstNode[]) {
        const [local, name] = [nameOf(specifier['local']), nameOf(specifier['exported'])];
        const imported = module.imported.get(local);
        const from = source ?? imported?.from;
        const declaration =
          from === undefined
            ? this.#declaration(module, local)
            : this.#resolve(pathOf(module, from), source === undefined ? (imported?.name as string) : local);
        found.set(name, { typeOnly: typeOnly || specifier['exportKind'] === 'type', declaration });
      }
      const own = node['declaration'] as AstNode | null;
      if (own === null || own === undefined) continue;
      for (const name of namesOf(own))
        found.set(name, { typeOnly: typesAlone, declaration: this.#declaration(module, name) });
    }
    return found;
  }
}

/** Without comments, and without the constructor of a class that users cannot construct. */
export function textOf({ declaration, typeOnly }: Pick<PublicExport, 'declaration' | 'typeOnly'>): string {
  const { module, node } = declaration;
  const left: { start: number; end: number }[] = module.comments
    .filter(({ start, end }) => start >= node.start && end <= node.end)
    .map(({ start, end }) => ({ start, end }));
  walk(node, (child) => {
    if (child.type === 'PropertyDefinition' && (child['key'] as AstNode).type === 'PrivateIdentifier')
      left.push(child);
    if (typeOnly && isConstruction(child)) left.push(child);
    return true;
  });
  let text = '';
  let at = node.start;
  for (const { start, end } of left.sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    text += module.text.slice(at, start);
    at = end;
  }
  text += module.text.slice(at, node.end);
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '' && line.trim() !== ';')
    .map((line) => line.replace(/^( {4})+/, (indent) => ' '.repeat(indent.length / 2)))
    .join('\n');
}

export function docOf({ module, node }: Declaration): string | undefined {
  const before = module.comments.filter(({ end }) => end <= node.start).at(-1);
  if (before === undefined || before.type !== 'Block' || !before.value.startsWith('*')) return undefined;
  const between = module.text
    .slice(before.end, node.start)
    .replace(/\b(export|declare|default|const)\b/g, '');
  return between.trim() === '' ? before.value : undefined;
}

/** Where each kind of node has the name that it refers to. */
const REFERENCES: Readonly<Record<string, string>> = {
  TSTypeReference: 'typeName',
  TSInterfaceHeritage: 'expression',
  TSClassImplements: 'expression',
  ClassDeclaration: 'superClass',
};

function isConstruction(node: AstNode): boolean {
  return node.type === 'MethodDefinition' && (node['kind'] === 'constructor' || node['static'] === true);
}

function walk(node: AstNode, visit: (node: AstNode) => boolean): void {
  if (!visit(node)) return;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value])
      if (child !== null && typeof child === 'object' && typeof child.type === 'string')
        walk(child as AstNode, visit);
  }
}

function leftmost(node: AstNode): string {
  return node.type === 'TSQualifiedName' ? leftmost(node['left'] as AstNode) : nameOf(node);
}

function nameOf(node: unknown): string {
  const { name, value } = node as { name?: string; value?: string };
  return name ?? value ?? '';
}

function declaredIn(body: readonly AstNode[]): Map<string, AstNode> {
  const found = new Map<string, AstNode>();
  for (const node of body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node['declaration'] : node;
    if (declaration === null || declaration === undefined) continue;
    for (const name of namesOf(declaration as AstNode)) found.set(name, declaration as AstNode);
  }
  return found;
}

function namesOf(node: AstNode): string[] {
  if (node.type === 'VariableDeclaration')
    return (node['declarations'] as AstNode[]).map((one) => nameOf(one['id']));
  return /Declaration$|^TSDeclareFunction$/.test(node.type) && node['id'] ? [nameOf(node['id'])] : [];
}

function importedIn(body: readonly AstNode[]): Map<string, { from: string; name: string }> {
  const found = new Map<string, { from: string; name: string }>();
  for (const node of body.filter(({ type }) => type === 'ImportDeclaration')) {
    const from = (node['source'] as { value: string }).value;
    for (const specifier of node['specifiers'] as AstNode[]) {
      const local = nameOf(specifier['local']);
      found.set(local, {
        from,
        name: specifier['imported'] === undefined ? '*' : nameOf(specifier['imported']),
      });
    }
  }
  return found;
}

function pathOf(module: Module, specifier: string): string {
  return relative('/', join('/', dirname(module.path), specifier.replace(/\.(ts|js)$/, '')));
}
