import { fromHex } from '../../../formats/crypto/hex.ts';
import type { ChunkEvent } from '../../../node/env/chunk-events.ts';
import { messageOf } from '../../base/errors.ts';
import { allAtMost } from '../../base/wait.ts';
import { ClientError } from '../../client/errors.ts';
import type { NodeClient } from '../../client/node-client.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import type { Testimony } from './route.ts';

/** What it needs of a node. */
export type TracedNode = Pick<ClusterNode, 'name' | 'overlay' | 'flavour' | 'mode' | 'state' | 'client'>;

export interface Ring {
  /** 0: the option `chunk-events` is 0. */
  readonly capacity: number;
  /** Overwritten since the node's start. */
  readonly lost: number;
}

export interface Witness {
  readonly node: TracedNode;
  /** 32 bytes. */
  readonly overlay: Uint8Array;
  /** Why it cannot be asked; undefined: it answers. */
  readonly silence: string | undefined;
  /** Bits; undefined: stores nothing for others, or no answer. */
  readonly radius: number | undefined;
  /** Undefined: keeps no events, or no answer. */
  readonly ring: Ring | undefined;
  /** Own restarted batches → displaced chunks; absent: not asked, or no answer. */
  readonly displaced?: ReadonlyMap<string, number>;
}

const ANSWER_LIMIT_MS = 10_000;
const NODES_AT_ONCE = 16;
const EVENTS_PAGE = 10_000;

export async function witnessesOf(nodes: readonly TracedNode[], signal: AbortSignal): Promise<Witness[]> {
  return allAtMost(
    NODES_AT_ONCE,
    nodes.map((node) => () => witness(node, signal)),
  );
}

async function witness(node: TracedNode, signal: AbortSignal): Promise<Witness> {
  const about = { node, overlay: fromHex(node.overlay) };
  const mute = { ...about, radius: undefined, ring: undefined };
  if (node.state !== 'running') return { ...mute, silence: `it is ${node.state}` };
  try {
    using limit = node.client.clock.deadline(ANSWER_LIMIT_MS, signal);
    const { storageRadius } = await node.client.status(limit.signal);
    const radius = node.mode === 'full' ? storageRadius : undefined;
    return { ...about, silence: undefined, radius, ring: await ringOf(node.client, limit.signal) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { ...mute, silence: messageOf(error) };
  }
}

/** A node without a chain has no batches. */
export async function askedForBatches(
  witnesses: readonly Witness[],
  signal: AbortSignal,
): Promise<Witness[]> {
  const works = witnesses.map((one) => async (): Promise<Witness> => {
    if (one.silence !== undefined) return one;
    try {
      const { client } = one.node;
      using limit = client.clock.deadline(ANSWER_LIMIT_MS, signal);
      const stamps = await client.stamps.list(limit.signal);
      const started = stamps.filter(({ displaced = 0 }) => displaced > 0);
      return {
        ...one,
        displaced: new Map(started.map(({ batchID, displaced = 0 }) => [batchID, displaced])),
      };
    } catch (error) {
      if (signal.aborted || !(error instanceof ClientError)) throw error;
      return one;
    }
  });
  return allAtMost(NODES_AT_ONCE, works);
}

/** Nodes that are not ours do not support this request. */
async function ringOf(client: NodeClient, signal: AbortSignal): Promise<Ring | undefined> {
  try {
    const { capacity, lost } = await client.chunkEvents({ limit: 1 }, signal);
    return { capacity, lost };
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}

/** @param address 64 hex digits; undefined: all @throws ClientError from a node that stopped answering */
export async function testimonies(
  witnesses: readonly Witness[],
  address: string | undefined,
  signal: AbortSignal,
): Promise<Testimony[]> {
  const tellers = witnesses.filter(({ ring }) => ring !== undefined && ring.capacity > 0);
  return allAtMost(
    NODES_AT_ONCE,
    tellers.map(({ node }) => async () => {
      const wanted = address === undefined ? {} : { address };
      const events: ChunkEvent[] = [];
      for (let after = 0; ; ) {
        const page = await node.client.chunkEvents({ ...wanted, after, limit: EVENTS_PAGE }, signal);
        events.push(...page.events);
        after = page.last;
        if (page.events.length < EVENTS_PAGE) break;
      }
      return { node: node.name, overlay: node.overlay, events };
    }),
  );
}

export function byChunk(told: readonly Testimony[]): (address: string) => readonly Testimony[] {
  const grouped = told.map(({ node, overlay, events }) => ({
    node,
    overlay,
    events: Map.groupBy(events, (event) => event.address),
  }));
  return (address) =>
    grouped.map(({ node, overlay, events }) => ({ node, overlay, events: events.get(address) ?? [] }));
}
