/**
 * The repository's own rules as a test: which folder may import which, where effects may happen, which words
 * stay in which table. Reads source text; the reasons are in ARCHITECTURE.md.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Inside `node/`: a layer imports from itself and from those before it. */
const NODE_LAYERS = [
  'env',
  'crypto',
  'chunk',
  'store',
  'onchain',
  'postage',
  'swap',
  'p2p',
  'accounting',
  'topology',
  'protocols',
  'neighbourhood',
  'manifest',
  'files',
  'feeds',
  'pss',
  'gsoc',
  'stewardship',
  'incentives',
  'act',
  'api',
  'platform',
  'compose',
  'compose.ts',
  'main.ts',
] as const;

/** Files at the top of `node/` that any layer may read: plain data. */
const NODE_DATA = ['options.ts', 'option-rules.ts', 'option-sources.ts', 'version.ts', 'nearest.ts'];

/** Starts nodes in its own process, so it knows what `node/main.ts` knows. */
const EMBEDDING = 'harness/places/embedded/host.ts';
const EMBEDDING_MAY_IMPORT = [
  'node/compose.ts',
  'node/option-sources.ts',
  'node/platform/memory.ts',
  'node/store/memory-store.ts',
];

/** What the testbed may know of a node's inside: pure formats, never its running parts. */
const HARNESS_MAY_IMPORT = [
  'node/chunk',
  'node/crypto',
  'node/env',
  'node/nearest.ts',
  'node/options.ts',
  'node/version.ts',
  'node/files/splitter.ts',
  'node/files/encryption.ts',
  'node/files/redundancy.ts',
  'node/files/collection.ts',
  'node/files/multipart.ts',
  'node/files/tar.ts',
  'node/feeds/feed.ts',
];

const TOP_LEVEL: Readonly<Record<string, readonly string[]>> = {
  node: ['node'],
  chain: ['chain'],
  harness: ['harness', 'chain', ...HARNESS_MAY_IMPORT],
  scenarios: ['scenarios', 'harness', ...HARNESS_MAY_IMPORT],
};

/** Effects belong to these files; everything else under `node/` receives them. */
const EFFECT_FILES =
  /^node\/(env\/|platform\/|p2p\/[a-z0-9-]*-host\.ts$|store\/[a-z0-9-]*-store\.ts$|onchain\/http-endpoint\.ts$|api\/listen\.ts$|main\.ts$|crypto\/generate\.ts$)/;
const EFFECTS =
  /\b(Date\.now|new Date\(\)|Math\.random|setTimeout|setInterval|setImmediate|performance\.now|randomBytes|randomInt|randomUUID|getBuiltinModule|process\.(on|env|argv|stdout|cpuUsage|memoryUsage|hrtime))\b|from 'node:(fs|fs\/promises|net|http|https|dgram|dns|child_process|timers|timers\/promises)'/;

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function sources(): SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((path) => /^(node|chain|harness|scenarios)\//.test(path) && !path.includes('/assembly/'))
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(
        (match) => match[1] as string,
      );
      return { path, text, imports: specifiers.map((specifier) => posix.join(dirname(path), specifier)) };
    });
}

const files = sources();

test('the source tree is found', () => {
  expect(files.length).toBeGreaterThan(20);
});

test('scenarios know the harness, the harness knows the chain and pure formats, the node knows nobody', () => {
  const wrong = files.flatMap(({ path, imports }) => {
    const room = TOP_LEVEL[path.split('/')[0] as string] ?? [];
    const allowed = path === EMBEDDING ? [...room, ...EMBEDDING_MAY_IMPORT] : room;
    return imports
      .filter((target) => !allowed.some((folder) => target === folder || target.startsWith(`${folder}/`)))
      .map((target) => `${path} imports ${target}`);
  });
  expect(wrong).toEqual([]);
});

test('inside the node a layer imports only from layers below it', () => {
  const wrong = files
    .filter(({ path }) => path.startsWith('node/') && !NODE_DATA.includes(path.slice(5)))
    .flatMap(({ path, imports }) => {
      const own = layerOf(path);
      return imports
        .filter((target) => !NODE_DATA.includes(target.slice(5)) && layerOf(target) > own)
        .map((target) => `${path} imports ${target}`);
    });
  expect(wrong).toEqual([]);
});

function layerOf(path: string): number {
  const layer = NODE_LAYERS.indexOf(path.split('/')[1] as (typeof NODE_LAYERS)[number]);
  if (layer === -1)
    throw new Error(`${path} belongs to no layer of the node; known: ${NODE_LAYERS.join(', ')}`);
  return layer;
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

test('js-libp2p is what the tests compare with: nothing that runs imports it', () => {
  const wrong = files.filter(({ text }) => /from '(@?libp2p|@chainsafe\/libp2p|@?multiformats)/.test(text));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('time, randomness, disk and sockets are touched at the edge of the node only', () => {
  const wrong = files
    .filter(({ path }) => path.startsWith('node/') && !EFFECT_FILES.test(path))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .map((line, i) => ({ line, at: `${path}:${i + 1}` }))
        .filter(({ line }) => EFFECTS.test(line) && !/^\s*(\*|\/\/|import type )/.test(line))
        .map(({ line, at }) => `${at} ${line.trim()}`),
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

test('no error is swallowed', () => {
  const wrong = files.filter(({ text }) =>
    /catch *(\([a-zA-Z_]*\))? *\{ *\}|\.catch\(\(\) *=> *(\{\}|undefined|null)\)/.test(text),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('imports name the file that defines the thing', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports.filter((target) => !/\.(ts|json)$/.test(target)).map((target) => `${path} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});
