import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { claimPort, isClaimed } from '../../../../../harness/base/machine/port-claims.ts';
import { isAlive, ownProcess, spawnProgram } from '../../../../../harness/base/machine/processes.ts';
import { isInUse } from '../../../../../harness/cluster/lifecycle/drivers.ts';
import { removeLeftovers } from '../../../../../harness/cluster/lifecycle/leftovers.ts';
import { portKeeper } from '../../../../../harness/cluster/start/node-setup.ts';
import {
  clusterFolder,
  findCluster,
  listClusters,
  RECORD_VERSION,
  readRecord,
  removeCluster,
  writeRecord,
  writeRun,
} from '../../../../../harness/cluster/state/state.ts';
import { defaultStateDir } from '../../../../../harness/cluster/state/state-folder.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { claimed } from './claimed.ts';

let stateDir: string;
beforeEach(() => void (stateDir = temporaryFolder('svcnet-state')));
afterEach(() => vi.unstubAllEnvs());

/** The pid is ours, the start time is not. */
const GONE = { pid: process.pid, startedAt: 'another boot/1' };

const claim = (name: string, ephemeral = false) => claimed(stateDir, name, ephemeral);

async function code(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof HarnessError) return error.code;
    throw error;
  }
  return 'nothing was thrown';
}

test('a name that is being started cannot be taken again, and the message says by which process', async () => {
  await claim('one');
  await expect(claim('one')).rejects.toThrow(
    `a cluster named 'one' is being started by process ${process.pid}`,
  );
  expect(await code(() => claim('one'))).toBe('CLUSTER_EXISTS');
});

test('the name of a running cluster cannot be taken, whichever process started it', async () => {
  const record = await claim('one');
  writeRecord(stateDir, { ...record, phase: 'running', owner: GONE });
  writeRun(stateDir, 'one', 'node-0', { handle: { ...ownProcess() }, state: 'running' });
  await expect(claim('one')).rejects.toThrow("a cluster named 'one' is running already");
});

test.each([
  ['cut off', '{"version":3,', 'JSON'],
  ['of another version', '{"version":99}', `version 99, expected ${RECORD_VERSION}`],
  ['without a name', `{"version":${RECORD_VERSION}}`, 'expected'],
])('a record that is %s leads to its processes and its folder', async (_what, text, why) => {
  await claim('one');
  writeRun(stateDir, 'one', 'node-0', { handle: { ...ownProcess() }, state: 'running' });
  writeRun(stateDir, 'one', 'node-1', { handle: GONE, state: 'running' });
  const container = 'ab'.repeat(32);
  writeRun(stateDir, 'one', 'node-2', { handle: { container, startedAt: '' }, state: 'running' });
  const { path } = clusterFolder(stateDir, 'one');
  writeFileSync(join(path, 'run', 'node-3.json'), '{');
  writeFileSync(join(path, 'cluster.json'), text);
  const { pid } = process;
  const hint = `The file is damaged, or this version of svcnet has not written it. Still running: node-0 (process ${pid}). End the cluster with:
  kill ${pid}
  for pid in ${pid}; do while kill -0 $pid 2>/dev/null; do sleep 1; done; done
  docker rm -f ${container}
  rm -r ${path}`;
  expect(() => readRecord(stateDir, 'one')).toThrow(
    expect.objectContaining({ code: 'STATE_INVALID', hint, message: expect.stringContaining(why) }),
  );
});

test('the remains of a cluster that is gone are replaced', async () => {
  const before = await claim('one');
  writeRecord(stateDir, { ...before, phase: 'running', owner: GONE });
  writeRun(stateDir, 'one', 'node-0', { handle: GONE, state: 'running' });
  const after = await claim('one');
  expect(after.token).not.toBe(before.token);
  expect(readRecord(stateDir, 'one')?.token).toBe(after.token);
  expect(existsSync(join(clusterFolder(stateDir, 'one').path, 'run'))).toBe(false);
});

test('taking the name of a cluster that is gone also ends processes that its records do not name', async () => {
  const before = await claim('one');
  writeRecord(stateDir, { ...before, phase: 'running', owner: GONE });
  const { id } = await spawnProgram({
    command: { file: process.execPath, args: ['-e', 'setInterval(() => undefined, 1000)'], env: {} },
    logFile: join(stateDir, 'unrecorded.log'),
    stopWithParent: true,
    compileCache: undefined,
    label: before.token,
  });
  await claim('one');
  expect(isAlive(id)).toBe(false);
});

test('a failed claim leaves nothing beside the cluster that has the name', async () => {
  await claim('one');
  await code(() => claim('one'));
  expect(listClusters(stateDir)).toEqual(['one']);
});

test('a process with a recycled pid is not taken for the one before', async () => {
  const record = await claim('one');
  writeRecord(stateDir, { ...record, phase: 'running' });
  writeRun(stateDir, 'one', 'node-0', { handle: GONE, state: 'running' });
  expect(await isInUse(stateDir, { ...record, phase: 'running' })).toBe(false);
});

test('a removed cluster frees its name and leaves nothing', async () => {
  const record = await claim('one');
  removeCluster(stateDir, record);
  removeCluster(stateDir, record);
  expect(listClusters(stateDir)).toEqual([]);
  expect(existsSync(clusterFolder(stateDir, 'one').path)).toBe(false);
});

test('a later cluster of the same name is not removed in place of the earlier one', async () => {
  const before = await claim('one');
  removeCluster(stateDir, before);
  const after = await claim('one');
  removeCluster(stateDir, before);
  expect(readRecord(stateDir, 'one')?.token).toBe(after.token);
});

test('unfinished folders are removed when their process was killed, those of live processes are not', async () => {
  for (const [folder, owner] of [
    ['.dead', GONE],
    ['.alive', ownProcess()],
  ] as const) {
    const path = join(stateDir, 'clusters', folder);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'cluster.json'), JSON.stringify({ owner }));
  }
  await removeLeftovers(stateDir);
  expect(readdirSync(join(stateDir, 'clusters'))).toEqual(['.alive']);
});

test('ports that a cluster has kept are free once it is gone, also when another one has its name', async () => {
  // Claims are in the temporary folder of the machine.
  vi.stubEnv('TMPDIR', stateDir);
  const before = await claim('one');
  const [port, other] = [20_000, 20_001];
  expect(claimPort(port, portKeeper(stateDir, before))).toBe(true);
  expect(claimPort(port, portKeeper(stateDir, before))).toBe(true);
  removeCluster(stateDir, before);
  const after = await claim('one');
  expect(claimPort(other, portKeeper(stateDir, after))).toBe(true);
  expect([isClaimed(port), isClaimed(other)]).toEqual([false, true]);
});

test('orphans of a process that died are removed, clusters that were meant to stay are not', async () => {
  writeRecord(stateDir, { ...(await claim('orphan', true)), owner: GONE, phase: 'running' });
  writeRecord(stateDir, { ...(await claim('kept')), owner: GONE, phase: 'running' });
  writeRecord(stateDir, { ...(await claim('half')), owner: GONE });
  await claim('mine', true);
  expect(await removeLeftovers(stateDir)).toEqual(['half', 'orphan']);
  expect(listClusters(stateDir)).toEqual(['kept', 'mine']);
});

test('a single cluster needs no name, of several one must be named', async () => {
  expect(await code(() => findCluster(stateDir, undefined))).toBe('CLUSTER_NOT_FOUND');
  await claim('one');
  expect(findCluster(stateDir, undefined).name).toBe('one');
  await claim('two');
  expect(() => findCluster(stateDir, undefined)).toThrow('known: one, two');
  expect(() => findCluster(stateDir, 'ones')).toThrow("no cluster 'ones', did you mean 'one'?");
});

test('an unreadable record is named', async () => {
  await claim('one');
  const file = join(clusterFolder(stateDir, 'one').path, 'cluster.json');
  writeFileSync(file, '{');
  expect(() => readRecord(stateDir, 'one')).toThrow(file);
  writeFileSync(file, '{"version":99}');
  expect(() => readRecord(stateDir, 'one')).toThrow(`version 99, expected ${RECORD_VERSION}`);
});

test.each([
  [undefined, '.svcnet'],
  // CI systems set variables without a value.
  ['', '.svcnet'],
  ['elsewhere', 'elsewhere'],
])('with SVCNET_STATE=%s all state is in %s', (value, folder) => {
  vi.stubEnv('SVCNET_STATE', value);
  try {
    expect(defaultStateDir()).toBe(resolve(folder));
  } finally {
    vi.unstubAllEnvs();
  }
});

test('a cluster that is left over does not hide the only other one', async () => {
  const left = await claim('net-1', true);
  writeRecord(stateDir, { ...left, phase: 'running', owner: GONE });
  writeRecord(stateDir, { ...(await claim('half')), owner: GONE });
  const record = await claim('local');
  writeRecord(stateDir, { ...record, phase: 'running' });
  expect(findCluster(stateDir, undefined).name).toBe('local');
  expect(findCluster(stateDir, 'net-1').name).toBe('net-1');
  await claim('other');
  expect(() => findCluster(stateDir, undefined)).toThrow(
    expect.objectContaining({
      message: 'several clusters exist, choose one with --name (known: half, local, net-1, other)',
      hint: 'Left over, and removed by the next start: half, net-1',
    }),
  );
});
