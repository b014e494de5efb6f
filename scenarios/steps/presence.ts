/** Where chunks are and belong, by HEAD alone. */
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

/** Running full nodes. */
export function storers(nodes: readonly ClusterNode[]): ClusterNode[] {
  return nodes.filter((node) => node.running && node.mode === 'full');
}

/** The nodes that should hold a chunk now. */
export interface Neighbourhood {
  readonly closest: ClusterNode;
  /** Whose radius includes it, closest first. */
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

/** Digits that rank nodes by distance. */
const RANKED_DIGITS = 8;

/** In sequence: the closest nearly always has it. */
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
 * Missing chunks are looked for again: one may have moved to a node asked before.
 * @returns undefined: unknown, as a possible holder is away or unlisted
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

/** Equal texts: nothing happened to the nodes. */
export function changesOf(nodes: readonly ClusterNode[]): string {
  return nodes.map(({ changes }) => changes).join();
}

/** Seeded order. */
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
