/** Such state folders came with a repository, or another user owns them. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { logFailure } from '../../../../../harness/base/errors.ts';
import { tail } from '../../../../../harness/base/logs/logs.ts';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import {
  isAlive,
  killProcess,
  openLog,
  spawnProgram,
} from '../../../../../harness/base/machine/processes.ts';
import { ActiveFaults } from '../../../../../harness/cluster/faults/active.ts';
import { driverOf } from '../../../../../harness/cluster/lifecycle/drivers.ts';
import { removeLeftovers } from '../../../../../harness/cluster/lifecycle/leftovers.ts';
import { openNodes } from '../../../../../harness/cluster/nodes/open-nodes.ts';
import { compileCacheDir } from '../../../../../harness/cluster/state/compile-cache.ts';
import {
  clusterFolder,
  expectOwnRecord,
  isOwnCluster,
  listClusters,
  readRecord,
  readRun,
  runRecords,
  writeRecord,
} from '../../../../../harness/cluster/state/state.ts';
import { defaultStateDir } from '../../../../../harness/cluster/state/state-folder.ts';
import { down } from '../../../../../harness/commands/down.ts';
import { readEmbedded } from '../../../../../harness/places/embedded/node-file.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { contextOf } from '../../commands/kit.ts';
import { claimed } from './claimed.ts';

let project: string;
let stateDir: string;
/** What must stay. */
let precious: string;
beforeEach(() => {
  project = temporaryFolder('svcnet-foreign');
  stateDir = join(project, '.svcnet');
  precious = join(project, 'precious');
  mkdirSync(precious);
  writeFileSync(join(precious, 'work.txt'), 'years of it');
});
afterEach(() => {
  vi.restoreAllMocks();
  expect(readdirSync(precious)).toEqual(['work.txt']);
});

const RECORD = {
  version: 3,
  token: 'foreign',
  name: 'any',
  seed: '1',
  driver: 'process',
  profile: 'fast',
  createdAt: 0,
  phase: 'running',
  owner: { pid: 1, startedAt: 'another boot/1' },
  ephemeral: false,
  definition: { nodes: [] },
  nodes: [] as unknown[],
  batches: [],
};

function foreign(name: string, record: object = {}): string {
  const path = join(stateDir, 'clusters', name);
  mkdirSync(join(path, 'run'), { recursive: true });
  writeFileSync(join(path, 'cluster.json'), JSON.stringify({ ...RECORD, ...record }));
  return path;
}

const claim = (name: string) => claimed(stateDir, name);

test.each(['../../precious', '../other', 'Any', '/etc', ''])(
  'a record whose name is %j removes nothing: not by down, by up, or as what a dead process has left',
  async (name) => {
    const file = join(foreign('any', { name, ephemeral: true }), 'cluster.json');
    const refused = { code: 'STATE_INVALID', message: expect.stringContaining(`${file}: name: `) as string };
    await expect(down({ name: 'any' }, contextOf(stateDir))).rejects.toMatchObject(refused);
    await expect(claim('any')).rejects.toMatchObject(refused);
    expect(await removeLeftovers(stateDir)).toEqual([]);
    expect(existsSync(file)).toBe(true);
  },
);

test.each([
  ['nodes', [{ name: '../../../precious', flavour: 'svc', api: '', dataDir: '', log: '' }], 'nodes.0.name'],
  ['nodes', {}, 'nodes'],
  [
    'nodes',
    [{ name: 'node-0', flavour: 'svc', api: 'file:///etc/passwd', debug: '', dataDir: '', log: '' }],
    'nodes.0.api',
  ],
  ['token', '../../precious', 'token'],
  ['driver', 'none', 'driver'],
  ['owner', null, 'owner'],
  ['definition', { nodes: [{ flavour: 'none' }] }, 'definition.nodes.0.flavour'],
])('a record with a wrong value of %s is refused, and the key named', (key, value, named) => {
  const file = join(foreign('any', { [key]: value }), 'cluster.json');
  expect(() => readRecord(stateDir, 'any')).toThrow(`${file}: ${named}: expected`);
});

test('a name that is a path is no cluster', async () => {
  await claim('one');
  await down({ name: '../../precious' }, contextOf(stateDir));
  expect(() => clusterFolder(stateDir, '../../precious')).toThrow('expected the name of a cluster');
  expect(listClusters(stateDir)).toEqual(['one']);
});

test('a link in the place of the clusters, or of a cluster, is not followed', async () => {
  const path = join(stateDir, 'clusters');
  mkdirSync(path, { recursive: true });
  symlinkSync(project, join(path, 'any'));
  await down({ all: true }, contextOf(stateDir));
  expect(() => readRecord(stateDir, 'any')).toThrow(`expected a path inside ${path}`);
  await expect(claim('any')).rejects.toMatchObject({ code: 'STATE_INVALID' });
  rmSync(path, { recursive: true });
  symlinkSync(project, path);
  await expect(down({ all: true }, contextOf(stateDir))).rejects.toThrow(
    `leads to ${project}, expected a path`,
  );
});

test.each(['run', 'logs', 'nodes/node-0'])('a link inside of a cluster (%s) is refused', (name) => {
  const path = foreign('any');
  rmSync(join(path, name), { recursive: true, force: true });
  mkdirSync(join(path, 'nodes'), { recursive: true });
  symlinkSync(precious, join(path, name));
  expect(() => readRecord(stateDir, 'any')).toThrow(`${join(path, name)} is a link`);
});

test.each([
  'logs',
  'logs/node-0.log',
  'nodes',
  'nodes/node-0',
  'chain/options.json',
  'run',
  'joining',
  'faults',
])(
  'nothing is written or read through a link in a running cluster (%s), which can be removed',
  async (name) => {
    writeRecord(stateDir, { ...(await claim('one')), phase: 'running' });
    const { path, ...files } = clusterFolder(stateDir, 'one');
    const link = join(path, name);
    const isFile = /\.[a-z]+$/.test(name);
    rmSync(link, { recursive: true, force: true });
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(isFile ? join(precious, 'work.txt') : precious, link);
    const refused = { code: 'STATE_INVALID', message: expect.stringContaining(link) as string };
    expect(() => expectOwnRecord(stateDir, 'one')).toThrow(expect.objectContaining(refused) as Error);
    const asked = [
      () => files.log('node-0'),
      () => files.dataDir('node-0'),
      () => files.chainOptions(),
      () => files.run('node-0'),
      () => files.joining('node-0'),
      () => new ActiveFaults(path).list(),
    ].filter((ask) => {
      try {
        ask();
        return false;
      } catch (error) {
        expect(error).toMatchObject(refused);
        return true;
      }
    });
    expect(asked).toHaveLength(1);
    await down({ name: 'one' }, contextOf(stateDir));
    expect(listClusters(stateDir)).toEqual([]);
  },
);

test('a log that has become a link since it was opened is neither read nor written', () => {
  const log = join(project, 'node-0.log');
  symlinkSync(join(precious, 'work.txt'), log);
  expect(() => tail(log, 1)).toThrow(expect.objectContaining({ code: 'ELOOP' }) as Error);
  expect(() => openLog(log)).toThrow(expect.objectContaining({ code: 'ELOOP' }) as Error);
  logFailure(log);
  expect(readFileSync(join(precious, 'work.txt'), 'utf8')).toBe('years of it');
});

test('the settings of a node are not written through a link in its folder', () => {
  symlinkSync(join(precious, 'work.txt'), join(project, 'node.json'));
  expect(() => readEmbedded(project)).toThrow(`${join(project, 'node.json')} is a link`);
});

test('the default folder may not be a link, a named one may', () => {
  mkdirSync(join(project, 'other'));
  symlinkSync(join(project, 'other'), stateDir);
  vi.spyOn(process, 'cwd').mockReturnValue(project);
  expect(() => listClusters(defaultStateDir())).toThrow(`${stateDir} is a link, expected a folder`);
  vi.stubEnv('SVCNET_STATE', stateDir);
  expect(listClusters(defaultStateDir())).toEqual([]);
  vi.unstubAllEnvs();
});

test('where nobody can make a folder, nothing is compiled into one that Node.js would try to make for ever', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
  expect(compileCacheDir('/proc/svcnet', 'tools')).toBe('/dev/null/tools');
});

test('a file in the place of the folder, or links that lead in a circle, are named', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
  const file = join(precious, 'work.txt');
  expect(() => listClusters(file)).toThrow(
    expect.objectContaining({ code: 'STATE_INVALID', message: `${file} is not a folder` }) as Error,
  );
  expect(() => compileCacheDir(file, 'tools')).toThrow(`${file} is not a folder`);
  const loop = join(project, 'loop');
  symlinkSync(loop, loop);
  expect(() => listClusters(loop)).toThrow(
    expect.objectContaining({
      code: 'CANNOT_READ',
      message: expect.stringContaining('lead in a circle') as string,
    }) as Error,
  );
});

test('the folder of another user is refused, and the hint says what to do', async () => {
  await claim('one');
  const own = process.getuid?.() ?? 0;
  vi.spyOn(process, 'getuid').mockReturnValue(own + 1);
  await expect(down({ all: true }, contextOf(stateDir))).rejects.toMatchObject({
    code: 'STATE_INVALID',
    message: `${stateDir} belongs to user ${own}, expected user ${own + 1}`,
    hint: expect.stringContaining('SVCNET_STATE') as string,
  });
});

test('nothing that a foreign record names is run, asked, ended or sent', async () => {
  const dataDir = precious;
  const log = join(precious, 'work.txt');
  const node = { name: 'node-0', flavour: 'bee', mode: 'full', dialect: 'swarm', binary: '/bin/sh' };
  const addresses = {
    api: 'http://127.0.0.1:1',
    debug: 'http://127.0.0.1:1',
    p2p: '',
    overlay: '',
    ethereum: '',
  };
  const path = foreign('any', {
    nodes: [{ ...node, ...addresses, dataDir, log, tokenFile: '/etc/hostname' }],
  });
  const handle = { pid: process.pid, startedAt: '', container: 'postgres' };
  writeFileSync(join(path, 'run', 'node-0.json'), JSON.stringify({ handle, state: 'running' }));
  const record = readRecord(stateDir, 'any');
  if (record === undefined) throw new Error('no record');
  expect(record.nodes[0]).toMatchObject({
    dataDir: join(path, 'nodes', 'node-0'),
    log: join(path, 'logs', 'node-0.log'),
  });
  expect(record.nodes[0]?.tokenFile).toBeUndefined();
  expect([readRun(stateDir, 'any', 'node-0'), runRecords(stateDir, 'any')]).toEqual([undefined, []]);
  const driver = driverOf(stateDir, record, { stopWithParent: false });
  const [opened] = openNodes(
    { clock: MACHINE_CLOCK, stateDir, record, driver, onUploaded: () => undefined },
    record.nodes,
    [],
  );
  await expect(opened?.start()).rejects.toMatchObject({
    code: 'STATE_INVALID',
    message: expect.stringContaining('were not made here') as string,
    hint: expect.stringContaining('svcnet down --name any') as string,
  });
  await down({ name: 'any' }, contextOf(stateDir));
  expect(existsSync(path)).toBe(false);
});

test('the copy of a cluster is not that cluster: it can be removed, or its name taken, while the first one runs', async () => {
  const record = await claim('one');
  expect(isOwnCluster(stateDir, 'one')).toBe(true);
  writeRecord(stateDir, { ...record, phase: 'running' });
  const { id } = await spawnProgram({
    command: { file: process.execPath, args: ['-e', 'setInterval(() => undefined, 1000)'], env: {} },
    logFile: join(stateDir, 'one.log'),
    stopWithParent: true,
    compileCache: undefined,
    label: record.token,
  });
  const copy = join(project, 'copy');
  for (const remove of [() => down({}, contextOf(copy)), () => claimed(copy, 'one')]) {
    cpSync(stateDir, copy, { recursive: true });
    expect(isOwnCluster(copy, 'one')).toBe(false);
    await remove();
  }
  expect([isOwnCluster(copy, 'one'), isAlive(id)]).toEqual([true, true]);
  await killProcess(id);
});

test('compiled code that came with the folder is replaced, own code stays', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
  const compiled = join(stateDir, 'cache', 'nodes', 'compiled.json');
  mkdirSync(join(stateDir, 'cache', 'nodes'), { recursive: true });
  // The mark of another machine.
  writeFileSync(join(stateDir, 'cache', '.made-here'), 'elsewhere');
  writeFileSync(compiled, '{}');
  const folder = compileCacheDir(stateDir, 'nodes');
  expect(existsSync(compiled)).toBe(false);
  mkdirSync(folder, { recursive: true });
  writeFileSync(compiled, '{}');
  expect(compileCacheDir(stateDir, 'nodes')).toBe(folder);
  expect(existsSync(compiled)).toBe(true);
  expect(readdirSync(stateDir)).toEqual(['.gitignore', '.made-here', 'cache']);
});

test('compiled code is where NODE_COMPILE_CACHE says, and nothing of it in the folder', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', precious);
  expect(compileCacheDir(stateDir, 'nodes')).toBe(join(precious, 'nodes'));
  expect(existsSync(stateDir)).toBe(false);
});

test('a link in the place of compiled code is not followed', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
  mkdirSync(stateDir);
  symlinkSync(precious, join(stateDir, 'cache'));
  expect(() => compileCacheDir(stateDir, 'nodes')).toThrow(`leads to ${precious}`);
});
