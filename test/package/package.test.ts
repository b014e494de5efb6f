/** The published package: built, packed, installed into an empty folder, used from there. Needs the package registry. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'svcnet-package-'));

function run(program: string, args: readonly string[], cwd = folder): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

beforeAll(() => {
  run('npm', ['run', 'build'], ROOT);
  run('npm', ['pack', '--silent', '--pack-destination', folder, join(ROOT, 'dist')]);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) as string;
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', join(folder, tarball)]);
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a program in an empty folder starts a cluster and reads on one node what it wrote on another', () => {
  writeFileSync(
    join(folder, 'use.js'),
    `import { Cluster } from 'svcnet';
     await using net = await Cluster.start({ nodes: 2, seed: 7 });
     const { reference } = await net.node(0).bytes.upload(new Uint8Array(50_000).fill(7));
     await net.synced(reference);
     const read = await net.node(1).bytes.download(reference);
     console.log(JSON.stringify({ reference, length: read.length, equal: read.every((byte) => byte === 7) }));`,
  );
  expect(JSON.parse(run(process.execPath, ['use.js']))).toEqual({
    reference: '7d3a0ba635906db812668b944cd1ece568178cff29b915ff6f364000a024ed9f',
    length: 50_000,
    equal: true,
  });
}, 120_000);

test('the installed command runs a scenario of its own folder', () => {
  writeFileSync(
    join(folder, 'hello.ts'),
    `import { defineScenario, parameter } from 'svcnet';
     export default defineScenario({
       name: 'hello', group: 'functional', about: 'Every node answers.',
       parameters: { status: parameter('text', 'ok', 'health expected') },
       needs: { nodes: 1 }, cluster: { nodes: 2 }, timeoutMs: 60_000,
       async run({ cluster, expect, parameters }) {
         for (const node of cluster.nodes) {
           const { status } = await node.client.health();
           expect(node.name + ' is well', status === parameters.status, { observed: status, expected: parameters.status });
         }
       },
     });`,
  );
  const command = join('node_modules', '.bin', 'svcnet');
  const result = JSON.parse(run(process.execPath, [command, 'run', './hello.ts', '--json'])) as {
    passed: boolean;
    report: string;
  };
  expect(result.passed).toBe(true);
  expect(readFileSync(join(result.report, 'report.html'), 'utf8')).toContain('Passed: hello');
}, 120_000);

test('the declarations of the package check in a strict project', () => {
  writeFileSync(
    join(folder, 'types.ts'),
    `import { Cluster } from 'svcnet';\nconst name: string = (await Cluster.start()).name;\nconsole.log(name);\n`,
  );
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
  const flags = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--types',
    'node',
    '--typeRoots',
    join(ROOT, 'node_modules', '@types'),
  ];
  expect(run(tsc, [...flags, 'types.ts'])).toBe('');
}, 120_000);

test('the container module is there, and names the package that it needs beside this one', () => {
  const load = `import('svcnet/testcontainers').catch(({ code, message }) => console.log(code, message))`;
  expect(run(process.execPath, ['-e', load])).toMatch(/^ERR_MODULE_NOT_FOUND .*'testcontainers'/);
});
