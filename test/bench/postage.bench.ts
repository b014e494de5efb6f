/** What a stamp costs: issuing (slot, signature, records on disk) and checking. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Chunk } from '../../formats/chunk/chunk.ts';
import { type Stamp, stampDigest } from '../../formats/chunk/stamp.ts';
import { systemClock } from '../../formats/clock.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { createSigner, type Signer } from '../../formats/crypto/signer.ts';
import { silentLogger } from '../../node/env/logger.ts';
import { BatchIssuer } from '../../node/postage/issuer.ts';
import { validateStamp } from '../../node/postage/validation.ts';
import { openLmdbStore } from '../../node/store/lmdb-store.ts';
import type { KeyValueStore } from '../../node/store/ports.ts';
import type { BenchResult } from './result.ts';

export const name = 'postage: stamps';

const CHUNKS = 4_000;
/** The best counts: other processes only ever make a round slower. */
const ROUNDS = 6;
/** Uploads yield to the store at about this many chunks. */
const GROUP = 128;

export async function run(): Promise<BenchResult[]> {
  const clock = systemClock();
  const log = silentLogger();
  const signer = createSigner(keccak256(Buffer.from('bench')));
  const chunks = Array.from({ length: CHUNKS }, (_, n) => chunkOf(n));
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const store = await openLmdbStore(
    { path: folder, cacheCapacity: 0, reserveCapacity: 1000, radius: 0 },
    { clock, log, overlay: new Uint8Array(32) },
  );
  const issuer = (batch: number, state: KeyValueStore, by: Pick<Signer, 'sign'> = signer) =>
    new BatchIssuer(
      { ...RECORD, batchId: new Uint8Array(32).fill(batch) },
      { state, signer: by, clock, log },
    );
  const disk = store.state('postage');
  const stamping = issuer(1, nowhere);
  const stamps = chunks.map((chunk) => stamping.stamp(chunk));
  try {
    const digest = await best(() =>
      each(chunks, ({ address }) => stampDigest(address, address, INDEX, INDEX)),
    );
    const sign = await best(() =>
      each(chunks, ({ address }) => signer.sign(stampDigest(address, address, INDEX, INDEX))),
    );
    const unsignedStamp = await best((round) => stampAll(issuer(round, nowhere, unsigned), chunks));
    const issued = await best((round) => stampAll(issuer(round, nowhere), chunks));
    const committed = await best((round) => stampAll(issuer(round, disk), chunks));
    const again = await best((round) => stampAll(issuer(round, disk), chunks));
    const validated = await best(() => validateAll(chunks, stamps, signer.address));
    const row = (label: string, value: number): BenchResult => ({
      name: label,
      value,
      unit: 'µs',
      ratio: value / sign,
      baseline: 'digest and signature',
    });
    return [
      { name: 'digest and signature', value: sign, unit: 'µs' },
      row('bookkeeping: issue a stamp without them and without disk', unsignedStamp - digest),
      row('issue a stamp, without disk', issued),
      row('issue a stamp, committed', committed),
      row('issue it again after a restart, committed', again),
      row('validate a stamp', validated),
    ];
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
}

const RECORD = { label: '', amount: 1n, depth: 24, bucketDepth: 16, blockNumber: 1, immutable: true };
const INDEX = new Uint8Array(8);
const SIGNATURE = new Uint8Array(65);
const unsigned = { sign: () => SIGNATURE };
const nowhere: KeyValueStore = {
  get: () => undefined,
  put: () => Promise.resolve(),
  remove: () => Promise.resolve(),
  batch: () => Promise.resolve(),
  entries: () => [],
};

function chunkOf(n: number): Chunk {
  const address = keccak256(new Uint8Array(new Uint32Array([n]).buffer));
  return { address, data: new Uint8Array(8), kind: 'cac', identity: address };
}

/** @returns µs per chunk */
async function best(round: (n: number) => void | Promise<void>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let n = 1; n <= ROUNDS; n++) {
    const startedAt = performance.now();
    await round(n);
    shortest = Math.min(shortest, performance.now() - startedAt);
  }
  return (shortest * 1000) / CHUNKS;
}

function each(chunks: readonly Chunk[], work: (chunk: Chunk) => unknown): void {
  for (const chunk of chunks) work(chunk);
}

async function stampAll(issuer: BatchIssuer, chunks: readonly Chunk[]): Promise<void> {
  for (let at = 0; at < chunks.length; at += GROUP) {
    for (const chunk of chunks.slice(at, at + GROUP)) issuer.stamp(chunk);
    await new Promise(setImmediate);
  }
}

function validateAll(chunks: readonly Chunk[], stamps: readonly Stamp[], owner: Uint8Array): void {
  for (const [n, chunk] of chunks.entries()) {
    const stamp = stamps[n];
    if (stamp === undefined) continue;
    validateStamp(chunk.address, stamp, { ...RECORD, id: stamp.batchId, value: 1n, start: 1, owner });
  }
}
