/** Whether the two ends of each link agree on who owes whom. */
import type { ClusterNode } from './cluster-node.ts';
import { type Seen, seenOr } from './wait.ts';

/** Links shown of those that disagree. */
const LINKS_SHOWN = 3;

/**
 * Compares the balances of every pair of running nodes: what one is owed is what the other owes. Both are read one
 * after the other, so while something is under way they may differ.
 * @returns the number of pairs compared
 */
export async function lookAtBalances(
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<Seen<number>> {
  const running = nodes.filter((node) => node.running);
  const tables = new Map<ClusterNode, ReadonlyMap<string, bigint>>();
  for (const node of running) {
    const seen = await seenOr(node.name, async () => ({ done: await node.client.balances(signal) }));
    if ('missing' in seen) return seen;
    tables.set(node, new Map(seen.done.map(({ peer, balance }) => [peer, balance])));
  }
  const owed = (node: ClusterNode, peer: ClusterNode) => tables.get(node)?.get(peer.overlay) ?? 0n;
  const pairs = running.flatMap((one, i) => running.slice(i + 1).map((other) => [one, other] as const));
  const apart = pairs
    .filter(([one, other]) => owed(one, other) + owed(other, one) !== 0n)
    .map(
      ([one, other]) =>
        `${one.name} says ${owed(one, other)} of ${other.name}, which says ${owed(other, one)}`,
    );
  if (apart.length === 0) return { done: pairs.length };
  return { missing: `${apart.length} of ${pairs.length} links: ${apart.slice(0, LINKS_SHOWN).join('; ')}` };
}
