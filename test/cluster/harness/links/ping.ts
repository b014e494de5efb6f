import type { Cluster } from '../../../../harness/cluster/cluster.ts';

/** @returns undefined if no answer has come within `withinMs` */
export async function pingMs(
  net: Cluster,
  {
    from,
    to,
    withinMs = 30_000,
  }: { readonly from: number; readonly to: number; readonly withinMs?: number | undefined },
): Promise<number | undefined> {
  const signal = AbortSignal.timeout(withinMs);
  const startedAt = performance.now();
  try {
    await net.node(from).client.pingpong(net.node(to).overlay, signal);
    return performance.now() - startedAt;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
