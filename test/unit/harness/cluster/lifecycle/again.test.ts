import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { ownProcess } from '../../../../../harness/base/machine/processes.ts';
import { takeAgain } from '../../../../../harness/cluster/lifecycle/again.ts';
import { claimCluster } from '../../../../../harness/cluster/lifecycle/claim.ts';
import { removeLeftovers } from '../../../../../harness/cluster/lifecycle/leftovers.ts';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import {
  type ClusterRecord,
  clusterFolder,
  readRecord,
  writeRecord,
  writeRun,
} from '../../../../../harness/cluster/state/state.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let stateDir: string;
beforeEach(() => void (stateDir = temporaryFolder('svcnet-again')));

/** The pid is ours, the start time is not. */
const GONE = { pid: process.pid, startedAt: 'another boot/1' };
const TIMINGS = { chainMs: 1, nodesMs: 1, meshedMs: 1, batchUsableMs: 1, totalMs: 4 };

function claim(name: string, definition = parseDefinition({ nodes: 1 }, 'test')): Promise<ClusterRecord> {
  return claimCluster(stateDir, { clock: MACHINE_CLOCK, name, seed: 1n, ephemeral: false, definition });
}

async function down(name: string, more: Partial<ClusterRecord> = {}): Promise<ClusterRecord> {
  const node = { name: 'node-0', flavour: 'svc', mode: 'full', dialect: 'svc', api: '', debug: '', p2p: '' };
  const rest = { overlay: '', ethereum: '', dataDir: '', log: '' };
  const record: ClusterRecord = {
    ...(await claim(name)),
    phase: 'running',
    owner: GONE,
    timings: TIMINGS,
    nodes: [{ ...node, ...rest } as ClusterRecord['nodes'][0]],
    ...more,
  };
  writeRecord(stateDir, record);
  writeRun(stateDir, name, 'chain', { handle: GONE, state: 'running' });
  writeRun(stateDir, name, 'node-0', { handle: GONE, state: 'running' });
  const folder = clusterFolder(stateDir, name);
  for (const path of [folder.chainState(), folder.dataDir('node-0')]) mkdirSync(path, { recursive: true });
  writeFileSync(join(folder.chainState(), 'state.json'), '{}');
  return record;
}

test('a cluster that was left to stay keeps its name when nothing of it runs, and the error names the next steps', async () => {
  const record = await down('one');
  await expect(claim('one')).rejects.toMatchObject({
    code: 'CLUSTER_EXISTS',
    message: expect.stringMatching(
      /^cluster 'one' is there, with the data of 1 node: .* nothing of it has run since 2\d{3}-.* UTC$/,
    ) as string,
    hint: 'Start it again with: svcnet start --name one\nRemove it with: svcnet down --name one\nOr choose another name with --name.',
  });
  expect(readRecord(stateDir, 'one')?.token).toBe(record.token);
});

test('a cluster whose process is gone is removed, with a line that says so', async () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  await down('kept', { phase: 'starting' });
  await down('test', { ephemeral: true });
  expect(await removeLeftovers(stateDir)).toEqual(['test']);
  const pid = String(GONE.pid);
  expect(said.mock.calls).toEqual([
    [`svcnet: removed cluster 'test': process ${pid}, which it belonged to, has ended\n`],
  ]);
  said.mockRestore();
  expect(existsSync(clusterFolder(stateDir, 'kept').path)).toBe(true);
});

test('one process takes a cluster to start it again, also after a start that was cut off', async () => {
  await down('one', { phase: 'starting' });
  const { record, before } = await takeAgain(stateDir, undefined);
  expect(record).toMatchObject({ phase: 'starting', owner: ownProcess() });
  expect(before.phase).toBe('running');
  await expect(takeAgain(stateDir, 'one')).rejects.toMatchObject({
    code: 'CLUSTER_EXISTS',
    message: `cluster 'one' is being started by process ${process.pid}`,
  });
});

test('a cluster that runs is not started again', async () => {
  await down('one');
  for (const part of ['chain', 'node-0'])
    writeRun(stateDir, 'one', part, { handle: { ...ownProcess() }, state: 'running' });
  await expect(takeAgain(stateDir, 'one')).rejects.toMatchObject({ code: 'CLUSTER_EXISTS' });
});

test.each([
  [
    'its chain has no state',
    (name: string) => rmSync(clusterFolder(stateDir, name).chainState(), { recursive: true }),
    /the state of its chain is missing: .*state\.json$/,
  ],
  [
    'the data of a node is missing',
    (name: string) => rmSync(clusterFolder(stateDir, name).dataDir('node-0'), { recursive: true }),
    /the data of node-0 is missing: .*node-0$/,
  ],
  [
    'it never ran',
    (name: string) => {
      const { timings: _timings, ...record } = readRecord(stateDir, name) as ClusterRecord;
      writeRecord(stateDir, record);
    },
    /it has never started completely$/,
  ],
])('a cluster is not started again when %s, and the error says so', async (_what, damage, why) => {
  await down('one');
  damage('one');
  await expect(takeAgain(stateDir, 'one')).rejects.toMatchObject({
    code: 'STATE_INVALID',
    message: expect.stringMatching(why) as string,
    hint: 'Remove it with: svcnet down --name one',
  });
});

test('a cluster whose nodes kept their data in memory cannot be started again, and its name says so', async () => {
  const record = await claim('one', parseDefinition({ driver: 'embedded', nodes: 1 }, 'test'));
  writeRecord(stateDir, { ...record, phase: 'running', owner: GONE, timings: TIMINGS });
  await expect(claim('one')).rejects.toMatchObject({
    hint: expect.stringContaining(
      'It cannot be started again: its nodes kept their data in memory, which has gone with their process.\n',
    ) as string,
  });
});
