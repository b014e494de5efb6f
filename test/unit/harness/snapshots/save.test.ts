/** A cluster that cannot be saved is refused before anything is stopped. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { ownProcess } from '../../../../harness/machine/processes.ts';
import { type SaveContext, saveSnapshot } from '../../../../harness/snapshots/save.ts';

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
