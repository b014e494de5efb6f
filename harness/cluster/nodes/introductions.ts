/** Nodes that know no bootnodes are connected over their API. One link each is enough: gossip makes the others. */

import { messageOf } from '../../base/errors.ts';
import type { ProbeResult } from '../../base/wait.ts';
import type { NodeClient } from '../../client/node-client.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import { type FlavourName, isOurs, type NodeMode } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';

export interface Acquaintance {
  readonly name: string;
  readonly flavour: FlavourName;
  readonly declared?: FlavourInput | undefined;
  readonly mode: NodeMode;
  /** Path of its program, for flavours that need one. */
  readonly binary: string | undefined;
  readonly image: string | undefined;
  readonly running: boolean;
  /** Multiaddress. */
  readonly underlay: string;
  readonly client: Pick<NodeClient, 'connect' | 'peers'>;
}

/** Programs of one flavour may be too far apart. */
function understand(one: Acquaintance, other: Acquaintance): boolean {
  const isSame = one.binary === other.binary && one.image === other.image;
  return isSame || isOurs(one) || one.flavour !== other.flavour;
}

/** Groups of full nodes between which no link is awaited; ours link to all. */
export function strangers<N extends Acquaintance>(nodes: readonly N[]): (readonly N[])[][] {
  const full = nodes.filter((node) => node.mode === 'full' && !isOurs(node));
  return [...Map.groupBy(full, ({ flavour }) => flavour).values()]
    .map((of) => [...Map.groupBy(of, ({ binary, image }) => `${binary} ${image}`).values()])
    .filter((programs) => programs.length > 1);
}

export function introducers<N extends Acquaintance>(node: Acquaintance, others: readonly N[]): N[] {
  const own = (one: Acquaintance) => Number(flavourOf(one).bootstraps);
  return others
    .filter((other) => other !== node && other.running && other.mode === 'full' && understand(node, other))
    .toSorted((a, b) => own(b) - own(a));
}

/** Gives the node a first peer, unless it has one, finds peers itself, or there is no candidate. */
export async function introduce(
  node: Acquaintance,
  others: readonly Acquaintance[],
  signal: AbortSignal,
): Promise<ProbeResult<true>> {
  const candidates = introducers(node, others);
  if (findsPeers(node, others) || candidates.length === 0) return { done: true };
  const refusals: string[] = [];
  for (const candidate of candidates) {
    if (await hasFullPeer(node, signal)) return { done: true };
    try {
      await node.client.connect(candidate.underlay, signal);
      return { done: true };
    } catch (error) {
      if (signal.aborted) throw error;
      refusals.push(messageOf(error));
    }
  }
  return { missing: `${node.name} could be introduced to nobody: ${refusals[0]}` };
}

/** It knows bootnodes, or nodes that do will dial it; no node dials a light node. */
function findsPeers(node: Acquaintance, others: readonly Acquaintance[]): boolean {
  const bootstraps = (one: Acquaintance) => flavourOf(one).bootstraps;
  if (node.mode !== 'light') return bootstraps(node);
  return bootstraps(node) && others.some((other) => other.mode !== 'light' && bootstraps(other));
}

async function hasFullPeer(node: Acquaintance, signal: AbortSignal): Promise<boolean> {
  return (await node.client.peers(signal)).some(({ fullNode }) => fullNode);
}
