import { takenPorts } from '../../base/machine/ports.ts';
import type { Chain } from '../../chain/chain.ts';
import { prefixed } from '../../client/json.ts';
import type { ClusterPlan } from '../plan/plan.ts';
import type { BatchRecord } from '../state/state.ts';
import { portOf } from './node-setup.ts';
import type { StartContext } from './start-context.ts';

export function isFixed({ before, driver }: Pick<StartContext, 'before' | 'driver'>): boolean {
  return before !== undefined && driver.halt !== undefined;
}

export async function chainPortAgain(
  { before, driver, definition }: StartContext,
  { chain: { port } }: ClusterPlan,
): Promise<{ readonly port?: number }> {
  if (before?.chain === undefined || port !== 0 || isFixed({ before, driver })) return {};
  const had = portOf(before.chain.rpc);
  const taken = await takenPorts([had], { host: definition.listen });
  return taken.has(had) ? {} : { port: had };
}

/** Nobody waits for a batch that has expired. */
export async function livingBatches(
  { before }: StartContext,
  chain: Chain,
  batches: readonly BatchRecord[],
): Promise<readonly BatchRecord[]> {
  if (before === undefined) return batches;
  const living = await Promise.all(batches.map(({ id }) => isLiving(chain, id)));
  return batches.filter((_, index) => living[index]);
}

async function isLiving(chain: Chain, id: string): Promise<boolean> {
  const { postageStamp } = chain.contracts;
  const view = (signature: string) => chain.view(postageStamp, signature, [prefixed(id)]);
  if ((await view('batchOwner(bytes32)')) === 0n) return false;
  return (await view('remainingBalance(bytes32)')) > 0n;
}
