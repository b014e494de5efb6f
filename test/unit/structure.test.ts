/** Reads source text. Who may import whom stands in the tables of ARCHITECTURE.md, with the reasons. */
import { dirname, posix } from 'node:path';
import { expect, test } from 'vitest';
import { harnessRooms, innerRooms, nodeLayers, topLevel } from './architecture-page.ts';
import { importCycles, readSources } from './source-tree.ts';

/** More files have more than one subject. */
const FOLDER_FILES_MAX = 15;
/** Other files that all but one of twenty import at most: more than that have more than one subject. */
const IMPORTS_MAX = 14;
const TABLE_FOLDERS = /^(node\/api\/routes|harness\/commands(\/options)?|scenarios)$/;

const files = readSources();

test('the source tree is found', () => {
  expect(files.length).toBeGreaterThan(20);
});

test('no two files import each other, directly or in a circle, types included', () => {
  expect(importCycles(files)).toEqual([]);
});

test('a circle of three files is found, even beside another one', () => {
  const imports = { a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: ['d', 'f'], f: [], g: ['a', 'g'] };
  const made = Object.entries(imports).map(([path, targets]) => ({ path, imports: targets }));
  expect(importCycles(made)).toEqual([['a', 'b', 'c'], ['d', 'e'], ['g']]);
});

test('a folder has few files, except tables whose rows are files', () => {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const large = [...counts].filter(
    ([folder, count]) => count > FOLDER_FILES_MAX && !TABLE_FOLDERS.test(folder),
  );
  expect(large).toEqual([]);
});

test.each(['node/', 'harness/', ''])('of twenty files in /%s one may import many others', (wing) => {
  const counts = files.filter(({ path }) => path.startsWith(wing)).map(({ imports }) => imports.length);
  const sorted = counts.sort((a, b) => a - b);
  expect(sorted[Math.ceil(sorted.length * 0.95) - 1]).toBeLessThanOrEqual(IMPORTS_MAX);
});

test('the folders of the repository import only what their table allows, and use all of it', () => {
  const used = new Set<string>();
  const wrong = files.flatMap(({ path, imports }) => {
    const row = topLevel().find(({ name }) => path.startsWith(name));
    return imports
      .filter((target) => row === undefined || !target.startsWith(row.name))
      .filter((target) => {
        const allowance = row?.mayImport.find((name) => covers(name, target));
        used.add(`${row?.name} ${allowance}`);
        return allowance === undefined;
      })
      .map((target) => `${path} imports ${target}`);
  });
  expect(wrong).toEqual([]);
  expect(unused(topLevel(), used)).toEqual([]);
});

test('a room of the harness imports only the rooms above it that its row names, and all of these', () => {
  const rooms = harnessRooms();
  const roomOf = (path: string) => rooms.findIndex(({ name }) => covers(`harness/${name}`, path));
  const used = new Set<string>();
  const wrong = files
    .filter(({ path }) => path.startsWith('harness/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith('harness/') && roomOf(target) !== roomOf(path))
        .filter((target) => {
          const [own, other] = [rooms[roomOf(path)], rooms[roomOf(target)]];
          used.add(`${own?.name} ${other?.name}`);
          const allowed = other !== undefined && own?.mayImport.includes(other.name) === true;
          return !allowed || roomOf(target) > roomOf(path);
        })
        .map((target) => `${path} imports ${target}`),
    );
  expect(wrong).toEqual([]);
  expect(unused(rooms, used)).toEqual([]);
  expect(rooms.map(({ name }) => name).sort()).toEqual(entriesOf('harness/'));
});

test.each(innerRooms())(
  'inside harness/$room a room imports only from those before it',
  ({ room, inside }) => {
    const folder = `harness/${room}`;
    const placeOf = (path: string) => {
      const listed = inside.findIndex((name) => covers(name, path.slice(folder.length)));
      return listed === -1 ? inside.indexOf('*.ts') : listed;
    };
    const within = files.filter(({ path }) => path.startsWith(folder));
    const places = new Set(within.map(({ path }) => placeOf(path)));
    expect([...places].sort((a, b) => a - b)).toEqual(inside.map((_, place) => place));
    const wrong = within.flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith(folder) && placeOf(target) > placeOf(path))
        .map((target) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  },
);

test('inside the node a layer imports only from layers below it', () => {
  const layers = nodeLayers();
  const layerOf = (path: string) =>
    layers.findIndex((names) => names.some((name) => covers(`node/${name}`, path)));
  const wrong = files
    .filter(({ path }) => path.startsWith('node/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith('node/') && layerOf(target) > layerOf(path))
        .map((target) => `${path} imports ${target}`),
    );
  expect(wrong).toEqual([]);
  expect(layers.flat().sort()).toEqual(entriesOf('node/'));
});

/** @param name folder with `/` at its end, or file */
function covers(name: string, path: string): boolean {
  return name.endsWith('/') ? path.startsWith(name) : path === name;
}

function unused(rows: ReturnType<typeof topLevel>, used: ReadonlySet<string>): string[] {
  return rows.flatMap(({ name, mayImport }) =>
    mayImport.filter((other) => !used.has(`${name} ${other}`)).map((other) => `${name} never uses ${other}`),
  );
}

function entriesOf(folder: string): string[] {
  const inside = files
    .filter(({ path }) => path.startsWith(folder))
    .map(({ path }) => path.slice(folder.length));
  return [...new Set(inside.map((path) => path.replace(/\/.*/, '/')))].sort();
}

test('one protocol does not import another', () => {
  const wrong = files
    .filter(({ path }) => /^node\/protocols\/[^/]+\//.test(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => /^node\/protocols\/[^/]+\//.test(target) && dirname(target) !== dirname(path))
        .map((target) => `${path} imports ${target}`),
    );
  expect(wrong).toEqual([]);
});

test('folders are made by makeFolder: with `recursive`, mkdir never ends below /proc', () => {
  const recursive = /\bmkdir(?:Sync)?\([^;]*?recursive/;
  const wrong = files.filter(({ path, text }) => !path.startsWith('test/') && recursive.test(text));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test("Yarn's PnP: entries of a folder do not know their parent, and no `await using` closes a file", () => {
  const lacking = /\.parentPath|await using \w+ = await (?:\w+\((?:\w+, )?)*open(?:ed)?\(/;
  expect(files.filter(({ text }) => lacking.test(text)).map(({ path }) => path)).toEqual([]);
});

test('node:http is got by its name: an import evaluates what it exports, and with it a second undici', () => {
  const imports = /^import (?!type )[^;]*? from 'node:http';/ms;
  const wrong = files.filter(({ text }) => imports.test(text));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('js-libp2p serves only as a reference in tests: nothing that runs imports it', () => {
  const wrong = files.filter(({ text }) => /from '(@?libp2p|@chainsafe\/libp2p|@?multiformats)/.test(text));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('only the driver that embeds nodes, and the code that tampers with them, import the running parts of a node', () => {
  const running = /^node\/(compose|option-sources|platform\/|store\/|env\/heap\.ts)/;
  const wrong = files
    .filter(
      ({ path }) =>
        /^(chain|harness|scenarios)\//.test(path) &&
        !/^harness\/(places\/embedded|flavours\/(dishonest|tampered))\//.test(path),
    )
    .flatMap(({ path, imports }) =>
      imports.filter((target) => running.test(target)).map((t) => `${path} imports ${t}`),
    );
  expect(wrong).toEqual([]);
});

test('a platform is loaded without the parts of the other one', () => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const loaded = (path: string, seen = new Set<string>()): Set<string> => {
    const file = byPath.get(path);
    if (file === undefined || seen.has(path)) return seen;
    seen.add(path);
    const statements = file.text.matchAll(/^import (?!type )[^;]*?from '(\.{1,2}\/[^']+)'/gm);
    for (const [, specifier = ''] of statements) loaded(posix.join(dirname(path), specifier), seen);
    return seen;
  };
  const [machine, memory] = ['machine', 'memory'].map((name) => loaded(`node/platform/${name}.ts`));
  expect([...(machine ?? [])].filter((path) => /\/memory|power\.ts|sorted-table/.test(path))).toEqual([]);
  expect(
    [...(memory ?? [])].filter((path) => /libp2p|tcp|noise|lmdb|key-store|process-metrics/.test(path)),
  ).toEqual([]);
  expect([...loaded('node/compose.ts')].filter((path) => path.startsWith('node/platform/'))).toEqual([]);
});

test('names of a dialect stand in the dialect table only', () => {
  const wrong = files
    .filter(({ path }) => path.startsWith('node/') && path !== 'node/api/dialect.ts')
    .filter(({ text }) => /['"`](svc|swarm)-(?!feed-)/i.test(text))
    .map(({ path }) => path);
  expect(wrong).toEqual([]);
});

test('drivers are compared by what they can do, not by name', () => {
  const compared = /[=!]==? '(process|embedded|docker|attached)'/;
  const naming = files.filter(({ path, text }) => /^(harness|scenarios)\//.test(path) && compared.test(text));
  expect(naming.map(({ path }) => path)).toEqual([]);
});

test('no error is swallowed', () => {
  const wrong = files.filter(({ text }) =>
    /catch *(\([a-zA-Z_]*\))? *\{ *\}|\.catch\(\(\) *=> *(\{\}|undefined|null)\)/.test(text),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('no test is left out, alone, expected to fail or tried again', () => {
  const wrong = readSources(/^test\//).flatMap(({ path, text }) =>
    [
      ...text.matchAll(
        /\b(?:test|it|describe|property)\.(?:skip|skipIf|only|todo|fails|runIf\b(?!\(process\.platform))\b|\bretry: \d/g,
      ),
    ].map(([what]) => `${path}: ${what}`),
  );
  expect(wrong).toEqual([]);
});

test('what test files share registers nothing when it is loaded, which happens once per process', () => {
  const shared = readSources(/^test\/(unit|cluster|storm)\//).filter(
    ({ path }) => !path.endsWith('.test.ts'),
  );
  const wrong = shared.filter(({ text }) =>
    /^(export )?(const .* = (use\w+|temporaryFolder)|(before|after)(All|Each)|test|describe)\b(\.each)?\(/m.test(
      text,
    ),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('no beforeAll makes a temporary folder, which nothing would remove', () => {
  const wrong = readSources(/^test\//).filter(({ text }) =>
    /\bbeforeAll\([^\n]*(?:\{\n(?:(?!\n *\}\);).)*)?\btemporaryFolder\(/s.test(text),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('imports name the file that defines the thing', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports.filter((target) => !/\.(ts|json)$/.test(target)).map((target) => `${path} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});
