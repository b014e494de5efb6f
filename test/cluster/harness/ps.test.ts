import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { claimCluster } from '../../../harness/cluster/lifecycle/claim.ts';
import { parseDefinition } from '../../../harness/cluster/plan/definition.ts';
import { writeRecord, writeRun } from '../../../harness/cluster/state/state.ts';
import { ps } from '../../../harness/commands/ps.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { contextOf } from '../../unit/harness/commands/kit.ts';

let stateDir: string;
beforeEach(() => void (stateDir = temporaryFolder('svcnet-ps')));
afterEach(() => vi.unstubAllEnvs());

test('an engine that does not answer does not hide the other clusters', async () => {
  vi.stubEnv('DOCKER_HOST', 'tcp://127.0.0.1:1');
  for (const driver of ['docker', 'process'] as const) {
    const definition = parseDefinition({ driver }, 'test');
    const record = await claimCluster(stateDir, {
      clock: MACHINE_CLOCK,
      name: driver,
      seed: 1n,
      ephemeral: false,
      definition,
    });
    writeRecord(stateDir, { ...record, phase: 'running' });
  }
  writeRun(stateDir, 'docker', 'node-0', { handle: { container: 'ab' }, state: 'running' });
  const notes: string[] = [];
  const context = { ...contextOf(stateDir, true), note: (text: string) => void notes.push(text) };
  await ps({}, context);
  const { clusters } = JSON.parse(context.printed()) as { clusters: { name: string; state: string }[] };
  expect(clusters.map(({ name, state }) => [name, state])).toEqual([
    ['docker', 'unknown'],
    ['process', 'gone'],
  ]);
  expect(notes).toEqual([expect.stringContaining('  docker: ') as string]);
});
