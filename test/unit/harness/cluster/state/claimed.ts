import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { claimCluster } from '../../../../../harness/cluster/lifecycle/claim.ts';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import type { ClusterRecord } from '../../../../../harness/cluster/state/state.ts';

export function claimed(stateDir: string, name: string, ephemeral = false): Promise<ClusterRecord> {
  return claimCluster(stateDir, {
    clock: MACHINE_CLOCK,
    name,
    seed: 1n,
    ephemeral,
    definition: parseDefinition({}, 'test'),
  });
}
