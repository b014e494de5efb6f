import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type { NetworkInput } from '../../../harness/cluster/attached/network-input.ts';
import type { schema as networkSchema } from '../../../harness/cluster/attached/schema.ts';
import type { DefinitionInput, GroupInput } from '../../../harness/cluster/plan/definition-input.ts';
import type { schema } from '../../../harness/cluster/plan/schema.ts';
import type { NodeOptionsInput } from '../../../harness/flavours/node-options.gen.ts';
import type { RESERVED_OPTIONS } from '../../../harness/flavours/svc-options.ts';
import type { NodeOptions, OPTIONS, OptionName } from '../../../node/options.ts';
import { readSources } from '../source-tree.ts';
import { docOf, type PublicExport } from './declarations.ts';
import { type PublicSurface, REPORT_FILE, readSurface, reportOf } from './entries.ts';
import { NODE_OPTIONS_FILE, nodeOptionsSource } from './node-options.ts';
import { usersText } from './users.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

let surface: PublicSurface;
beforeAll(() => {
  surface = readSurface();
});

test('the API report matches the exports of the entries; npm run api writes it', () => {
  expect(reportOf(surface)).toBe(read(REPORT_FILE));
});

test('the declared options of nodes match the table; npm run api writes them', () => {
  expect(nodeOptionsSource()).toBe(read(NODE_OPTIONS_FILE));
});

test('every declaration that an export refers to is also exported', () => {
  const known = new Set(surface.exports.map(({ declaration }) => declaration.id));
  const missing = surface.exports.flatMap((one) =>
    surface.declarations
      .referencesOf(one)
      .declarations.filter(({ id }) => !known.has(id))
      .map(({ id }) => `${one.entry} ${one.name} refers to ${id}`),
  );
  expect(missing).toEqual([]);
});

test('no type of another package is part of the API, except those of testcontainers in its own entry', () => {
  const foreign = surface.exports.flatMap((one) =>
    surface.declarations.referencesOf(one).packages.map((name) => `${one.entry} ${name}`),
  );
  expect([...new Set(foreign)]).toEqual(['svcnet/testcontainers testcontainers']);
});

test('every export has a docstring', () => {
  const silent = surface.exports.filter(({ declaration }) => docOf(declaration) === undefined);
  expect(silent.map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
});

test('a name has the same meaning in all entries', () => {
  const ids = new Map<string, Set<string>>();
  for (const { name, declaration } of surface.exports)
    ids.set(name, (ids.get(name) ?? new Set()).add(declaration.id));
  expect([...ids].filter(([, meanings]) => meanings.size > 1).map(([name]) => name)).toEqual([]);
});

test('every export, or one that refers to it, is used in documentation, examples or scenarios', () => {
  const text = usersText();
  const words = new Set(text.match(/[A-Za-z_]\w*/g));
  const byId = new Map(surface.exports.map((one) => [one.declaration.id, one]));
  const reached = new Set<PublicExport>();
  const reach = (one: PublicExport): void => {
    if (reached.has(one)) return;
    reached.add(one);
    for (const { id } of surface.declarations.referencesOf(one).declarations) {
      const next = byId.get(id);
      if (next !== undefined) reach(next);
    }
  };
  for (const one of surface.exports) if (words.has(one.name)) reach(one);
  const reachedIds = new Set([...reached].map(({ declaration }) => declaration.id));
  const unused = surface.exports.filter(({ declaration }) => !reachedIds.has(declaration.id));
  expect(unused.map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
});

test('bundled scenarios import only the public entries', () => {
  const wrong = readSources()
    .filter(({ path }) => path.startsWith('scenarios/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => !/^(scenarios\/|harness\/(index|scenario)\.ts$)/.test(target))
        .map((target) => `${path} imports ${target}`),
    );
  expect(wrong).toEqual([]);
});

/** At any depth: the schemas have none. */
type Plain<T> = T extends (infer E)[] | readonly (infer E)[]
  ? T extends readonly [infer A, infer B]
    ? [A, B]
    : Plain<E>[]
  : T extends object
    ? { -readonly [K in keyof T]: Plain<T[K]> }
    : T;

test('the declared types match the schemas', () => {
  type Read = Omit<z.input<typeof schema>, 'nodes'>;
  type Declared = Omit<DefinitionInput, 'nodes'>;
  expectTypeOf<keyof Declared>().toEqualTypeOf<keyof Read>();
  expectTypeOf<Plain<Declared>>().toExtend<Read>();
  expectTypeOf<Plain<Read>>().toExtend<Plain<Declared>>();
  type ReadGroup = Extract<z.input<typeof schema>['nodes'], readonly unknown[]>[number];
  expectTypeOf<Plain<GroupInput>>().toExtend<ReadGroup>();
  type KeysOf<U> = U extends unknown ? keyof U : never;
  expectTypeOf<KeysOf<GroupInput>>().toEqualTypeOf<keyof ReadGroup>();

  type ReadNetwork = Omit<z.input<typeof networkSchema>, 'name'>;
  expectTypeOf<Plain<Omit<NetworkInput, 'name'>>>().toExtend<ReadNetwork>();
  expectTypeOf<Plain<ReadNetwork>>().toExtend<Plain<Omit<NetworkInput, 'name'>>>();

  type InputOf<T> = T extends boolean
    ? boolean
    : T extends number | bigint
      ? number | string
      : T extends readonly string[]
        ? string | readonly string[]
        : T;
  type Choosable = Exclude<OptionName, (typeof RESERVED_OPTIONS)[number]>;
  expectTypeOf<NodeOptionsInput>().toEqualTypeOf<{
    // A number has no unit.
    readonly [N in Choosable]?: (typeof OPTIONS)[N] extends { readonly unit: 'duration' }
      ? string
      : InputOf<NodeOptions[N]>;
  }>();
});
