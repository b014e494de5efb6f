/** Code of nodes that is compiled once for all of them. */
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { compile, currentBundle } from '../../../harness/base/machine/compile.ts';
import {
  isAlive,
  killProcess,
  labelled,
  type ProcessId,
  processOf,
} from '../../../harness/base/machine/processes.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { compileCacheDir } from '../../../harness/cluster/state/compile-cache.ts';
import { readRecord } from '../../../harness/cluster/state/state.ts';
import type { UpFlags } from '../../../harness/commands/up.ts';
import { up } from '../../../harness/commands/up-compiled.ts';
import type { Flavour } from '../../../harness/flavours/flavour.ts';
import { svcFlavour } from '../../../harness/flavours/svc.ts';
import { FLAVOURS } from '../../../harness/flavours/table.ts';
import { writeTampered } from '../../../harness/flavours/tampered/settings.ts';
import type { Driver } from '../../../harness/places/driver.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { contextOf, flagsOf } from '../../unit/harness/commands/kit.ts';
import { PART, printed, processDriver } from './programs.ts';

const TIMEOUT = { timeoutMs: 120_000 };
let folder: string;
const started: ProcessId[] = [];

beforeEach(() => void (folder = temporaryFolder('svcnet-compiled-nodes')));
afterEach(async () => {
  for (const id of started.splice(0)) await killProcess(id);
});

const SAY = `console.log('up ' + (process.env.NODE_COMPILE_CACHE ?? 'without') + ' ' + process.argv[1]); setInterval(() => {}, 1000);`;
const ENTRY = `import { appendFileSync } from 'node:fs'; appendFileSync('MADE', 'x');`;
const made = () => join(folder, 'made');
/** As `compile` and as `start` run it. */
function program(compiling: string): void {
  const body = compiling.replace('MADE', made());
  writeFileSync(
    join(folder, 'program.ts'),
    `if (process.argv[2] === 'compile') { await import('./compiling.ts'); } else { ${SAY} }`,
  );
  writeFileSync(join(folder, 'compiling.ts'), body);
  for (const name of ['program.ts', 'compiling.ts']) utimesSync(join(folder, name), 1, 1);
}
const run = (word: string) => () => ({
  file: process.execPath,
  args: ['--max-semi-space-size=8', join(folder, 'program.ts'), word],
  env: {},
});
const flavour = () => ({ command: run('start'), compile: run('compile') }) as never as Flavour;
const cacheOf = () => join(folder, 'cache');
const SOURCE = 'without SOURCE';

// The nodes would get that of the run.
beforeEach(() => void vi.stubEnv('NODE_COMPILE_CACHE', undefined));
afterEach(() => void vi.unstubAllEnvs());

async function heardBy(driver: Driver, log: string, of = flavour()): Promise<string> {
  const { handle } = await driver.start({
    ...PART,
    flavour: of,
    dataDir: folder,
    log: join(folder, log),
  });
  started.push(handle as unknown as ProcessId);
  const heard = (await printed('up', join(folder, log))).replace(join(folder, 'program.ts'), 'SOURCE');
  return heard.replace(/^up /, '');
}

test('compiled code is made once, before the nodes start, and read by all of them', async () => {
  program(ENTRY);
  const driver = processDriver(cacheOf());
  expect(await heardBy(driver, 'before.log')).toBe(SOURCE);
  await driver.prepare(flavour());
  await driver.prepare(flavour());
  expect(readFileSync(made(), 'utf8')).toBe('x');
  const first = await heardBy(driver, 'first.log');
  expect(first).toMatch(/cache\/[0-9a-f]{16}\/compiled .*cache\/[0-9a-f]{16}\/main\.mjs$/);
  expect(await heardBy(driver, 'second.log')).toBe(first);
});

test('a node of another program leaves what it has compiled to later ones', async () => {
  const other = join(folder, 'other.ts');
  writeFileSync(other, SAY);
  const own = { ...flavour(), command: () => ({ ...run('start')(), args: [other] }) } as never as Flavour;
  expect(await heardBy(processDriver(cacheOf()), 'other.log', own)).toBe(`${cacheOf()} ${other}`);
});

test('nodes start from the sources once their compiled code has been removed', async () => {
  program(ENTRY);
  const driver = processDriver(cacheOf());
  await driver.prepare(flavour());
  expect(await heardBy(driver, 'compiled.log')).toMatch(/main\.mjs$/);
  for (const name of readdirSync(cacheOf()))
    if (!name.endsWith('.json')) rmSync(join(cacheOf(), name), { recursive: true });
  expect(await heardBy(driver, 'removed.log')).toBe(SOURCE);
  await driver.prepare(flavour());
  expect(await heardBy(driver, 'again.log')).toMatch(/main\.mjs$/);
});

test('compiled code is made again when a killed run has left it incomplete', async () => {
  program(`${ENTRY} process.kill(process.pid, 'SIGKILL');`);
  const driver = processDriver(cacheOf());
  await driver.prepare(flavour());
  expect(await heardBy(driver, 'half.log')).toBe(SOURCE);
  program(ENTRY);
  await driver.prepare(flavour());
  expect(readFileSync(made(), 'utf8')).toBe('xx');
  expect(await heardBy(driver, 'whole.log')).toMatch(/main\.mjs$/);
});

test('compiled code is not run when its sources have changed since', async () => {
  program(ENTRY);
  const driver = processDriver(cacheOf());
  await driver.prepare(flavour());
  program(`${ENTRY}\n`);
  expect(await heardBy(driver, 'changed.log')).toBe(SOURCE);
});

test('compiled code is not run when a package that it loads has been moved or replaced', async () => {
  const path = join(folder, 'package.js');
  const install = (text: string) => {
    writeFileSync(path, text);
    utimesSync(path, 1, 1);
  };
  install('export {};');
  program(`import '${pathToFileURL(path).href}'; ${ENTRY}`);
  expect(await compile(run('compile')(), cacheOf())).toBe(true);
  expect(currentBundle(run('start')(), cacheOf())).toBeDefined();
  install('export const version = 2;');
  expect(currentBundle(run('start')(), cacheOf())).toBeUndefined();
  install('export {};');
  expect(currentBundle(run('start')(), cacheOf())).toBeDefined();
  rmSync(path);
  expect(currentBundle(run('start')(), cacheOf())).toBeUndefined();
});

test('compiled code is not run under different flags of the runtime', async () => {
  program(ENTRY);
  expect(await compile(run('compile')(), cacheOf())).toBe(true);
  const { args, ...others } = run('start')();
  const command = { ...others, args: ['--max-semi-space-size=4', ...args.slice(1)] };
  expect(currentBundle(run('start')(), cacheOf())).toBeDefined();
  expect(currentBundle(command, cacheOf())).toBeUndefined();
});

test('compiled code is kept for the last four versions of a program, for nodes that still run', async () => {
  for (let version = 0; version < 6; version++) {
    program(`${ENTRY} console.log(${10 ** version});`);
    expect(await compile(run('compile')(), cacheOf())).toBe(true);
  }
  expect(readdirSync(cacheOf())).toHaveLength(4 + 1);
  expect(currentBundle(run('start')(), cacheOf())).toBeDefined();
});

const others = (count: number) =>
  Array.from({ length: count }, (_, n) => {
    const path = join(folder, `other-${n}.ts`);
    writeFileSync(path, `${ENTRY.replace('MADE', made())} console.log(${n});`);
    utimesSync(path, 1, 1);
    return { ...run('compile')(), args: [path] };
  });

test('programs that share a folder leave each other what they have compiled', async () => {
  const both = others(2);
  for (const command of [...both, ...both]) expect(await compile(command, cacheOf())).toBe(true);
  expect(readFileSync(made(), 'utf8')).toBe('xx');
  const bundles = both.map((command) => currentBundle(command, cacheOf())?.folder);
  expect(new Set(bundles).size).toBe(2);
});

test('what is known of a program goes with its compiled code', async () => {
  for (const command of others(5)) expect(await compile(command, cacheOf())).toBe(true);
  expect(readdirSync(cacheOf())).toHaveLength(4 + 4);
});

test('compiled code of a version that is used again is not the next to be removed', async () => {
  const use = async (version: number) => {
    program(`${ENTRY} console.log(${10 ** version});`);
    expect(await compile(run('compile')(), cacheOf())).toBe(true);
    return currentBundle(run('start')(), cacheOf())?.folder as string;
  };
  const first = await use(0);
  for (const version of [1, 2, 3]) await use(version);
  expect(await use(0)).toBe(first);
  await use(4);
  expect(existsSync(first)).toBe(true);
});

test('compiled code names the sources in the stacks of its errors', async () => {
  program(
    `import { writeFileSync } from 'node:fs';\n\nwriteFileSync('${made()}', new Error('shown').stack ?? '');`,
  );
  expect(await compile(run('compile')(), cacheOf())).toBe(true);
  const stack = readFileSync(made(), 'utf8').split('\n');
  expect(stack[0]).toBe('Error: shown');
  expect(stack[1]).toContain(`${pathToFileURL(join(folder, 'compiling.ts')).href}:3:`);
});

test('compiled code is skipped when there is no place to keep it', async () => {
  program(ENTRY);
  writeFileSync(cacheOf(), 'a file');
  const driver = processDriver(cacheOf());
  await driver.prepare(flavour());
  expect(await heardBy(driver, 'node.log')).toBe(SOURCE);
});

test('compiled code is skipped when it cannot be made', async () => {
  program('this is no program');
  const driver = processDriver(cacheOf());
  await driver.prepare({ command: run('start') } as never);
  await driver.prepare(flavour());
  expect(await heardBy(driver, 'node.log')).toBe(SOURCE);
});

test('compiled code is abandoned when the start is given up', async () => {
  const pidFile = join(folder, 'pid');
  program(
    `import { writeFileSync } from 'node:fs'; writeFileSync('${pidFile}', String(process.pid)); setInterval(() => {}, 1000);`,
  );
  const driver = processDriver(cacheOf());
  const stop = new AbortController();
  const compiling = driver.prepare(flavour(), stop.signal);
  const compiler = await until<ProcessId>(
    'the compiler does not run',
    () => {
      const running = existsSync(pidFile) ? processOf(Number(readFileSync(pidFile, 'utf8'))) : undefined;
      return Promise.resolve(running === undefined ? { missing: 'no pid' } : { done: running });
    },
    TIMEOUT,
  );
  stop.abort();
  await compiling;
  await until<true>(
    'the compiler goes on',
    () => Promise.resolve(isAlive(compiler) ? { missing: 'it is alive' } : { done: true }),
    TIMEOUT,
  );
});

test('compiled code of our own nodes is there before they start', async () => {
  expect(await compile(svcFlavour.compile(false), cacheOf())).toBe(true);
  const { folder: own = '', main } = currentBundle(svcFlavour.command({ dataDir: folder }), cacheOf()) ?? {};
  expect(main).toBe(join(own, 'main.mjs'));
  const compileCache = join(own, 'compiled');
  const [version = ''] = readdirSync(compileCache);
  // The parts that every start loads, and the packages.
  expect(readdirSync(join(compileCache, version)).length).toBeGreaterThan(50);
});

test('compiled code of tampered nodes has its own place', async () => {
  const dataDir = join(folder, 'node');
  writeTampered(dataDir, { behaviours: [] });
  const driver = processDriver('', { machineFaults: true, compileCache: (of) => join(cacheOf(), of) });
  await driver.prepare(svcFlavour);
  expect(readdirSync(cacheOf())).toEqual(['tampered']);
  const bundle = currentBundle(svcFlavour.command({ dataDir }), join(cacheOf(), 'tampered'));
  expect(bundle?.folder).toContain(join(cacheOf(), 'tampered'));
  expect(FLAVOURS.dishonest.compile?.(false)).toEqual(svcFlavour.compile(true));
});

test('nodes of a cluster with machine faults start from compiled code of the tampered program', async () => {
  program(ENTRY);
  const compiling = (machineFaults: boolean) => (machineFaults ? run('compile')() : undefined);
  const tampered = { ...flavour(), compile: compiling } as never as Flavour;
  const driver = processDriver(cacheOf(), { machineFaults: true });
  await driver.prepare(tampered);
  expect(await heardBy(driver, 'tampered.log', tampered)).toMatch(/main\.mjs$/);
});

test('the chain and the link proxy start from the code that was compiled for the nodes', async () => {
  const stateDir = join(folder, 'state');
  const compileCache = compileCacheDir(stateDir, 'nodes');
  expect(await compile(svcFlavour.compile(false), compileCache)).toBe(true);
  await using net = await Cluster.start({ stateDir, nodes: 1, batches: [], linkFaults: true });
  const { token = '' } = readRecord(stateDir, net.name) ?? {};
  const programs = labelled(token).map(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  for (const program of ['chain', 'link-proxy', 'main'])
    expect(programs.filter((line) => line.includes(`/${program}.mjs`))).toHaveLength(1);
});

test('a record of an older version, which lacks those programs, is made again', async () => {
  program(ENTRY);
  expect(await compile(run('compile')(), cacheOf())).toBe(true);
  const path = join(cacheOf(), readdirSync(cacheOf()).find((name) => name.endsWith('.json')) ?? '');
  const { others: _, ...bundle } = currentBundle(run('start')(), cacheOf()) ?? {};
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), bundle }));
  expect(currentBundle(run('start')(), cacheOf())).toBeUndefined();
});

test.each([
  ['an option', ['--driver', 'embedded']],
  ['a file', ['--file', 'FOLDER/cluster.yaml']],
])('code is compiled only for nodes that run as processes, as %s says', async (_what, args) => {
  const stateDir = join(folder, 'state');
  writeFileSync(join(folder, 'cluster.yaml'), 'name: local\ndriver: embedded\n');
  const given = args.map((word) => word.replace('FOLDER', folder));
  const flags = await flagsOf('up', '-n', '1', '--no-batches', ...given);
  await up(flags as unknown as UpFlags, contextOf(stateDir));
  await (await Cluster.attach('local', { stateDir })).stop();
  const compiled = readdirSync(join(stateDir, 'cache'));
  expect(compiled).toContain('embedded');
  expect(compiled).not.toContain('nodes');
});
