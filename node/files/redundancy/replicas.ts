/**
 * Dispersed replicas: redundant content's root chunk, stored again as single-owner chunks all over the address space.
 * `data-formats.md` 3.6. Vectors: test/vectors/redundancy.json
 */
import { cacFromData } from '../../../formats/chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk, type ChunkGetter, SPAN_SIZE } from '../../../formats/chunk/chunk.ts';
import { signSoc, socAddress, socParts } from '../../../formats/chunk/soc.ts';
import type { Clock } from '../../../formats/clock.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import type { RedundancyLevel } from './redundancy.ts';

/** Everyone's: a replica's id proves what it wraps. */
const OWNER = createSigner(new Uint8Array(32).fill(1, 0, 1));
const IDS_MAX = 255;
const NEXT_BATCH_MS = 300;
/** One made anew costs more than a read's other work here. */
const OVER = new DOMException('the search for the chunk is over', 'AbortError');

interface Replica {
  readonly id: Uint8Array;
  readonly address: Uint8Array;
}

/** 0, 2, 4, 8, 16. */
function replicaCount(level: RedundancyLevel): number {
  return level === 0 ? 0 : 1 << level;
}

/**
 * In the order in which they are stored and requested. The first 2, 4, 8 and 16 addresses are spread evenly over the leading
 * bits.
 */
export function replicasOf(address: Uint8Array, level: RedundancyLevel): Replica[] {
  const count = replicaCount(level);
  const slots: Replica[] = [];
  /** By number of bits: prefixes seen, and the next slot. */
  const seen = new Set<string>();
  const nextSlot = [0, 0, 2, 4, 8];
  for (let first = 0, found = 0; first < IDS_MAX && found < count; first++) {
    const replica = replicaAt(address, first);
    const shortest = shortestNewPrefix(replica.address[0] as number, level, seen);
    if (shortest === 0) continue;
    slots[(nextSlot[shortest] as number)++] = replica;
    found += 1;
  }
  // No id fills it once in a million addresses.
  const gap = slots.findIndex((replica) => replica === undefined);
  return gap === -1 ? slots : slots.slice(0, gap);
}

/** Each wraps the chunk padded to its full size. */
export function* makeReplicas(root: Chunk, level: RedundancyLevel): Generator<Chunk, void, void> {
  const data = new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE);
  data.set(root.data);
  for (const { id } of replicasOf(root.address, level)) yield signSoc(id, data, OWNER);
}

interface ReplicatedDeps {
  readonly getter: ChunkGetter;
  readonly clock: Clock;
  /** Called for a chunk that only a replica had. */
  readonly keep: (chunk: Chunk) => void;
}

/**
 * The chunk, or the first replica found. Replicas wait until the chunk fails or 300 ms have passed, because most content has
 * none, and missing chunks cost most. Then 2, 2, 4 and 8 are asked for, after that pause or all failures.
 * @throws the error of the search for the chunk itself; the signal's reason
 */
export async function getReplicated(
  address: Uint8Array,
  level: RedundancyLevel,
  { getter, clock, keep }: ReplicatedDeps,
  signal: AbortSignal | undefined,
): Promise<Chunk> {
  const over = new AbortController();
  const ended = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  const original = () => getter.get(address, ended);
  const replicas = function* () {
    for (const replica of replicasOf(address, level))
      yield async () => {
        const chunk = unwrapped(await getter.get(replica.address, ended), address);
        keep(chunk);
        return chunk;
      };
  };
  try {
    return await firstOf(original, replicas(), { clock, signal: ended });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    over.abort(OVER);
  }
}

type Attempt = () => Promise<Chunk>;

/** @throws the error of the first attempt */
function firstOf(
  original: Attempt,
  others: Iterator<Attempt>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Chunk> {
  const { promise, resolve, reject } = Promise.withResolvers<Chunk>();
  let open = 0;
  let asked = 0;
  let failure: unknown;
  let pause: Disposable | undefined;
  /** Never rejects. */
  const start = async (attempt: Attempt, isOriginal: boolean) => {
    open += 1;
    try {
      resolve(await attempt());
      pause?.[Symbol.dispose]();
    } catch (error) {
      if (isOriginal) failure = error;
      open -= 1;
      if (open === 0) nextBatch();
    }
  };
  const nextBatch = () => {
    pause?.[Symbol.dispose]();
    // Doubles what was requested; at first two.
    const target = asked + Math.max(2, asked);
    let isLast = signal.aborted;
    while (asked < target && !isLast) {
      const next = others.next();
      if (next.done === true) isLast = true;
      else {
        asked += 1;
        void start(next.value, false);
      }
    }
    if (open === 0) reject(failure);
    else if (!isLast) pause = clock.timer(NEXT_BATCH_MS, nextBatch);
  };
  void start(original, true);
  pause = clock.timer(NEXT_BATCH_MS, nextBatch);
  return promise;
}

/** @throws Error when another chunk's id ends like the wanted one's */
function unwrapped(replica: Chunk, address: Uint8Array): Chunk {
  const chunk = cacFromData(socParts(replica.data).wrapped);
  if (!equalBytes(chunk.address, address)) throw new Error('the replica of another chunk');
  return chunk;
}

function replicaAt(address: Uint8Array, first: number): Replica {
  const id = new Uint8Array(address);
  id[0] = first;
  return { id, address: socAddress(id, OWNER.address) };
}

/** Notes all prefixes of up to `level` bits. @returns bits of the shortest new one, 0 when none is new */
function shortestNewPrefix(firstByte: number, level: RedundancyLevel, seen: Set<string>): number {
  let shortest = 0;
  for (let bits: number = level; bits > 0; bits--) {
    const prefix = `${bits} ${firstByte >> (8 - bits)}`;
    if (seen.has(prefix)) break;
    seen.add(prefix);
    shortest = bits;
  }
  return shortest;
}
