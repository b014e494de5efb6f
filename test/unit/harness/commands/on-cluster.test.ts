import { expect, test, vi } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import { clusterFolder } from '../../../../harness/cluster/state/state.ts';
import { noteTurn } from '../../../../harness/cluster/state/turn.ts';
import { onCluster } from '../../../../harness/commands/on-cluster.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { claimed } from '../cluster/state/claimed.ts';

test('what fails since its cluster is being stopped says so, and nothing else does', async () => {
  const stateDir = temporaryFolder('svcnet-ending');
  await claimed(stateDir, 'one');
  const attached = { name: 'one', detach: () => Promise.resolve() } as unknown as Cluster;
  vi.spyOn(Cluster, 'attach').mockResolvedValue(attached);
  const failing = (error: Error) =>
    onCluster({ name: 'one' }, { stateDir }, async () => {
      throw error;
    });
  const cut = new Error('eth_blockNumber: connect ECONNREFUSED');
  await expect(failing(cut)).rejects.toBe(cut);
  using _ending = noteTurn(clusterFolder(stateDir, 'one').path, 'ending');
  await expect(failing(cut)).rejects.toMatchObject({
    code: 'CLUSTER_GONE',
    message: `cluster 'one' is being stopped by process ${process.pid}`,
    cause: cut,
  });
  const interrupted = new HarnessError('INTERRUPTED', 'interrupted');
  await expect(failing(interrupted)).rejects.toBe(interrupted);
});
