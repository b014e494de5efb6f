/** How often a fault may change one end's count of a link. */
import type { Fault } from 'svcnet';
import { MESSAGE_FAULT } from 'svcnet/scenario';

const ACTIONS = ['drop', 'delay', 'duplicate', 'reorder', 'replay', 'cut', 'corrupt', 'answer'] as const;
type Action = (typeof ACTIONS)[number];

/** No such effect: a cheque and a payment count once, however late they come. */
const HARMLESS: Readonly<Record<string, readonly Action[]>> = {
  swap: ['delay', 'duplicate', 'reorder', 'replay'],
  pseudosettle: ['delay', 'duplicate', 'reorder'],
  // Free.
  pullsync: ACTIONS,
};
/** Not delays: a node that waits too long asks another one. */
const HARMLESS_TO_CHUNKS: readonly Action[] = ['duplicate', 'reorder'];

export function harmsOf({ kind, request }: Pick<Fault, 'kind' | 'request'>): number {
  if (kind !== MESSAGE_FAULT) return Number(request['rounds'] ?? 1);
  const harmless = HARMLESS[String(request['protocol'])] ?? HARMLESS_TO_CHUNKS;
  const harmful = ACTIONS.filter((action) => !harmless.includes(action));
  return harmful.some((action) => request[action] !== undefined) ? 1 : 0;
}
