/** A cluster that cannot be saved is refused before anything is stopped. */
import fs, { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { ownProcess } from '../../../../harness/machine/processes.ts';
import { type SaveContext, saveSnapshot } from '../../../../harness/snapshots/save.ts';
import {
  beginSnapshot,
  currentHead,
  finishSnapshot,
  listSnapshots,
  type SnapshotRecord,
} from '../../../../harness/snapshots/snapshot.ts';

let stateDir = '';
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'svcnet-save-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

/** A cluster that must not be touched. */
function context({ copies = true, flavour = 'svc', ownerPid = process.pid, chainError = '' }): SaveContext {
  const untouched = () => {
    throw new Error('a node was touched');
  };
  const node = { name: 'node-0', flavour, mode: 'full', observe: untouched, stop: untouched };
  return {
    stateDir,
    record: {
      name: 'net',
      seed: '1',
      driver: 'process',
      ephemeral: true,
      owner: { ...ownProcess(), pid: ownerPid },
    },
    nodes: [node],
    chain: {
      height: () => Promise.reject(new HarnessError('CHAIN_FAILED', chainError)),
    },
    driver: { name: 'docker', capabilities: new Set(copies ? ['copy'] : []) },
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
  const saving = saveSnapshot(context({ chainError: 'nobody there' }), 'x', { force: false });
  await expect(saving).rejects.toMatchObject({ code: 'CHAIN_FAILED', message: 'nobody there' });
  expect(readdirSync(join(stateDir, 'snapshots'))).toEqual([]);
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
    // The refused one is removed by its save.
    expect(readdirSync(join(stateDir, 'snapshots')).filter((name) => name.startsWith('.'))).toHaveLength(1);
  });

  test('has its name before the one that it replaces is removed', () => {
    const { path } = finish(1, false);
    // Removing this takes long, or fails half-way: the new one must be there by then.
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
