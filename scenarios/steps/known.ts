/** What scenarios about known bugs share: the implementations of a cluster side by side, asked the same. */
import type { ClusterNode, FlavourName, HttpResponse } from 'svcnet';
import { workingNodes } from './steps.ts';

/** The running nodes of one implementation that upload and download. */
export interface Implementation {
  readonly flavour: FlavourName;
  readonly nodes: readonly [ClusterNode, ...ClusterNode[]];
}

/** The implementations of the cluster, in the order of its nodes. */
export function implementations(nodes: readonly ClusterNode[]): Implementation[] {
  const byFlavour = Map.groupBy(workingNodes(nodes), ({ flavour }) => flavour);
  return [...byFlavour].flatMap(([flavour, [first, ...others]]) =>
    first === undefined ? [] : [{ flavour, nodes: [first, ...others] as const }],
  );
}

/** A request as any HTTP client sends it; an answer that it rejects is an observation, not an error. */
export async function plainRequest(
  node: ClusterNode,
  path: string,
  options: { readonly method: string; readonly signal: AbortSignal },
): Promise<Pick<HttpResponse, 'status' | 'headers'> | { readonly broken: string }> {
  try {
    const headers = node.client.authorization();
    const answer = await fetch(`${node.api}${path}`, { ...options, headers });
    await answer.arrayBuffer();
    return { status: answer.status, headers: Object.fromEntries(answer.headers) };
  } catch (error) {
    if (options.signal.aborted) throw error;
    const { cause } = error as { cause?: unknown };
    return { broken: cause instanceof Error ? cause.message : String(error) };
  }
}
