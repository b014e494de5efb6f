import { expect, test } from 'vitest';
import { makeCac } from '../../../node/chunk/cac.ts';
import { type Chunk, ChunkNotFoundError } from '../../../node/chunk/chunk.ts';
import { equalBytes } from '../../../node/crypto/hex.ts';
import { createNetstore } from '../../../node/files/netstore.ts';

const local = makeCac(1n, Uint8Array.of(1));
const remote = makeCac(1n, Uint8Array.of(2));

function network() {
  const cached: Chunk[] = [];
  const signals: AbortSignal[] = [];
  const netstore = createNetstore({
    store: {
      chunks: {
        get: (address) => (equalBytes(address, local.address) ? local : undefined),
        has: (address) => equalBytes(address, local.address),
        heal: () => undefined,
      },
      cache: { put: (chunk) => void cached.push(chunk), size: () => cached.length, capacity: () => 10 },
    },
    retrieval: {
      async retrieve(address, { signal }) {
        signals.push(signal);
        if (!equalBytes(address, remote.address)) throw new ChunkNotFoundError('unknown');
        return remote;
      },
    },
  });
  return { netstore, cached, signals };
}

test('a chunk of the local store is neither requested from the network nor cached', async () => {
  const { netstore, cached, signals } = network();
  expect(await netstore.getter({ cache: true }).get(local.address)).toBe(local);
  expect(signals).toHaveLength(0);
  expect(cached).toHaveLength(0);
});

test.each([
  { cache: true, kept: [remote] },
  { cache: false, kept: [] },
])('a chunk of the network is kept with cache=$cache: $kept.length', async ({ cache, kept }) => {
  const { netstore, cached } = network();
  expect(await netstore.getter({ cache }).get(remote.address)).toBe(remote);
  expect(cached).toEqual(kept);
});

test('the signal is passed to the network, and its errors to the caller', async () => {
  const { netstore, signals } = network();
  const { signal } = new AbortController();
  const get = netstore.getter({ cache: true }).get(new Uint8Array(32), signal);
  await expect(get).rejects.toBeInstanceOf(ChunkNotFoundError);
  expect(signals).toEqual([signal]);
});
