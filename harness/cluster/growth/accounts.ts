/** Accounts that got tokens but belong to no node of the cluster: it is joining, or has left for good. */
import { planCluster } from '../plan/plan.ts';
import { readDefinition } from '../plan/schema.ts';
import type { ClusterRecord } from '../state/state.ts';

/** Mining overlays takes a while, so it is repeated only for a changed record. */
const found = new WeakMap<ClusterRecord, readonly string[]>();

/** @returns 40 hex digits each */
export function accountsBeside(record: ClusterRecord): readonly string[] {
  const before = found.get(record);
  if (before !== undefined) return before;
  const accounts = accountsOf(record);
  found.set(record, accounts);
  return accounts;
}

function accountsOf({ definition: written, seed }: ClusterRecord): readonly string[] {
  if (written === undefined || seed === undefined) return [];
  const definition = readDefinition(written);
  const gone = definition.grown?.gone ?? [];
  if (gone.length === 0) return [];
  return planCluster(definition, BigInt(seed), gone).nodes.map(({ identity }) => identity.ethereum);
}
