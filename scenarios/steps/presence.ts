/** Where chunks are and belong: the closest node, its neighbourhood, and holders (HEAD, never GET). */
import { ClientError, type Cluster, type ClusterNode } from 'svcnet';
import {
  CHUNK_PAYLOAD_SIZE,
  fromHex,
  isHonest,
  makeCac,
  messageOf,
  type ParameterTable,
  rankStorers,
  type ScenarioContext,
  toHex,
} from 'svcnet/scenario';

/** Content-addressed, of full size. */
export interface FreshChunk {
  /** Span and payload. */
  readonly data: Uint8Array;
  /** 64 hex digits. */
  readonly address: string;
}

export function freshChunk(random: { bytes(length: number): Uint8Array }): FreshChunk {
  const { data, address } = makeCac(BigInt(CHUNK_PAYLOAD_SIZE), random.bytes(CHUNK_PAYLOAD_SIZE));
  return { data, address: toHex(address) };
}

/** Running full nodes, which store for the network. */
export function storers(nodes: readonly ClusterNode[]): ClusterNode[] {
  return nodes.filter((node) => node.running && node.mode === 'full');
}

export interface Neighbourhood {
  readonly closest: ClusterNode;
  readonly nodes: readonly ClusterNode[];
}

/** @param nodes full, at least one */
export async function neighbourhoodOf(
  address: string,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<Neighbourhood> {
  const all = await Promise.all(
    nodes.map(async (node) => ({
      node,
      overlay: fromHex(node.overlay),
      radius: (await node.client.status(signal)).storageRadius,
    })),
  );
  const byDistance = rankStorers(fromHex(address), all);
  const [first] = byDistance;
  if (first === undefined) throw new RangeError('a chunk belongs to nobody where there is no full node');
  return {
    closest: first.storer.node,
    nodes: byDistance.filter(({ belongs }) => belongs).map(({ storer }) => storer.node),
  };
}

export async function holdersOf(
  address: string,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ClusterNode[]> {
  const has = await Promise.all(nodes.map((node) => node.holds(address, signal)));
  return nodes.filter((_, index) => has[index]);
}

const RANKED_DIGITS = 8;

/** Asks one node after the other: the closest has it nearly always. */
async function isHeld(chunk: string, nodes: readonly ClusterNode[], signal: AbortSignal): Promise<boolean> {
  const prefixOf = (address: string) => Number.parseInt(address.slice(0, RANKED_DIGITS), 16);
  const prefix = prefixOf(chunk);
  const ranked = nodes
    .map((node) => ({ node, distance: (prefixOf(node.overlay) ^ prefix) >>> 0 }))
    .sort((a, b) => a.distance - b.distance);
  for (const { node } of ranked) if (await node.holds(chunk, signal)) return true;
  return false;
}

/**
 * Chunks may move from a node not asked yet to one asked before: missing ones are looked for again at once.
 * @returns undefined: unknown, because a node that may have them was away, or is not listed
 */
export async function heldByNobody(
  chunks: readonly string[],
  cluster: Pick<Cluster, 'nodes' | 'unlistedPeers'>,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const nodes = cluster.nodes.filter((node) => node.mode !== 'boot' && isHonest(node));
  if (nodes.some(({ running, isTransparent }) => !running && !isTransparent)) return undefined;
  const before = changesOf(nodes);
  try {
    let missing = chunks;
    for (let attempt = 0; attempt < 2; attempt++) {
      const held = await Promise.all(missing.map((chunk) => isHeld(chunk, nodes, signal)));
      missing = missing.filter((_, index) => held[index] === false);
    }
    if (changesOf(nodes) !== before) return undefined;
    return missing.length > 0 && (await cluster.unlistedPeers(signal)).length > 0 ? undefined : missing;
  } catch (error) {
    if (!(error instanceof ClientError) || signal.aborted) throw error;
    return undefined;
  }
}

/** Equal texts: nothing was done to the nodes in between. */
export function changesOf(nodes: readonly ClusterNode[]): string {
  return nodes.map(({ changes }) => changes).join();
}

/** In an order determined by the seed. */
export function drawn<T extends ParameterTable, N>(
  context: Pick<ScenarioContext<T>, 'random'>,
  stream: string,
  from: readonly N[],
  count: number,
): N[] {
  const random = context.random(stream);
  const left = [...from];
  const chosen: N[] = [];
  while (chosen.length < count && left.length > 0) chosen.push(...left.splice(random.below(left.length), 1));
  return chosen;
}

/** Asked at the start: half-way through it would be too late. */
export function requireElastic<T extends ParameterTable>({
  cluster,
  skip,
}: Pick<ScenarioContext<T>, 'cluster' | 'skip'>): void {
  try {
    cluster.expectElastic();
  } catch (error) {
    skip(messageOf(error));
  }
}
