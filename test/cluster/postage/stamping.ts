import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { systemClock } from '../../../formats/clock.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { BatchIssuer } from '../../../node/postage/issuer.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';

/** The same batch however often it is opened, with two buckets so that counters matter. */
export async function openIssuer(path: string): Promise<{ issuer: BatchIssuer; store: LocalStore }> {
  const clock = systemClock();
  const log = silentLogger();
  const options = { path, cacheCapacity: 0, reserveCapacity: 1000, radius: 0 };
  const store = await openLmdbStore(options, { clock, log, overlay: new Uint8Array(32) });
  const signer = createSigner(keccak256(Buffer.from('stamping')));
  const terms = { label: '', amount: 1n, depth: 31, bucketDepth: 1, blockNumber: 1, immutable: true };
  const state = store.state('postage');
  const issuer = new BatchIssuer({ ...terms, batchId: new Uint8Array(32) }, { state, signer, clock, log });
  return { issuer, store };
}

export function chunkOf(text: string): Chunk {
  return makeCac(BigInt(text.length), Buffer.from(text));
}
