/**
 * Where chunks are and belong: the closest node, its neighbourhood, and the nodes that have them on disk (HEAD, never
 * GET).
 */
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

/** A content-addressed chunk of full size. */
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

/** The full nodes that run: those that store for the network. */
export function storers(nodes: readonly ClusterNode[]): ClusterNode[] {
  return nodes.filter((node) => node.running && node.mode === 'full');
}

/** The nodes that should hold a chunk now. */
export interface Neighbourhood {
  readonly closest: ClusterNode;
  /** Nodes whose storage radius includes it, including the closest, closest first. */
  readonly nodes: readonly ClusterNode[];
}

/** @param nodes full nodes; at least one */
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

/** The nodes that have a chunk in their local store. */
export async function holdersOf(
  address: string,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ClusterNode[]> {
  const has = await Promise.all(nodes.map((node) => node.holds(address, signal)));
  return nodes.filter((_, index) => has[index]);
}

/** Hex digits of addresses that rank nodes by their distance. */
const RANKED_DIGITS = 8;

/** Whether a node has it in its local store. One is asked after the other: the closest one has it nearly always. */
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
 * The chunks that no honest node has. A chunk may move from a node not asked yet to one asked before, so those that
 * seem to be missing are looked for a second time at once.
 * @returns undefined when it cannot be told: a node that may have them was away meanwhile, or is not listed
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

/** Equal texts: nothing was done to the nodes in between, such as a kill or a start. */
export function changesOf(nodes: readonly ClusterNode[]): string {
  return nodes.map(({ changes }) => changes).join();
}

/** As many nodes as asked for, in an order determined by the seed. */
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

/** Half-way through a scenario it would be too late to say that its nodes cannot come, leave or change. */
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
