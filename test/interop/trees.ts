/** A file's tree as a node serves it: tests take parts of it away. */
import { cacFromData } from '../../formats/chunk/cac.ts';
import type { Chunk } from '../../formats/chunk/chunk.ts';
import { parseSoc } from '../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { atMost } from '../../node/env/turns/at-most.ts';
import type { RedundancyLevel } from '../../node/files/redundancy/redundancy.ts';
import { replicasOf } from '../../node/files/redundancy/replicas.ts';
import { childrenOf, contentOf, decodeReference, isLeaf, type Reference } from '../../node/files/tree.ts';
import { ChunkMap } from '../unit/files/chunk-map.ts';

const AT_ONCE = 8;

/** Data chunks, parities and the replicas of the root. @throws ClientError for the first one that is missing */
export async function treeFrom(
  node: ClusterNode,
  reference: string,
  level: RedundancyLevel,
): Promise<ChunkMap> {
  const store = new ChunkMap();
  const fetch = async (address: Uint8Array): Promise<Chunk> => {
    const data = await node.chunks.download(toHex(address), { cache: false });
    const chunk = parseSoc(address, data) ?? cacFromData(data);
    await store.put(chunk);
    return chunk;
  };
  const fetchAll = (addresses: readonly Uint8Array[]) =>
    atMost(
      AT_ONCE,
      addresses.map((address) => async () => void (await fetch(address))),
    );
  const below = async ({ address, key }: Reference): Promise<void> => {
    const content = contentOf(store.chunks.get(toHex(address)) ?? (await fetch(address)), key);
    if (isLeaf(content)) return;
    const { data, parities } = childrenOf(content, { level, encrypted: key !== undefined });
    await fetchAll([...data.map((child) => child.address), ...parities]);
    for (const child of data) await below(child);
  };
  const root = decodeReference(fromHex(reference));
  await below(root);
  await fetchAll(replicasOf(root.address, level).map(({ address }) => address));
  return store;
}

/** Each storer acknowledges its chunk. */
export async function uploadRest(node: ClusterNode, { chunks }: ChunkMap): Promise<void> {
  const upload = (chunk: Chunk) => async () => {
    await node.chunks.upload(chunk.data);
  };
  await atMost(AT_ONCE, [...chunks.values()].map(upload));
}
