/**
 * Dispersed replicas: the root chunk of redundant content, stored again as single-owner chunks all over the address
 * space, so that it can be found even if its own neighbourhood has lost it. Specification: `data-formats.md` 3.6.
 * Vectors: test/vectors/redundancy.json
 */
import { cacFromData } from '../../../formats/chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk, type ChunkGetter, SPAN_SIZE } from '../../../formats/chunk/chunk.ts';
import { signSoc, socAddress, socParts } from '../../../formats/chunk/soc.ts';
import type { Clock } from '../../../formats/clock.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import type { RedundancyLevel } from './redundancy.ts';

/** Shared by everyone: a replica is valid because its id names the chunk that it wraps. */
const OWNER = createSigner(new Uint8Array(32).fill(1, 0, 1));
/** Ids differ in one byte. */
const IDS_MAX = 255;
/** Pause before more replicas are requested, milliseconds. */
const NEXT_BATCH_MS = 300;

interface Replica {
  readonly id: Uint8Array;
  readonly address: Uint8Array;
}

/** Replicas of a root by level: 0, 2, 4, 8, 16. */
function replicaCount(level: RedundancyLevel): number {
  return level === 0 ? 0 : 1 << level;
}

/**
 * Ids and addresses in the order in which they are stored and requested. The addresses of the first 2, 4, 8 and 16
 * are spread evenly over the leading bits: half of them differ in the first bit, and so on.
 * @param address of the root chunk, 32 bytes
 */
export function replicasOf(address: Uint8Array, level: RedundancyLevel): Replica[] {
  const count = replicaCount(level);
  const slots: Replica[] = [];
  /** Prefixes seen, as the number of their bits and their value, and the next slot for each number of bits. */
  const seen = new Set<string>();
  const nextSlot = [0, 0, 2, 4, 8];
  for (let first = 0, found = 0; first < IDS_MAX && found < count; first++) {
    const replica = replicaAt(address, first);
    const shortest = shortestNewPrefix(replica.address[0] as number, level, seen);
    if (shortest === 0) continue;
    slots[(nextSlot[shortest] as number)++] = replica;
    found += 1;
  }
  // A slot that no id has filled, once in a million addresses, ends the list.
  const gap = slots.findIndex((replica) => replica === undefined);
  return gap === -1 ? slots : slots.slice(0, gap);
}

/** The replicas of a chunk as they are stored, each wrapping the chunk padded to its full size. */
export function* makeReplicas(root: Chunk, level: RedundancyLevel): Generator<Chunk, void, void> {
  const data = new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE);
  data.set(root.data);
  for (const { id } of replicasOf(root.address, level)) yield signSoc(id, data, OWNER);
}

interface ReplicatedDeps {
  readonly getter: ChunkGetter;
  readonly clock: Clock;
  /** Called with a chunk that only a replica had. */
  readonly keep: (chunk: Chunk) => void;
}

/**
 * A root chunk from wherever it is first found. The network's other nodes ask for two replicas together with the
 * chunk itself; here they wait until it fails or 300 ms have passed, because most content has none, and looking for
 * chunks that no node has costs more than finding one. Then 2, 2, 4 and 8 follow, each batch after that pause or when
 * all before it have failed.
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
    over.abort();
  }
}

type Attempt = () => Promise<Chunk>;

/** @throws the error of the first attempt, when all have failed */
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
    // Each batch doubles the number requested so far; the first one has two.
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

/** @throws Error when another chunk is wrapped, whose id ends like that of the wanted one */
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

/**
 * Notes all prefixes of up to `level` bits; returns the length of the shortest new one in bits, 0 when none is new.
 */
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
