/** Files of running clusters are removed, as by `git clean -fdx`. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAlive, labelled, type ProcessId } from '../../../harness/base/machine/processes.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { readRecord } from '../../../harness/cluster/state/state.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const processesOf = (stateDir: string, name: string) =>
  labelled(readRecord(stateDir, name)?.token ?? 'no such cluster');

async function allEnd(processes: readonly ProcessId[]): Promise<void> {
  await until(
    'processes have ended',
    async () => {
      const left = processes.filter(isAlive);
      return left.length === 0 ? { done: true } : { missing: `processes ${JSON.stringify(left)}` };
    },
    { timeoutMs: 120_000 },
  );
}

test('nodes, their holder, chain and link proxy of a removed folder end, those of a moved one run on', async () => {
  const folder = temporaryFolder('svcnet-vanished');
  const [stateDir, moved] = [join(folder, 'state'), join(folder, 'moved')];
  const options = { nodes: 2, batches: false as const, stateDir, detached: true };
  const doomed = await Cluster.start({ ...options, name: 'doomed', tap: true, machineFaults: true });
  const kept = await Cluster.start({ ...options, name: 'kept' });
  const [ending, staying] = ['doomed', 'kept'].map((name) => processesOf(stateDir, name));
  expect([ending?.length, staying?.length]).toEqual([6, 5]);
  const held = await Cluster.start({ ...options, name: 'held', driver: 'embedded' });
  const holding = processesOf(stateDir, 'held');
  // The process that holds its nodes, beside the chain's.
  expect(holding).toHaveLength(4);
  await Promise.all([doomed.detach(), kept.detach(), held.detach()]);
  renameSync(stateDir, moved);
  for (const name of ['doomed', 'held'])
    rmSync(join(moved, 'clusters', name), { recursive: true, force: true, maxRetries: 20 });
  await allEnd([...(ending ?? []), ...holding]);
  expect(staying?.every(isAlive)).toBe(true);
  const again = await Cluster.attach('kept', { stateDir: moved });
  await again.node(0).kill();
  await expect(again.node(0).start()).rejects.toMatchObject({
    code: 'NODE_STATE',
    message: expect.stringMatching(/was moved while it ran, from .*state.* to .*moved/),
    hint: expect.stringMatching(/^Move it back: mv .*moved\/clusters\/kept .*state\/clusters\/kept\n/),
  });
  await again.stop();
  await allEnd(staying ?? []);
  expect(existsSync(stateDir)).toBe(false);
});
