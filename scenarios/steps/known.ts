import type { ClusterNode, FlavourName, HttpResponse } from 'svcnet';
import { Agent, request } from 'undici';
import { workingNodes } from './steps.ts';

export interface Implementation {
  readonly flavour: FlavourName;
  readonly nodes: readonly [ClusterNode, ...ClusterNode[]];
}

export function implementations(nodes: readonly ClusterNode[]): Implementation[] {
  const byFlavour = Map.groupBy(workingNodes(nodes), ({ flavour }) => flavour);
  return [...byFlavour].flatMap(([flavour, [first, ...others]]) =>
    first === undefined ? [] : [{ flavour, nodes: [first, ...others] as const }],
  );
}

/** Ignores the environment's proxy: a node is a part of the cluster. */
export const plainAgent = new Agent();

/** A request of any HTTP client; an answer that it rejects is an observation, not an error. */
export async function plainRequest(
  node: ClusterNode,
  path: string,
  options: { readonly method: 'GET' | 'HEAD' | 'POST'; readonly signal: AbortSignal },
): Promise<Pick<HttpResponse, 'status' | 'headers'> | { readonly broken: string }> {
  try {
    const headers = node.client.authorization();
    const answer = await request(`${node.api}${path}`, { ...options, headers, dispatcher: plainAgent });
    await answer.body.dump();
    const received = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
    return { status: answer.statusCode, headers: Object.fromEntries(received) as Record<string, string> };
  } catch (error) {
    if (options.signal.aborted) throw error;
    return { broken: error instanceof Error ? error.message : String(error) };
  }
}
