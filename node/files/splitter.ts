/**
 * Cuts a stream into a tree of chunks. Memory: a chunk buffer per level (with redundancy a run), leaves with workers, chunks
 * not taken. `data-formats.md` 2.1, 2.3, 3.3 to 3.6.
 */
import { cacFromData, cacWithAddress } from '../../formats/chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk, type ChunkPutter, SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { encodeSpan } from '../../formats/chunk/span.ts';
import { encodeParities } from '../../formats/crypto/erasure/erasure.ts';
import { InFlight } from '../env/turns/in-flight.ts';
import { type Encryption, encryptChunk } from './encryption.ts';
import { interruptible } from './interruptible.ts';
import {
  markLevel,
  parityCount,
  type RedundancyLevel,
  referenceSize,
  shardsMax,
  type TreeShape,
} from './redundancy/redundancy.ts';
import { makeReplicas } from './redundancy/replicas.ts';

/** As many as a node pushes at once, half a megabyte. */
const IN_FLIGHT_CHUNKS = 128;
/**
 * By workers, while as many are cut. Twice the size costs a node 20 to 40 MiB. Only while leaves come fast, so that none
 * waits long.
 */
const HASHED_AT_ONCE = 32;

/** How content is stored. */
export interface SplitOptions {
  /** Absent: the chunks are stored as they are. */
  readonly encryption?: Encryption | undefined;
  /** Default 0: no parities, no replicas. */
  readonly level?: RedundancyLevel;
  /** Awaited before each file of a collection and each node of a manifest, so that other work gets its turn. */
  readonly pace?: (() => Promise<void> | undefined) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Hash the leaves of unencrypted content when `offer` says so. Absent: the caller's thread hashes everything. */
  readonly workers?:
    | {
        offer(operations: number): boolean;
        addresses(chunks: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
      }
    | undefined;
}

/** Reference: 32 bytes, 64 if encrypted. `length`: bytes of content. */
export interface SplitResult {
  /** Address of the root chunk, 32 bytes; for encrypted content, followed by its key. */
  readonly reference: Uint8Array;
  readonly length: bigint;
  /** Every chunk given to the putter, duplicates included. */
  readonly chunks: number;
}

/**
 * Stores the stream. A yielded part is copied before the next is requested. Rejects with the first error of source, putter or
 * signal, after every open put. Vectors: test/vectors/file-tree.json, test/vectors/encryption.json,
 * test/vectors/redundancy.json
 */
export async function split(
  source: AsyncIterable<Uint8Array>,
  putter: ChunkPutter,
  options: SplitOptions = {},
): Promise<SplitResult> {
  const { signal } = options;
  const { parts, interrupt } = interruptible(source);
  const inFlight = new InFlight(IN_FLIGHT_CHUNKS, interrupt);
  const tree = new Tree((chunk) => inFlight.add(putter.put(chunk, signal)), options);
  const leaves = new Leaves();
  const { workers, encryption } = options;
  const add = async (leaf: Uint8Array, address: Uint8Array) => {
    if (!inFlight.hasRoom) await inFlight.room();
    tree.add(leaf, address);
  };
  // Encryption changes a leaf's chunk.
  const hashed =
    workers === undefined || encryption !== undefined ? undefined : new LeavesHashedAhead(workers, add);
  const onAbort = () => inFlight.fail(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    for await (const part of parts) {
      for (let offset = 0; offset < part.length; ) {
        if (!inFlight.hasRoom) await inFlight.room();
        offset += leaves.write(part, offset);
        if (!leaves.isFull) continue;
        const isTaken = hashed !== undefined && workers?.offer(1) === true;
        if (hashed !== undefined && (isTaken || hashed.isBusy)) await hashed.add(leaves.take(), isTaken);
        else tree.add(leaves.take());
      }
    }
    await hashed?.flush();
    if (!leaves.isEmpty || tree.isEmpty) tree.add(leaves.take());
    const root = tree.finish();
    await inFlight.done();
    return { reference: root.reference, length: root.span, chunks: tree.chunks };
  } catch (error) {
    await inFlight.idle();
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Content that is already in memory, in the form that `split` reads. */
export async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes;
}

class Leaves {
  #leaf = new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE);
  #filled = 0;

  get isEmpty(): boolean {
    return this.#filled === 0;
  }

  get isFull(): boolean {
    return this.#filled === CHUNK_PAYLOAD_SIZE;
  }

  /** Takes bytes up to the leaf's end. @returns how many */
  write(part: Uint8Array, offset: number): number {
    const taken = Math.min(part.length - offset, CHUNK_PAYLOAD_SIZE - this.#filled);
    this.#leaf.set(part.subarray(offset, offset + taken), SPAN_SIZE + this.#filled);
    this.#filled += taken;
    return taken;
  }

  /** Filled or not; the next one begins. */
  take(): Uint8Array {
    const leaf = this.#leaf.subarray(0, SPAN_SIZE + this.#filled);
    leaf.set(encodeSpan(BigInt(this.#filled)));
    this.#leaf = new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE);
    this.#filled = 0;
    return leaf;
  }
}

interface Hashing {
  readonly leaves: readonly Uint8Array[];
  readonly hashed: Promise<readonly [PromiseSettledResult<readonly Uint8Array[]>]>;
}

type AddLeaf = (leaf: Uint8Array, address: Uint8Array) => Promise<void>;

/** In order: workers hash some while the next are cut. */
class LeavesHashedAhead {
  readonly #workers: NonNullable<SplitOptions['workers']>;
  readonly #add: AddLeaf;
  #cut: Uint8Array[] = [];
  #hashing: Hashing | undefined;

  constructor(workers: NonNullable<SplitOptions['workers']>, add: AddLeaf) {
    this.#workers = workers;
    this.#add = add;
  }

  get isBusy(): boolean {
    return this.#cut.length > 0 || this.#hashing !== undefined;
  }

  /** @param isTaken by the workers; if not, all are awaited */
  async add(leaf: Uint8Array, isTaken: boolean): Promise<void> {
    this.#cut.push(leaf);
    if (!isTaken) await this.flush();
    else if (this.#cut.length === HASHED_AT_ONCE) await this.#hash();
  }

  async flush(): Promise<void> {
    if (this.#cut.length > 0) await this.#hash();
    const last = this.#hashing;
    this.#hashing = undefined;
    await this.#addHashed(last);
  }

  /** Also adds what was handed over before. */
  async #hash(): Promise<void> {
    const before = this.#hashing;
    const leaves = this.#cut;
    this.#cut = [];
    // Never read if the split fails.
    const hashed = Promise.allSettled([this.#workers.addresses(leaves)]);
    this.#hashing = { leaves, hashed };
    await this.#addHashed(before);
  }

  async #addHashed(hashing: Hashing | undefined): Promise<void> {
    if (hashing === undefined) return;
    const { leaves, hashed } = hashing;
    const [outcome] = await hashed;
    if (outcome.status === 'rejected') throw outcome.reason;
    for (const [i, address] of outcome.value.entries()) await this.#add(leaves[i] as Uint8Array, address);
  }
}

interface Level {
  /** Span (written at the wrap) and references. */
  data: Uint8Array;
  count: number;
  span: bigint;
  /** The newest; moves up unwrapped if it stays alone. */
  last: Child | undefined;
  shards: Uint8Array[];
}

interface Child {
  readonly reference: Uint8Array;
  readonly span: bigint;
  readonly stored: Chunk;
}

/** One open run per level above the leaves. A span is below 2^64, so eight levels suffice. */
class Tree {
  chunks = 0;
  readonly #emit: (chunk: Chunk) => void;
  readonly #encryption: Encryption | undefined;
  readonly #shape: TreeShape;
  readonly #shardsMax: number;
  readonly #referenceSize: number;
  readonly #levels: Level[] = [];

  constructor(emit: (chunk: Chunk) => void, { encryption, level = 0 }: SplitOptions) {
    this.#emit = emit;
    this.#encryption = encryption;
    this.#shape = { level, encrypted: encryption !== undefined };
    this.#shardsMax = shardsMax(this.#shape);
    this.#referenceSize = referenceSize(this.#shape);
  }

  get isEmpty(): boolean {
    return this.#levels.length === 0;
  }

  /** @param leaf kept unless encrypted @param address if known */
  add(leaf: Uint8Array, address?: Uint8Array): void {
    const span = BigInt(leaf.length - SPAN_SIZE);
    this.#add(
      0,
      address === undefined ? this.#close(leaf, span) : this.#child(cacWithAddress(leaf, address), span),
    );
  }

  /** @returns the root, whose replicas have also been emitted */
  finish(): Child {
    const root = this.#wrapUp();
    for (const replica of makeReplicas(root.stored, this.#shape.level)) this.#take(replica);
    return root;
  }

  /** Level by level. A single reference moves up unwrapped. */
  #wrapUp(): Child {
    for (let height = 0; ; height++) {
      const level = this.#levels[height] as Level;
      const isTop = height === this.#levels.length - 1;
      if (level.count === 1) {
        if (isTop) return level.last as Child;
        this.#add(height + 1, level.last as Child);
      } else if (level.count > 1) this.#wrap(height);
    }
  }

  #add(height: number, child: Child): void {
    const level = (this.#levels[height] ??= emptyLevel());
    level.data.set(child.reference, SPAN_SIZE + level.count * this.#referenceSize);
    level.count += 1;
    level.span += child.span;
    level.last = child;
    if (this.#shape.level > 0) level.shards.push(child.stored.data);
    if (level.count === this.#shardsMax) this.#wrap(height);
  }

  #wrap(height: number): void {
    const { data, count, span, shards } = this.#levels[height] as Level;
    let length = SPAN_SIZE + count * this.#referenceSize;
    if (this.#shape.level > 0)
      for (const parity of encodeParities(shards, parityCount(count, this.#shape))) {
        const { address } = this.#take(cacFromData(parity));
        data.set(address, length);
        length += address.length;
      }
    const plain = data.subarray(0, length);
    plain.set(encodeSpan(span));
    markLevel(plain, this.#shape.level);
    const chunk = this.#close(plain, span);
    this.#levels[height] = emptyLevel();
    this.#add(height + 1, chunk);
  }

  /** @param plain kept unless encrypted */
  #close(plain: Uint8Array, span: bigint): Child {
    if (this.#encryption === undefined) return this.#child(cacFromData(plain), span);
    const { data, key } = encryptChunk(plain, this.#encryption);
    const stored = this.#take(cacFromData(data));
    return { reference: Buffer.concat([stored.address, key]), span, stored };
  }

  #child(chunk: Chunk, span: bigint): Child {
    const stored = this.#take(chunk);
    return { reference: stored.address, span, stored };
  }

  #take(chunk: Chunk): Chunk {
    this.chunks += 1;
    this.#emit(chunk);
    return chunk;
  }
}

function emptyLevel(): Level {
  return {
    data: new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE),
    count: 0,
    span: 0n,
    last: undefined,
    shards: [],
  };
}
