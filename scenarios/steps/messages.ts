import { type ClusterNode, type Effect, HarnessError, type TapEvent } from 'svcnet';
import {
  closerTo,
  fromHex,
  makeCac,
  type ParameterTable,
  proximityOrder,
  type ScenarioContext,
  toHex,
} from 'svcnet/scenario';
import { implementations } from './known.ts';
import { storers } from './presence.ts';
import { inTime } from './steps.ts';

/** One chunk. */
const SIZE = 3000;
const MATCHED_WITHIN_MS = 60_000;

export interface Pair {
  readonly flavour: ClusterNode['flavour'];
  readonly node: ClusterNode;
  readonly peer: ClusterNode;
}

/**
 * For each implementation a full node and a peer, of the same implementation if possible: the farthest, so that one's chunks
 * are outside the other's neighbourhood, if there are several. Implementations without a full node are reported as
 * unchecked; without any pair the scenario is skipped.
 */
export function pairs<T extends ParameterTable>(
  context: Pick<ScenarioContext<T>, 'cluster' | 'skip' | 'unchecked'>,
): Pair[] {
  const { nodes } = context.cluster;
  const full = storers(nodes);
  const found = implementations(full).flatMap(({ flavour, nodes: [node, ...same] }) => {
    const others = same.length > 0 ? same : full.filter((other) => other !== node);
    const [peer] = others.toSorted((a, b) => bitsInCommon(a, node) - bitsInCommon(b, node));
    return peer === undefined ? [] : [{ flavour, node, peer }];
  });
  if (found.length === 0) context.skip(`needs 2 running full nodes, the cluster has ${full.length}`);
  for (const { flavour } of implementations(nodes)) {
    if (!found.some((pair) => pair.flavour === flavour)) context.unchecked(`${flavour}: none is a full node`);
  }
  return found;
}

function bitsInCommon(one: ClusterNode, other: ClusterNode): number {
  return proximityOrder(fromHex(one.overlay), fromHex(other.overlay));
}

export interface OneChunk {
  readonly data: Uint8Array;
  /** 64 hex digits. */
  readonly address: string;
}

export function contentOf<T extends ParameterTable>(
  context: ScenarioContext<T>,
  owner: ClusterNode,
  stream: string,
): OneChunk {
  const random = context.random(stream);
  const others = storers(context.cluster.nodes).filter((node) => node !== owner);
  for (;;) {
    const data = random.bytes(SIZE);
    const { address } = makeCac(BigInt(SIZE), data);
    const isCloser = ({ overlay }: ClusterNode) =>
      closerTo(address, fromHex(overlay), fromHex(owner.overlay)) < 0;
    if (!others.some(isCloser)) return { data, address: toHex(address) };
  }
}

export async function said<T extends ParameterTable>(
  { cluster }: ScenarioContext<T>,
  protocol: string,
  isMeant: (event: TapEvent) => boolean,
): Promise<TapEvent[]> {
  const events: TapEvent[] = [];
  for await (const event of cluster.tap({ kept: true, protocol })) if (isMeant(event)) events.push(event);
  return events;
}

/** Kept by the tap. */
export async function conversations<T extends ParameterTable>(
  context: ScenarioContext<T>,
  protocol: string,
): Promise<(readonly TapEvent[])[]> {
  const events = await said(context, protocol, () => true);
  return [...Map.groupBy(events, ({ stream }) => stream).values()];
}

export function isOver(conversation: readonly TapEvent[]): boolean {
  return conversation.some(({ kind }) => kind === 'end');
}

/** Waits for so many matches. @throws HarnessError `NODE_STATE` when they do not come */
export async function matched<T extends ParameterTable>(
  context: ScenarioContext<T>,
  id: string,
  [counter, times]: readonly [counter: string, times: number],
): Promise<void> {
  const { cluster } = context;
  const probe = async () => {
    const count = counted((await cluster.faults.list()).find((fault) => fault.id === id)?.effect, counter);
    return count >= times ? undefined : `${counter}: ${count} of ${times}`;
  };
  const missing = await inTime('the fault has met its messages', probe, {
    ...context,
    timeoutMs: MATCHED_WITHIN_MS,
  });
  if (missing !== undefined) throw new HarnessError('NODE_STATE', missing);
}

export function counted(effect: Effect | undefined, counter: string): number {
  return effect?.[counter] ?? 0;
}
