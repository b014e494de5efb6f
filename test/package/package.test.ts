/** Needs the package registry. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { beforeAll, describe, expect, test } from 'vitest';
import { portShift } from '../cluster/ports.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ELSEWHERE, installedBeside, NAMED_PORTS, playAll, playable, unaccounted } from './guides.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('svcnet-package');
let tarball = '';

function run(program: string, args: readonly string[], cwd = folder): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

beforeAll(() => {
  run('npm', ['run', 'build'], ROOT);
  run('npm', ['pack', '--silent', '--pack-destination', folder, join(ROOT, 'dist')]);
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) as string);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: Readonly<Record<string, string>>;
  };
  const versions: Readonly<Record<string, string | undefined>> = { ...devDependencies, jest: '30' };
  const beside = installedBeside().map((name) => {
    const version = versions[name];
    return version === undefined ? name : `${name}@${version}`;
  });
  run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball, ...beside]);
});

test('a program in an empty folder starts a cluster, and reads on one node what it wrote on another', () => {
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
});

test('its nodes find the program of their worker threads', () => {
  writeFileSync(
    join(folder, 'workers.js'),
    `import { Cluster } from 'svcnet';
     await using net = await Cluster.start({ nodes: [{ count: 1, options: { workers: 1 } }], seed: 7 });
     await net.node(0).bytes.upload(new Uint8Array(32 * 2 ** 20).fill(7));
     const metrics = await (await fetch(net.node(0).api + '/metrics')).text();
     console.log(/^svc_workers_operations_count (\\d+)$/m.exec(metrics)[1]);`,
  );
  expect(Number(run(process.execPath, ['workers.js']))).toBeGreaterThan(1000);
});

test('the installed command runs a scenario from its own folder', () => {
  writeFileSync(
    join(folder, 'hello.ts'),
    `import { defineScenario, parameter } from 'svcnet/scenario';
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
});

test.each(['20.11.0', '24.8.0'])('Node.js %s is refused with the required version', (version) => {
  const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const command = join('node_modules', '.bin', 'svcnet');
  const ended = spawnSync(process.execPath, ['--import', `data:text/javascript,${older}`, command, 'ps'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(ended.stderr).toBe(`svcnet needs Node.js 24.9 or newer, this is ${version} (${process.execPath})\n`);
  expect(ended.status).toBe(2);
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  expect(engines.node).toBe('>=24.9');
});

test('the declarations of the package pass the checks of a strict project', () => {
  writeFileSync(
    join(folder, 'types.ts'),
    `import { Cluster } from 'svcnet';
import { defineScenario } from 'svcnet/scenario';
const name: string = (await Cluster.start()).name;
console.log(name, defineScenario);
`,
  );
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
  // TypeScript 7 takes no types by itself: the declarations bring what they need.
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext'];
  expect(run(tsc, [...flags, 'types.ts'])).toBe('');
});

test('the container module exists, and names the package that it also needs', () => {
  const load = `import('svcnet/testcontainers').catch(({ code, message }) => console.log(code, message))`;
  expect(run(process.execPath, ['-e', load])).toMatch(/^ERR_MODULE_NOT_FOUND .*'testcontainers'/);
});

/** A module from here cannot import the sources. */
const TYPES_CHECK = `
  import { readFileSync } from 'node:fs';
  import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
  const { types, problems = [] } = await checkPackage(createPackageFromTarballData(readFileSync(process.argv[1])));
  console.log(JSON.stringify({ types, problems }));
`;

test('package managers, bundlers and TypeScript find every entry and its types', async () => {
  const { buffer } = new Uint8Array(readFileSync(tarball));
  const { messages } = await publint({ strict: true, pack: { tarball: buffer } });
  expect(messages).toEqual([]);
  const checked = run(process.execPath, ['--input-type=module', '-e', TYPES_CHECK, tarball], ROOT);
  const { types, problems } = JSON.parse(checked) as {
    types: unknown;
    problems: { readonly kind: string }[];
  };
  expect(types).toMatchObject({ kind: 'included' });
  // Node.js 24 requires ES modules, which this check does not know.
  expect(problems.filter(({ kind }) => kind !== 'CJSResolvesToESM')).toEqual([]);
});

test('a jest test that throws before stop ends, and leaves no cluster', () => {
  const own = join(folder, 'throwing');
  mkdirSync(own);
  writeFileSync(
    join(own, 'throwing.test.js'),
    `import { test } from '@jest/globals';
     import { Cluster } from 'svcnet';
     test('throws', async () => {
       const net = await Cluster.start({ driver: 'embedded', nodes: 1 });
       throw new Error('before stop of ' + net.name);
     }, 60_000);`,
  );
  const jest = join(folder, 'node_modules', 'jest', 'bin', 'jest.js');
  const flags = ['--experimental-vm-modules', jest, '--transform', '{}', '--rootDir', '.'];
  const ended = spawnSync(process.execPath, flags, { cwd: own, encoding: 'utf8', timeout: 100_000 });
  expect(ended.stderr).toContain('before stop of net-');
  expect([ended.status, ended.signal, readdirSync(join(own, '.svcnet', 'clusters'))]).toEqual([1, null, []]);
});

test('the matchers are typed for vitest and for jest', () => {
  writeFileSync(
    join(folder, 'matchers.ts'),
    `import { expect as jestExpect } from '@jest/globals';
     import { Cluster } from 'svcnet';
     import 'svcnet/jest';
     import 'svcnet/vitest';
     import { expect } from 'vitest';
     const net = await Cluster.start();
     await expect(net).toHold('00', { timeoutMs: 1 });
     await jestExpect(net).not.toHaveSettled();
     await jestExpect(net).toSee({ protocol: 'pushsync', within: '5s' });
     // @ts-expect-error: a reference is text
     await expect(net).toHold(7);
     // @ts-expect-error: a reference is text
     await jestExpect(net).toHold(7);
    `,
  );
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext'];
  expect(run(join(ROOT, 'node_modules', '.bin', 'tsc'), [...flags, '--types', 'node', 'matchers.ts'])).toBe(
    '',
  );
});

test('publishing, as a dry run, takes the package as it is', () => {
  const { status, stderr } = spawnSync('npm', ['publish', '--dry-run', '--provenance=false', '--json'], {
    cwd: join(ROOT, 'dist'),
    encoding: 'utf8',
  });
  expect({ status, stderr }).toMatchObject({
    status: 0,
    stderr: expect.not.stringContaining('auto-corrected'),
  });
});

test('the package is smaller than 3 MB', () => {
  expect(statSync(tarball).size).toBeLessThan(3_000_000);
});

/** Settings of this runner must not affect runners started by users. */
function userEnvironment(): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(([key]) => !/^(VITEST|NODE_OPTIONS$|npm_)/.test(key));
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  return { ...Object.fromEntries(own), PATH: path, npm_config_prefer_offline: 'true' };
}

const shift = await portShift(NAMED_PORTS);
const k6 = spawnSync(process.env['SVCNET_K6'] ?? 'k6', ['version']);
/** They need an engine and an image: run by `test/docker/examples.test.ts`. */
const CONTAINER_EXAMPLES = ['docker-compose', 'testcontainers'];

describe('the examples', () => {
  const examples = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

  beforeAll(() => cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true }));

  test('the page lists each example', () => {
    const page = readFileSync(join(ROOT, 'examples/README.md'), 'utf8');
    expect(examples.filter((name) => !page.includes(`(${name})`))).toEqual([]);
  });

  const runnable = examples.filter(
    (name) => !CONTAINER_EXAMPLES.includes(name) && (name !== 'k6' || k6.status === 0),
  );
  test.each(runnable)('%s', (name) => {
    const cwd = join(folder, 'examples', name);
    const ended = spawnSync('npm', ['test'], { cwd, env: userEnvironment(), encoding: 'utf8' });
    expect(`${ended.stdout}${ended.stderr}`, name).not.toMatch(/npm error/);
    expect(ended.status).toBe(0);
  });
});

describe('the guides', () => {
  const machine = {
    folder,
    env: userEnvironment(),
    k6: k6.status === 0,
    bee: process.env['SVCNET_BEE_BINARY']?.split(',')[0],
    shift,
  };
  let ends: ReturnType<typeof playAll>;
  beforeAll(() => {
    ends = playAll(machine);
  });

  test('each command is played, or listed with the reason why not', () => {
    expect(unaccounted()).toEqual([]);
    for (const [page, file] of Object.entries(ELSEWHERE))
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(page);
  });

  test.each(playable(machine))('%s', async (page) => {
    expect(await ends.get(page)).toBeUndefined();
  });
});
