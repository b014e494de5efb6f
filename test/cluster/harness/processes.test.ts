import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { follow, tail } from '../../../harness/base/logs/logs.ts';
import { claimPort, isClaimed } from '../../../harness/base/machine/port-claims.ts';
import { checkPortsFree, pickFreePorts } from '../../../harness/base/machine/ports.ts';
import {
  endProcess,
  isAlive,
  killProcess,
  labelled,
  type ProcessId,
  pauseProcess,
  processOf,
  signalGroup,
  spawnProgram,
  stateOf,
} from '../../../harness/base/machine/processes.ts';
import { DIALECTS } from '../../../harness/client/dialect.ts';
import type { Flavour } from '../../../harness/flavours/flavour.ts';
import type { Driver, Handle } from '../../../harness/places/driver.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { PART, printed, processDriver } from './programs.ts';

const TIMEOUT = { timeoutMs: 120_000 };
let folder: string;
const started: ProcessId[] = [];

beforeEach(() => void (folder = temporaryFolder('svcnet-processes')));
afterEach(async () => {
  for (const id of started.splice(0)) await killProcess(id);
});

/** `deaf` does not notice the end of its parent, `stubborn` ignores requests to stop. */
const PROGRAM = {
  patient: `console.log('up ' + process.pid); setInterval(() => {}, 1000);
    if (process.env.SVC_STOP_WITH_PARENT === '1') process.stdin.on('end', () => process.exit(0)).resume();`,
  deaf: `console.log('up ' + process.pid); setInterval(() => {}, 1000);`,
  stubborn: `process.on('SIGTERM', () => console.log('asked')); console.log('up ' + process.pid); setInterval(() => {}, 1000);`,
};

async function start(program: string, stopWithParent = false): Promise<ProcessId> {
  const { id } = await spawnProgram({
    command: { file: process.execPath, args: ['-e', program], env: {} },
    logFile: join(folder, 'program.log'),
    stopWithParent,
    compileCache: join(folder, 'cache'),
  });
  started.push(id);
  await printed('up', join(folder, 'program.log'));
  return id;
}

async function ended(id: ProcessId): Promise<void> {
  await until(
    `process ${id.pid} has not ended`,
    () => Promise.resolve(isAlive(id) ? { missing: 'it is alive' } : { done: true }),
    TIMEOUT,
  );
}

test('a program stops when asked to', async () => {
  const id = await start(PROGRAM.patient);
  expect(isAlive(id)).toBe(true);
  expect(await endProcess(id, 5000)).toEqual({ forced: false });
  expect(isAlive(id)).toBe(false);
});

test('a program that does not stop when asked is ended by force', async () => {
  const id = await start(PROGRAM.stubborn);
  expect(await endProcess(id, 100)).toEqual({ forced: true });
  expect(tail(join(folder, 'program.log'), 1)).toEqual(['asked']);
  expect(isAlive(id)).toBe(false);
});

test('a paused program can be asked to stop', async () => {
  const id = await start(PROGRAM.patient);
  signalGroup(id, 'SIGSTOP');
  expect(await endProcess(id, 5000)).toEqual({ forced: false });
});

test('a program stands still as soon as it counts as paused, even one that is busy with its disk', async () => {
  const file = join(folder, 'written');
  const id = await start(
    `console.log('up ' + process.pid); const { writeSync, openSync, fsyncSync } = require('node:fs');
    const file = openSync(${JSON.stringify(file)}, 'w'); for (;;) { writeSync(file, Buffer.alloc(1e6), 0, 1e6, 0); fsyncSync(file); }`,
  );
  for (let time = 0; time < 50; time++) {
    expect(await pauseProcess(id)).toBe(true);
    expect(stateOf(id)).toBe('paused');
    signalGroup(id, 'SIGCONT');
  }
  await killProcess(id);
  expect(await pauseProcess(id)).toBe(false);
});

test('ending a program ends the processes that it has started', async () => {
  const id = await start(
    `const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
     console.log('child ' + child.pid); console.log('up'); setInterval(() => {}, 1000);`,
  );
  const child = processOf(
    Number((await printed('child', join(folder, 'program.log'))).split(' ')[1]),
  ) as ProcessId;
  expect(isAlive(child)).toBe(true);
  await killProcess(id);
  await ended(child);
});

test('the ports of a killed program are free, even when its threads end after each other', async () => {
  const [port = 0] = await pickFreePorts(1);
  const threads = `const { Worker } = require('node:worker_threads');
    for (let i = 0; i < 4; i++) new Worker('Buffer.alloc(1e8, 1); setInterval(() => {}, 1000)', { eval: true });
    require('node:net').createServer().listen(${port}, '127.0.0.1', () => setTimeout(() => console.log('child ' + process.pid), 200));`;
  for (let time = 0; time < 4; time++) {
    rmSync(join(folder, 'program.log'), { force: true });
    // A grandchild whose parent ends first: nobody here collects it.
    const parent = await start(
      `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(threads)}],
        { detached: true, stdio: 'inherit' }); console.log('up'); setInterval(() => {}, 1000);`,
    );
    const child = processOf(
      Number((await printed('child', join(folder, 'program.log'))).split(' ')[1]),
    ) as ProcessId;
    started.push(child);
    await killProcess(parent);
    await killProcess(child);
    await checkPortsFree([{ port, by: 'a test' }]);
  }
});

test('a process that merely has the pid of another is left alone', async () => {
  const id = await start(PROGRAM.patient);
  const recycled = { pid: id.pid, startedAt: 'another boot/1' };
  expect(isAlive(recycled)).toBe(false);
  expect(signalGroup(recycled, 'SIGKILL')).toBe(false);
  await killProcess(recycled);
  expect(isAlive(id)).toBe(true);
});

/** Waits to be killed itself. */
function parentProgram(pause: boolean, watchesParent: boolean): string {
  return `
    import { ProcessDriver } from ${JSON.stringify(join(import.meta.dirname, '../../../harness/places/process.ts'))};
    import { existsSync, readFileSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    const log = ${JSON.stringify(join(folder, 'program.log'))};
    const driver = new ProcessDriver({ stopWithParent: true, listen: '127.0.0.1', compileCache: () => ${JSON.stringify(join(folder, 'cache'))}, token: 'test' });
    const command = () => ({ file: process.execPath, args: ['-e', ${JSON.stringify(watchesParent ? PROGRAM.patient : PROGRAM.deaf)}], env: {} });
    const { handle: id } = await driver.start({ kind: 'node', name: 'node-0', flavour: { command, watchesParent: ${watchesParent} }, dataDir: '', log });
    while (!existsSync(log) || readFileSync(log, 'utf8') === '') await setTimeout(5);
    ${pause ? 'await driver.can.pause.pause(id);' : ''}
    console.log(JSON.stringify(id));
    setInterval(() => {}, 1000);`;
}

test.each([
  ['running', false, true],
  ['paused', true, true],
  ['running (of a flavour that does not watch its parent)', false, false],
  ['paused (of a flavour that does not watch its parent)', true, false],
])(
  'a %s node of a library ends with its parent, even when the parent is killed',
  async (_state, pause, watches) => {
    const file = join(folder, 'parent.mts');
    writeFileSync(file, parentProgram(pause, watches));
    const parent = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const id = JSON.parse(line.toString()) as ProcessId;
    started.push(id);
    expect(isAlive(id)).toBe(true);
    parent.kill('SIGKILL');
    await ended(id);
  },
);

test.each(['SVC_API_ADDR', 'BEE_API_ADDR'])(
  '%s of the caller’s own node does not leak into nodes of a cluster',
  async (name) => {
    process.env[name] = '127.0.0.1:1';
    try {
      await start(
        `console.log('up'); console.log('leaked ' + process.env.${name}); setInterval(() => {}, 1000);`,
      );
      expect(await printed('leaked', join(folder, 'program.log'))).toBe('leaked undefined');
    } finally {
      delete process.env[name];
    }
  },
);

describe('a driver', () => {
  const part = (program: string) => ({
    ...PART,
    flavour: { command: () => ({ file: process.execPath, args: ['-e', program], env: {} }) } as never,
    dataDir: folder,
    log: join(folder, 'program.log'),
  });

  async function up(token: string, program = PROGRAM.patient): Promise<{ driver: Driver; handle: Handle }> {
    const driver = processDriver(join(folder, 'cache'), { token });
    const { handle } = await driver.start(part(program));
    started.push(handle as unknown as ProcessId);
    await printed('up', join(folder, 'program.log'));
    return { driver, handle };
  }

  test('sees what is done to a part from outside', async () => {
    const { driver, handle } = await up('seen');
    const pid = Number(handle['pid']);
    expect(await driver.observe(handle)).toEqual({ state: 'running', pid });
    process.kill(pid, 'SIGSTOP');
    await until(
      'the pause is not seen',
      async () => {
        const { state } = await driver.observe(handle);
        return state === 'paused' ? { done: true } : { missing: state };
      },
      TIMEOUT,
    );
    process.kill(pid, 'SIGKILL');
    await ended(handle as unknown as ProcessId);
    expect(await driver.observe(handle)).toEqual({ state: 'gone', exit: { code: null, signal: 'SIGKILL' } });
    // A process other than the parent cannot know how it ended.
    expect(await processDriver(folder).observe(handle)).toEqual({ state: 'gone' });
  });

  test('reports the resources that a part has used', async () => {
    const { driver, handle } = await up('used', `for (let i = 0; i < 3e8; i++); ${PROGRAM.patient}`);
    const { cpuMs = 0, memoryBytes = 0 } = await driver.stats(handle);
    expect(cpuMs).toBeGreaterThan(20);
    expect(memoryBytes).toBeGreaterThan(2 ** 20);
    await driver.can.kill?.kill(handle);
    expect(await driver.stats(handle)).toEqual({});
  });

  test('ends parts that no record names, but only of its own cluster', async () => {
    const child = `require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });`;
    const ours = await up('ours', `${child} ${PROGRAM.patient}`);
    const other = processDriver(join(folder, 'cache'), { token: 'other' });
    const { handle: theirs } = await other.start({
      ...part(PROGRAM.patient),
      log: join(folder, 'other.log'),
    });
    started.push(theirs as unknown as ProcessId);
    expect(labelled('ours')).toHaveLength(2);
    expect(await ours.driver.dispose({ token: 'ours', parts: [] }, 1000)).toEqual({
      stopped: [],
      forced: [],
    });
    expect(labelled('ours')).toEqual([]);
    expect((await other.observe(theirs)).state).toBe('running');
    other.disposeNow({ token: 'other', parts: [] });
    await ended(theirs as unknown as ProcessId);
  });
});

test('a program that cannot be started is an error that names it', async () => {
  const flavour = { dialect: DIALECTS.svc, command: () => ({ file: '/no/such/program', args: [], env: {} }) };
  const driver = processDriver(folder);
  const place = {
    ...PART,
    flavour: flavour as unknown as Flavour,
    dataDir: folder,
    log: join(folder, 'x.log'),
  };
  await expect(driver.start(place)).rejects.toThrow('/no/such/program');
});

test('a large log is moved aside at the next start, and the older one is dropped', async () => {
  const log = join(folder, 'program.log');
  writeFileSync(log, Buffer.alloc(33 * 1024 * 1024, 'x'));
  await start(PROGRAM.patient);
  expect(readFileSync(log, 'utf8')).toMatch(/^up /);
  expect(readFileSync(`${log}.1`).length).toBe(33 * 1024 * 1024);
});

test('a log is followed line by line as it grows', async () => {
  const log = join(folder, 'followed.log');
  writeFileSync(log, 'before\n');
  const stop = new AbortController();
  const lines = follow(log, stop.signal);
  const first = lines.next();
  writeFileSync(log, 'one\ntw', { flag: 'a' });
  expect((await first).value).toBe('one');
  const second = lines.next();
  writeFileSync(log, 'o\n', { flag: 'a' });
  expect((await second).value).toBe('two');
  stop.abort();
  expect((await lines.next()).done).toBe(true);
});

test('picked ports are different and free', async () => {
  const ports = await pickFreePorts(30);
  expect(new Set(ports).size).toBe(30);
  await checkPortsFree(ports.map((port) => ({ port, by: 'a test' })));
});

test('ports of a cluster are not picked again while it exists, even when nothing listens on them', async () => {
  const cluster = join(folder, 'cluster');
  const other = join(folder, 'other');
  mkdirSync(cluster);
  const [port = 0] = await pickFreePorts(1, { keeper: cluster });
  expect(isClaimed(port)).toBe(true);
  expect(claimPort(port, cluster)).toBe(true);
  expect(claimPort(port, other)).toBe(false);
  rmSync(cluster, { recursive: true });
  expect(isClaimed(port)).toBe(false);
  mkdirSync(other);
  expect(claimPort(port, other)).toBe(true);
  expect(claimPort(port, cluster)).toBe(false);
});
