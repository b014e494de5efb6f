import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  hiddenBy,
  isAlive,
  mayBeAlive,
  ownProcess,
  type ProcessId,
} from '../../../../harness/base/machine/processes.ts';
import { takeAgain } from '../../../../harness/cluster/lifecycle/again.ts';
import { forgetElsewhere } from '../../../../harness/cluster/lifecycle/claim.ts';
import { partsOf } from '../../../../harness/cluster/lifecycle/drivers.ts';
import { removeLeftovers } from '../../../../harness/cluster/lifecycle/leftovers.ts';
import { beginSnapshot } from '../../../../harness/cluster/snapshots/writing.ts';
import { whyElsewhere } from '../../../../harness/cluster/state/elsewhere.ts';
import {
  type ClusterRecord,
  isLeftOver,
  listClusters,
  readRecord,
  writeRecord,
  writeRun,
} from '../../../../harness/cluster/state/state.ts';
import { down } from '../../../../harness/commands/down.ts';
import { runLine } from '../../../../harness/commands/line.ts';
import { ps } from '../../../../harness/commands/ps.ts';
import { status } from '../../../../harness/commands/status.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { claimed } from '../cluster/state/claimed.ts';
import { contextOf } from './kit.ts';

let stateDir: string;
beforeEach(() => void (stateDir = temporaryFolder('svcnet-elsewhere')));

const WHY = 'its processes run in another PID namespace (a container?): run this command there';
const HINT = 'If that namespace has ended, remove what it left with: svcnet down --force --name one';
const TIMINGS = { chainMs: 1, nodesMs: 1, meshedMs: 1, batchUsableMs: 1, totalMs: 4 };

function elsewhere(kind: 'pid' | 'time' = 'pid'): ProcessId {
  const own = ownProcess();
  return {
    ...own,
    startedAt: `${own.startedAt}0`,
    namespaces: own.namespaces?.replace(new RegExp(`${kind}:\\[\\d+`), `${kind}:[1`) ?? '',
  };
}

async function record(more: Partial<ClusterRecord> = {}): Promise<void> {
  const made = await claimed(stateDir, 'one');
  writeRecord(stateDir, { ...made, phase: 'running', timings: TIMINGS, owner: elsewhere(), ...more });
}

const onLinux = test.runIf(process.platform === 'linux');

onLinux('a process of another namespace is hidden, unless the machine has booted since', () => {
  expect(hiddenBy(ownProcess())).toBeUndefined();
  expect(hiddenBy(elsewhere())).toBe('PID');
  expect(hiddenBy(elsewhere('time'))).toBe('time');
  expect(hiddenBy({ ...elsewhere(), startedAt: 'another boot/1' })).toBeUndefined();
  const { pid, startedAt } = elsewhere();
  expect(hiddenBy({ pid, startedAt })).toBeUndefined();
});

onLinux('ps calls a cluster of another namespace elsewhere, and says where to ask', async () => {
  await record();
  const notes: string[] = [];
  const context = { ...contextOf(stateDir, true), note: (text: string) => void notes.push(text) };
  await ps({}, context);
  expect(JSON.parse(context.printed())).toMatchObject({ clusters: [{ name: 'one', state: 'elsewhere' }] });
  expect(notes).toEqual([`  one: ${WHY}\n`, `  ${HINT}\n`]);
});

onLinux('notes name commands as they were typed', async () => {
  await record();
  vi.stubEnv('npm_lifecycle_event', 'npx');
  const told: string[] = [];
  const stderr = { write: (text: string) => told.push(text) };
  const stdout = { write: () => undefined };
  const { signal } = new AbortController();
  await runLine(['ps'], { stateDir: () => stateDir, stdout, stderr, env: {}, signal });
  expect(told.join('')).toContain('remove what it left with: npx svcnet down --force --name one\n');
});

onLinux('a cluster of another namespace is neither asked, started, replaced nor removed', async () => {
  await record();
  const refused = (what: string) => ({
    code: 'NODE_STATE',
    message: `cannot ${what} cluster 'one': ${WHY}`,
    hint: HINT,
  });
  await expect(status({}, contextOf(stateDir))).rejects.toMatchObject(refused('attach to'));
  await expect(takeAgain(stateDir, 'one')).rejects.toMatchObject(refused('start'));
  await expect(down({}, contextOf(stateDir))).rejects.toMatchObject(refused('remove'));
  await expect(claimed(stateDir, 'one')).rejects.toMatchObject({
    code: 'CLUSTER_EXISTS',
    message: `a cluster named 'one' is there: ${WHY}`,
    hint: HINT,
  });
  expect(listClusters(stateDir)).toEqual(['one']);
});

onLinux('a cluster that is being started in another namespace is not left over', async () => {
  await record({ phase: 'starting', ephemeral: true });
  expect(await removeLeftovers(stateDir)).toEqual([]);
  expect(listClusters(stateDir)).toEqual(['one']);
});

onLinux('down --force removes a cluster of another namespace', async () => {
  await record();
  const context = contextOf(stateDir);
  await down({ force: true }, context);
  expect(context.printed()).toMatch(/^ {2}removed one: 0 nodes stopped\n/);
  expect(listClusters(stateDir)).toEqual([]);
});

onLinux('ids of another namespace end no process here', async () => {
  await record();
  const { pid, startedAt } = ownProcess();
  const same = { ...elsewhere(), pid, startedAt };
  expect([isAlive(same), mayBeAlive(same)]).toEqual([false, true]);
  writeRun(stateDir, 'one', 'node-0', { handle: { pid, startedAt }, state: 'running' });
  expect(partsOf(stateDir, readRecord(stateDir, 'one') as ClusterRecord).parts).toEqual([]);
  writeRecord(stateDir, { ...(readRecord(stateDir, 'one') as ClusterRecord), owner: ownProcess() });
  expect(partsOf(stateDir, readRecord(stateDir, 'one') as ClusterRecord).parts).toMatchObject([
    { name: 'node-0' },
  ]);
});

onLinux('containers that another namespace is starting are not left over', async () => {
  const { owner, ...made } = await claimed(stateDir, 'one', true);
  const starting = { ...made, driver: 'docker', phase: 'starting' } as const;
  expect(isLeftOver({ ...starting, owner: elsewhere() })).toBe(false);
  expect(isLeftOver({ ...starting, owner: { ...owner, startedAt: 'another boot/1' } })).toBe(true);
});

onLinux('a snapshot that another namespace is saving stays', () => {
  const path = beginSnapshot(stateDir);
  writeFileSync(join(path, 'owner.json'), JSON.stringify(elsewhere()));
  beginSnapshot(stateDir);
  expect(existsSync(path)).toBe(true);
  writeFileSync(join(path, 'owner.json'), JSON.stringify({ pid: 1, startedAt: 'another boot/1' }));
  beginSnapshot(stateDir);
  expect(existsSync(path)).toBe(false);
});

onLinux('containers of an engine are reached from every namespace', () => {
  expect(whyElsewhere({ driver: 'simulated', owner: elsewhere() })).toBe(WHY);
  expect(whyElsewhere({ driver: 'docker', owner: elsewhere() })).toBeUndefined();
});

test('the loser of two starts is told that another command is starting the cluster', async () => {
  await claimed(stateDir, 'one');
  await expect(claimed(stateDir, 'one')).rejects.toMatchObject({
    message: `a cluster named 'one' is being started by process ${process.pid}`,
    hint: 'Choose another name with --name, or wait until that command has started it.',
  });
});

onLinux('a container that starts again forgets the network of its earlier start, and no other', async () => {
  await record({ owner: ownProcess() });
  forgetElsewhere(stateDir, 'one');
  expect(listClusters(stateDir)).toEqual(['one']);
  writeRecord(stateDir, { ...(readRecord(stateDir, 'one') as ClusterRecord), owner: elsewhere() });
  forgetElsewhere(stateDir, 'two');
  expect(listClusters(stateDir)).toEqual(['one']);
  forgetElsewhere(stateDir, 'one');
  expect(listClusters(stateDir)).toEqual([]);
});
