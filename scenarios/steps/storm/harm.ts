/** How often one end's count of a link may change without the other's. */
import type { Fault } from 'svcnet';
import { MESSAGE_FAULT } from 'svcnet/scenario';
import { workingNodes } from '../steps.ts';
import type { StormContext } from './parameters.ts';

const ACTIONS = ['drop', 'delay', 'duplicate', 'reorder', 'replay', 'cut', 'corrupt', 'answer'] as const;
type Action = (typeof ACTIONS)[number];

/** No such effect: a cheque and a payment count once, however late they come. */
const HARMLESS: Readonly<Record<string, readonly Action[]>> = {
  swap: ['delay', 'duplicate', 'reorder', 'replay'],
  pseudosettle: ['delay', 'duplicate', 'reorder'],
  // Free.
  pullsync: ACTIONS,
};
/**
 * Not delays: a node that waits too long asks another one. Nor duplicates: who reads one message resets the stream at the next,
 * and an answer that is not yet read is lost with it.
 */
const HARMLESS_TO_CHUNKS: readonly Action[] = ['reorder'];

export function harmsOf({ kind, request }: Pick<Fault, 'kind' | 'request'>): number {
  if (kind !== MESSAGE_FAULT) return Number(request['rounds'] ?? 1);
  const harmless = HARMLESS[String(request['protocol'])] ?? HARMLESS_TO_CHUNKS;
  const harmful = ACTIONS.filter((action) => !harmless.includes(action));
  return harmful.some((action) => request[action] !== undefined) ? 1 : 0;
}

const GIVEN_UP = /^(?:svc|bee)_accounting_(?:payment|settle)_error_count (\d+)$/gm;

/**
 * How often each node has given up a payment since its start, as on a peer whose disk is slow. The peer may have counted it.
 */
export async function givenUp({ cluster, signal }: StormContext): Promise<ReadonlyMap<string, number>> {
  const counts = await Promise.all(
    workingNodes(cluster.nodes).map(
      async (node) => [node.name, givenUpIn(await node.client.metrics(signal))] as const,
    ),
  );
  return new Map(counts);
}

/** @param metrics Prometheus text */
export function givenUpIn(metrics: string): number {
  return metrics.matchAll(GIVEN_UP).reduce((sum, [, count]) => sum + Number(count), 0);
}
