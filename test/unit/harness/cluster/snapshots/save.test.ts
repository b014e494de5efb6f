import fs, { existsSync, readdirSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { writeJson } from '../../../../../harness/base/json-file.ts';
import { ownProcess } from '../../../../../harness/base/machine/processes.ts';
import { type SaveContext, saveSnapshot } from '../../../../../harness/cluster/snapshots/save.ts';
import {
  currentHead,
  listSnapshots,
  type SnapshotRecord,
} from '../../../../../harness/cluster/snapshots/snapshot.ts';
import { beginSnapshot, finishSnapshot } from '../../../../../harness/cluster/snapshots/writing.ts';
import {
  clusterFolder,
  readRecord,
  removeCluster,
  writeRecord,
} from '../../../../../harness/cluster/state/state.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let stateDir = '';
beforeEach(() => void (stateDir = temporaryFolder('svcnet-save')));

function context({
  copies = true,
  flavour = 'svc',
  was = 'svc',
  ownerPid = process.pid,
  chainError = '',
}): SaveContext {
  const untouched = () => {
    throw new Error('a node was touched');
  };
  const node = { name: 'node-0', flavour, mode: 'full', observe: untouched, stop: untouched };
  return {
    stateDir,
    record: {
      version: 3,
      token: 'one',
      name: 'net',
      seed: '1',
      driver: 'process',
      ephemeral: true,
      owner: { ...ownProcess(), pid: ownerPid },
      definition: { nodes: [{ flavour: was, count: 1 }] },
    },
    nodes: [node],
    chain: {
      height: () => Promise.reject(new HarnessError('CHAIN_FAILED', chainError)),
    },
    driver: { name: 'docker', can: copies ? { copy: {} } : {} },
    onProgress: untouched,
    restarted: untouched,
  } as unknown as SaveContext;
}

test.each([
  ['a driver that cannot copy', { copies: false }, 'the docker driver cannot copy the data of its nodes'],
  [
    'a node whose peers nobody can make it forget',
    { flavour: 'bee' },
    'node-0 is a bee, whose stored peer addresses cannot be removed',
  ],
  ['a cluster that had other nodes', { was: 'bee' }, 'it has had nodes of flavour bee'],
  ['a cluster of another process', { ownerPid: 1 }, 'belongs to process 1'],
])('is refused: %s', async (_what, given, reason) => {
  await expect(saveSnapshot(context(given), 'x', { force: false })).rejects.toMatchObject({
    code: 'SNAPSHOT_REFUSED',
    message: expect.stringContaining(reason) as string,
    hint: expect.any(String) as string,
  });
  expect(readdirSync(stateDir)).toEqual([]);
});

test('a chain that does not answer is detected before any node is stopped', async () => {
  const saved = context({ chainError: 'nobody there' });
  writeRecord(stateDir, saved.record);
  const saving = saveSnapshot(saved, 'x', { force: false });
  await expect(saving).rejects.toMatchObject({ code: 'CHAIN_FAILED', message: 'nobody there' });
  expect(readdirSync(join(stateDir, 'snapshots'))).toEqual([]);
});

describe('a cluster that has been removed is not saved, and its folder not made again', () => {
  const saving = () => saveSnapshot(context({}), 'x', { force: false });
  const gone = { code: 'CLUSTER_GONE', message: "cluster 'net' has been removed" };
  const folder = () => clusterFolder(stateDir, 'net').path;
  const filesLeft = () => (existsSync(folder()) ? readdirSync(folder()) : undefined);
  const another = () => writeRecord(stateDir, { ...context({}).record, token: 'two' });
  const anotherSaved = () => {
    another();
    writeJson(join(folder(), 'saving-1.json'), ownProcess());
  };

  test.each([
    ['', () => undefined, undefined],
    [', and another one has its name', another, ['cluster.json']],
    [', and another one is being saved', anotherSaved, ['cluster.json', 'saving-1.json']],
  ])('before the save%s', async (_, then, left) => {
    then();
    await expect(saving()).rejects.toMatchObject(gone);
    expect(filesLeft()).toEqual(left);
  });

  test.each([
    ['', () => undefined, undefined],
    [', and another one gets its name', another, ['cluster.json']],
  ])('while the save begins%s', async (_, then, left) => {
    const { record } = context({});
    writeRecord(stateDir, record);
    const { readdirSync: read } = fs;
    // Once it has looked for other saves.
    const listing = vi.spyOn(fs, 'readdirSync').mockImplementation(((path: string) => {
      const files = read(path);
      if (path !== folder() || readRecord(stateDir, 'net')?.token !== record.token) return files;
      removeCluster(stateDir, record);
      then();
      return files;
    }) as typeof read);
    syncBuiltinESMExports();
    try {
      await expect(saving()).rejects.toMatchObject(gone);
    } finally {
      listing.mockRestore();
      syncBuiltinESMExports();
    }
    expect(filesLeft()).toEqual(left);
  });
});

describe('a snapshot that is complete', () => {
  const record = (savedAt: number) => ({ ...currentHead(), name: 'base', savedAt }) as SnapshotRecord;
  const finish = (savedAt: number, force: boolean) =>
    finishSnapshot(stateDir, beginSnapshot(stateDir), { record: record(savedAt), force });
  const kept = () => listSnapshots(stateDir).map(({ record: { savedAt } }) => savedAt);

  test('does not replace one that got its name meanwhile, unless asked to', () => {
    finish(1, false);
    expect(() => finish(2, false)).toThrow("a snapshot named 'base' already exists");
    expect(kept()).toEqual([1]);
    finish(3, true);
    expect(kept()).toEqual([3]);
    expect(readdirSync(join(stateDir, 'snapshots')).filter((name) => name.startsWith('.'))).toHaveLength(1);
  });

  test('has its name before the one that it replaces is removed', () => {
    const { path } = finish(1, false);
    // This removal takes long, or fails: the new one must be there by then.
    const removal = vi.spyOn(fs, 'rmSync').mockImplementation(() => {
      throw new Error('cut off');
    });
    syncBuiltinESMExports();
    try {
      expect(() => finish(2, true)).toThrow('cut off');
    } finally {
      removal.mockRestore();
      syncBuiltinESMExports();
    }
    expect(kept()).toEqual([2]);
    expect(path).toBe(join(stateDir, 'snapshots', 'base'));
  });
});
