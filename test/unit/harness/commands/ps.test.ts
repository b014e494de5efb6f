import { beforeEach, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../harness/base/machine/clock.ts';
import { claimCluster } from '../../../../harness/cluster/lifecycle/claim.ts';
import { parseDefinition } from '../../../../harness/cluster/plan/definition.ts';
import { writeRecord } from '../../../../harness/cluster/state/state.ts';
import { ps } from '../../../../harness/commands/ps.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

let stateDir: string;
beforeEach(() => void (stateDir = temporaryFolder('svcnet-ps')));

test('a record of another version is noted and does not hide the other clusters', async () => {
  const definition = parseDefinition({}, 'test');
  for (const name of ['local', 'older']) {
    const record = await claimCluster(stateDir, {
      clock: MACHINE_CLOCK,
      name,
      seed: 1n,
      ephemeral: false,
      definition,
    });
    if (name === 'older') writeRecord(stateDir, { ...record, version: 1 });
  }
  const notes: string[] = [];
  const context = { ...contextOf(stateDir, true), note: (text: string) => void notes.push(text) };
  await ps({}, context);
  expect((JSON.parse(context.printed()) as { clusters: { name: string }[] }).clusters).toMatchObject([
    { name: 'local', state: 'starting' },
  ]);
  expect(notes).toEqual([expect.stringMatching(/^ {2}older: .*cluster\.json: version 1, expected \d+\n$/)]);
});
