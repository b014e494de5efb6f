import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { ownProcess } from '../../../../harness/machine/processes.ts';
import { parseDefinition } from '../../../../harness/plan/definition.ts';
import { claimCluster } from '../../../../harness/state/claim.ts';
import {
  type ClusterRecord,
  clusterFolder,
  findCluster,
  isInUse,
  listClusters,
  readRecord,
  removeCluster,
  removeOrphans,
  writeRecord,
  writeRun,
} from '../../../../harness/state/state.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'svcnet-state-'));
});
afterEach(() => {
  rmSync(stateDir, { recursive: true, force: true });
});

/** A process that cannot be: the pid is ours, the start time is not. */
const GONE = { pid: process.pid, startedAt: 'another boot/1' };

function claim(name: string, ephemeral = false): ClusterRecord {
  return claimCluster(stateDir, { name, seed: 1n, ephemeral, definition: parseDefinition({}, 'test') });
}

function code(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof HarnessError) return error.code;
    throw error;
  }
  return 'nothing was thrown';
}

test('a name that is being started cannot be taken again, and the message says by whom', () => {
  claim('one');
  expect(() => claim('one')).toThrow(`a cluster named 'one' is being started by process ${process.pid}`);
  expect(code(() => claim('one'))).toBe('CLUSTER_EXISTS');
});

test('a name whose cluster runs cannot be taken, whoever started it', () => {
  const record = claim('one');
  writeRecord(stateDir, { ...record, phase: 'running', owner: GONE });
  writeRun(stateDir, 'one', 'node-0', { process: ownProcess(), state: 'running' });
  expect(() => claim('one')).toThrow("a cluster named 'one' is running already");
});

test('what a cluster that is gone has left is replaced', () => {
  const before = claim('one');
  writeRecord(stateDir, { ...before, phase: 'running', owner: GONE });
  writeRun(stateDir, 'one', 'node-0', { process: GONE, state: 'running' });
  const after = claim('one');
  expect(after.token).not.toBe(before.token);
  expect(readRecord(stateDir, 'one')?.token).toBe(after.token);
  expect(existsSync(join(clusterFolder(stateDir, 'one').path, 'run'))).toBe(false);
});

test('a failed claim leaves nothing beside the cluster that has the name', () => {
  claim('one');
  code(() => claim('one'));
  expect(listClusters(stateDir)).toEqual(['one']);
});

test('a recycled pid is not the process that had it before', () => {
  const record = claim('one');
  writeRecord(stateDir, { ...record, phase: 'running' });
  writeRun(stateDir, 'one', 'node-0', { process: GONE, state: 'running' });
  expect(isInUse(stateDir, { ...record, phase: 'running' })).toBe(false);
});

test('a removed cluster frees its name and leaves nothing', () => {
  claim('one');
  removeCluster(stateDir, 'one');
  removeCluster(stateDir, 'one');
  expect(listClusters(stateDir)).toEqual([]);
  expect(existsSync(clusterFolder(stateDir, 'one').path)).toBe(false);
});

test('orphans of a process that died are removed, clusters that were meant to stay are not', () => {
  writeRecord(stateDir, { ...claim('orphan', true), owner: GONE, phase: 'running' });
  writeRecord(stateDir, { ...claim('kept'), owner: GONE, phase: 'running' });
  claim('mine', true);
  removeOrphans(stateDir);
  expect(listClusters(stateDir)).toEqual(['kept', 'mine']);
});

test('the only cluster needs no name, of several one has to be named', () => {
  expect(code(() => findCluster(stateDir, undefined))).toBe('CLUSTER_NOT_FOUND');
  claim('one');
  expect(findCluster(stateDir, undefined).name).toBe('one');
  claim('two');
  expect(() => findCluster(stateDir, undefined)).toThrow('known: one, two');
  expect(() => findCluster(stateDir, 'ones')).toThrow("no cluster 'ones', did you mean 'one'?");
});

test('a record that cannot be read is named', () => {
  claim('one');
  const file = join(clusterFolder(stateDir, 'one').path, 'cluster.json');
  writeFileSync(file, '{');
  expect(() => readRecord(stateDir, 'one')).toThrow(file);
  writeFileSync(file, '{"version":99}');
  expect(() => readRecord(stateDir, 'one')).toThrow('version 99, expected 1');
});
