import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../harness/base/machine/clock.ts';
import { claimCluster } from '../../../../harness/cluster/lifecycle/claim.ts';
import { parseDefinition } from '../../../../harness/cluster/plan/definition.ts';
import { clusterFolder, listClusters, writeRecord } from '../../../../harness/cluster/state/state.ts';
import { markedPath } from '../../../../harness/cluster/state/state-folder.ts';
import { down } from '../../../../harness/commands/down.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

let stateDir: string;
beforeEach(() => void (stateDir = temporaryFolder('svcnet-down')));

async function cluster(name: string, driver?: 'attached' | 'process'): Promise<void> {
  const definition = parseDefinition({}, 'test');
  const record = await claimCluster(stateDir, {
    clock: MACHINE_CLOCK,
    name,
    seed: 1n,
    ephemeral: false,
    definition,
  });
  if (driver !== undefined) writeRecord(stateDir, { ...record, driver, phase: 'running' });
}

test('--all removes every cluster it can, and names each of the others', async () => {
  await cluster('field', 'attached');
  await cluster('local', 'process');
  await cluster('starting');
  await cluster('unreadable', 'process');
  writeFileSync(join(clusterFolder(stateDir, 'unreadable').path, 'cluster.json'), '{');
  const context = contextOf(stateDir);
  await expect(down({ all: true }, context)).rejects.toMatchObject({
    name: 'HarnessError',
    message: expect.stringMatching(
      /^cannot remove cluster 'starting': .* is being started by process \d+\ncannot remove cluster 'unreadable': /,
    ) as string,
  });
  expect(listClusters(stateDir)).toEqual(['starting', 'unreadable']);
  expect(context.printed()).toBe(
    '  forgot field: its 0 nodes keep running\n  removed local: 0 nodes stopped\n',
  );
});

test('prints an error as the only document with --json', async () => {
  await cluster('field', 'attached');
  await cluster('starting');
  const context = contextOf(stateDir, true);
  await expect(down({ all: true }, context)).rejects.toMatchObject({ code: 'CLUSTER_EXISTS' });
  expect(listClusters(stateDir)).toEqual(['starting']);
  expect(context.printed()).toBe('');
});

/** Something made it again after its cluster was removed. */
function remains(name: string): string {
  markedPath(stateDir, 'clusters');
  const { path } = clusterFolder(stateDir, name);
  mkdirSync(join(path, 'logs'), { recursive: true });
  return path;
}

test.each([{ name: 'ghost' }, { all: true }])('removes a folder without a record: %o', async (flags) => {
  const path = remains('ghost');
  const context = contextOf(stateDir);
  await down(flags, context);
  expect(existsSync(path)).toBe(false);
  expect(context.printed()).toMatch(/^ {2}removed what was left of ghost\n {2}done in /);
});

test('a folder without a record does not make the only cluster ambiguous', async () => {
  remains('ghost');
  await cluster('field', 'attached');
  const context = contextOf(stateDir);
  await down({}, context);
  expect(listClusters(stateDir)).toEqual([]);
  expect(context.printed()).toMatch(/^ {2}forgot field/);
});
