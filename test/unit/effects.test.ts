/** Lint forbids effects and reading the time; this tries what it says. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { readPage } from './source-tree.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONFIG = '.oxlintrc.json';
const OXLINT = join(ROOT, 'node_modules/.bin/oxlint');
const EFFECT = /^eslint\(no-restricted-(?:globals|imports|properties)\)$/;

interface Config {
  overrides: { files: string[]; excludeFiles?: string[]; rules: object }[];
}

const config = JSON.parse(readFileSync(join(ROOT, CONFIG), 'utf8')) as Config;
const edge = config.overrides
  .filter(({ files }) => files.includes('node/**/*.ts'))
  .flatMap(({ excludeFiles = [] }) => excludeFiles);

const TIME_EDGE =
  config.overrides.find(
    ({ files, rules }) => files.includes('scenarios/**/*.ts') && 'no-restricted-imports' in rules,
  )?.excludeFiles ?? [];

const folder = temporaryFolder('effects');
beforeAll(() => {
  cpSync(join(ROOT, CONFIG), join(folder, CONFIG));
});

function effectsIn(cwd: string, ...folders: string[]): string[] {
  const { stdout } = spawnSync(OXLINT, ['--config', CONFIG, '--format', 'json', ...folders], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; filename: string }[] };
  return diagnostics.filter(({ code }) => EFFECT.test(code)).map(({ filename }) => filename);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const EFFECTS = [
  'export const x = Date.now();',
  'export const x = new Date();',
  'export const x = performance.now();',
  'export const x = process.env;',
  'export const x = Math.random();',
  'export const x = crypto.randomUUID();',
  'export const x = globalThis.setTimeout;',
  'setTimeout(() => undefined, 1);',
  'setInterval(() => undefined, 1);',
  'setImmediate(() => undefined);',
  'export const x = AbortSignal.timeout(1);',
  "export const x = await fetch('http://127.0.0.1');",
  "console.log('x');",
  "export { randomBytes } from 'node:crypto';",
  "import { generateKeyPairSync } from 'node:crypto';\nexport const x = generateKeyPairSync;",
  "import * as crypto from 'node:crypto';\nexport const x = crypto;",
  "export const x = await import('node:fs');",
  "import { readFileSync } from 'node:fs';\nexport const x = readFileSync;",
  "import { readFile } from 'fs/promises';\nexport const x = readFile;",
  "import * as net from 'node:net';\nexport const x = net;",
  "import { request } from 'node:http';\nexport const x = request;",
  "import { networkInterfaces } from 'node:os';\nexport const x = networkInterfaces;",
  "import { setTimeout as sleep } from 'node:timers/promises';\nexport const x = sleep;",
  "import { Worker } from 'node:worker_threads';\nexport const x = Worker;",
  "import { open } from 'lmdb';\nexport const x = open;",
];

test('lint refuses every effect in formats and the core of a node, and none at its edge', () => {
  const core = EFFECTS.map((text, index) => {
    const path = `${index % 2 === 0 ? 'formats/chunk' : 'node/postage'}/effect-${index}.ts`;
    write(path, text);
    return path;
  });
  for (const path of [
    'formats/clock.ts',
    'node/p2p/tcp-host.ts',
    'node/store/disk/index-file.ts',
    'node/main.ts',
  ])
    write(path, EFFECTS.join('\n').replaceAll('export const x', 'const x'));
  write('node/postage/types.ts', "import type { Server } from 'node:http';\nexport type Given = Server;");
  write('node/postage/hash.ts', "import { createHash } from 'node:crypto';\nexport const x = createHash;");
  const found = new Set(effectsIn(folder, 'formats', 'node'));
  expect([...found].sort()).toEqual(core.sort());
});

test('the edge is what the page says, and each part of it has effects', () => {
  const [, listed = ''] = /effects at the edge \(([^)]*)\)/.exec(readPage('ARCHITECTURE.md')) ?? [];
  const names = [...listed.matchAll(/`([^`]+)`/g)].map(([, name = '']) =>
    name.startsWith('formats/') ? name : `node/${name}`,
  );
  expect(names.sort()).toEqual([...edge].sort());

  const listing = ['ls-files', '--cached', '--others', '--exclude-standard', 'formats', 'node'];
  const sources = execFileSync('git', listing, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  const whole = join(folder, 'whole');
  for (const source of sources) cpSync(join(ROOT, source), join(whole, source));
  const everywhere = config.overrides.map(({ files, rules }) => ({ files, rules }));
  writeFileSync(join(whole, CONFIG), JSON.stringify({ ...config, overrides: everywhere }));
  const found = effectsIn(whole, 'formats', 'node');
  expect(edge.filter((pattern) => !found.some((file) => matchesGlob(file, pattern)))).toEqual([]);
});

const TIME = EFFECTS.filter((text) => /\bnow\(|setTimeout\(|setInt|setIm|timeout|timers/.test(text));

test('lint refuses the machine’s time in harness and scenarios, and none where it is handed out', () => {
  const refused = TIME.map((text, index) => {
    const path = `${index % 2 === 0 ? 'harness/run' : 'scenarios/steps'}/time-${index}.ts`;
    write(path, text);
    return path;
  });
  const listed = execFileSync('git', ['ls-files', 'harness', 'scenarios'], { cwd: ROOT, encoding: 'utf8' });
  const sources = listed.trim().split('\n');
  const isEdge = (path: string) => TIME_EDGE.some((pattern) => matchesGlob(path, pattern));
  // Lint does not tell a moment that is given from the present one.
  const present = (path: string) => /new Date\(\)/.test(readFileSync(join(ROOT, path), 'utf8'));
  expect(sources.filter((path) => path.endsWith('.ts') && !isEdge(path) && present(path))).toEqual([]);
  write('harness/run/format.ts', 'export const x = new Date(0).toISOString();');
  write('harness/web/live/page.ts', TIME.join('\n').replaceAll('export const x', 'const x'));
  expect([...new Set(effectsIn(folder, 'harness', 'scenarios'))].sort()).toEqual(refused.sort());
});
