import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { TreeShape } from '../../../node/files/redundancy/redundancy.ts';
import { childrenOf, contentOf, decodeReference, isLeaf } from '../../../node/files/tree.ts';
import type { ChunkMap } from './chunk-map.ts';

export interface Group {
  readonly data: readonly string[];
  readonly parities: readonly string[];
}

export function groupsOf(reference: Uint8Array, store: ChunkMap): Group[] {
  const groups: Group[] = [];
  const root = decodeReference(reference);
  const shape: TreeShape = {
    level: contentOf(chunkIn(store, toHex(root.address)), root.key).level,
    encrypted: root.key !== undefined,
  };
  const open = [root];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const content = contentOf(chunkIn(store, toHex(next.address)), next.key);
    if (isLeaf(content)) continue;
    const { data, parities } = childrenOf(content, shape);
    groups.push({ data: data.map(({ address }) => toHex(address)), parities: parities.map(toHex) });
    open.push(...data);
  }
  return groups;
}

function someOf(length: number, count: number, seed: number): number[] {
  const order = [...Array(length).keys()];
  let state = (seed % 2 ** 31) + 1;
  for (let i = length - 1; i > 0; i--) {
    state = (state * 48_271) % (2 ** 31 - 1);
    const j = state % (i + 1);
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }
  return order.slice(0, count);
}

export function damage({ data, parities }: Group, store: ChunkMap, losses: number, seed: number): string[] {
  const all = [...data, ...parities];
  const lost = someOf(all.length, losses, seed).map((place) => all[place] as string);
  for (const address of lost) store.chunks.delete(address);
  return lost;
}

function chunkIn(store: ChunkMap, address: string): Chunk {
  const chunk = store.chunks.get(address);
  if (chunk === undefined) throw new Error(`chunk ${address} is lost already`);
  return chunk;
}
