import { expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../formats/chunk/soc.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { createNetstore } from '../../../node/files/netstore.ts';

const local = makeCac(1n, Uint8Array.of(1));
const remote = makeCac(1n, Uint8Array.of(2));

const id = new Uint8Array(32).fill(1);
const owner = createSigner(new Uint8Array(32).fill(2));
const older = signSoc(id, local.data, owner);
const newer = signSoc(id, remote.data, owner);

/** @param has where the single-owner chunk's versions are: in the store and on the network */
function network(has: { held?: Chunk; alone?: boolean; there?: Chunk } = {}) {
  const { held, alone = true, there } = has;
  const of = (known: readonly (Chunk | undefined)[], address: Uint8Array) =>
    known.find((chunk) => chunk !== undefined && equalBytes(chunk.address, address));
  const cached: Chunk[] = [];
  const signals: AbortSignal[] = [];
  const netstore = createNetstore({
    store: {
      chunks: {
        get: (address) => of([local, held], address),
        has: (address) => of([local, held], address) !== undefined,
        heal: () => undefined,
      },
      cache: {
        put: (chunk) => void cached.push(chunk),
        keepsAlone: () => alone,
        size: () => cached.length,
        capacity: () => 10,
      },
    },
    retrieval: {
      async retrieve(address, { signal }) {
        signals.push(signal);
        const found = of([remote, there], address);
        if (found === undefined) throw new ChunkNotFoundError('unknown');
        return found;
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

test.each([
  ['with the cache its copy is the answer', { cache: true, alone: true, there: newer }, older, 0],
  ['without it the network is asked for a later one', { cache: false, alone: true, there: newer }, newer, 1],
  ['the copy is the answer when the network has none', { cache: false, alone: true }, older, 1],
  ['what the node keeps for others is the answer', { cache: false, alone: false, there: newer }, older, 0],
] as const)('of a single-owner chunk %s', async (_what, { cache, ...has }, answer, asked) => {
  const { netstore, cached, signals } = network({ held: older, ...has });
  expect(await netstore.getter({ cache }).get(older.address)).toBe(answer);
  expect(signals).toHaveLength(asked);
  expect(cached).toEqual([]);
});

test('a chunk that its address describes is never asked of the network again', async () => {
  const { netstore, signals } = network();
  expect(await netstore.getter({ cache: false }).get(local.address)).toBe(local);
  expect(signals).toHaveLength(0);
});

test('a client that leaves is not answered from the cache', async () => {
  const { netstore } = network({ held: older });
  const gone = AbortSignal.abort(new Error('gone'));
  await expect(netstore.getter({ cache: false }).get(older.address, gone)).rejects.toThrow('unknown');
});
