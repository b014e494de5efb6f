/** Verified by one node of this process, shared with its other nodes: see `formats/shared-results.ts`. */
import { SharedResults } from '../shared-results.ts';
import type { Chunk } from './chunk.ts';

const KINDS = { cac: 0, soc: 1 } as const;

/** @param address 32 bytes @returns the chunk, made of the given bytes; undefined: not verified yet */
export function sharedChunk(address: Uint8Array, data: Uint8Array): Chunk | undefined {
  const found = SharedResults.current()?.chunks.find(address, data);
  if (found === undefined) return undefined;
  if (found[0] === KINDS.cac) return { address, data, kind: 'cac', identity: address };
  return { address, data, kind: 'soc', identity: found.subarray(1) };
}

export function shareChunk({ address, data, kind, identity }: Chunk): void {
  const shared = SharedResults.current()?.chunks;
  if (shared === undefined) return;
  const result = new Uint8Array(1 + identity.length);
  result[0] = KINDS[kind];
  result.set(identity, 1);
  shared.put(address, data, result);
}
