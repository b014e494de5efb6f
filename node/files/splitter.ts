/**
 * Cuts a byte stream into a tree of content-addressed chunks. Memory is one chunk buffer per level plus the
 * chunks that the putter has not taken yet, whatever the length of the stream. Specification: data formats 2.1, 2.3.
 */
import { cacFromData } from '../chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk, type ChunkPutter, SPAN_SIZE } from '../chunk/chunk.ts';
import { type Encryption, encryptChunk } from './encryption.ts';
import { InFlight } from './in-flight.ts';
import { interruptible } from './interruptible.ts';
import { referenceSize, shardsMax, type TreeShape } from './redundancy.ts';

/**
 * Leaves given to the putter and not taken yet, and with the last of them the chunks that it completes, one per
 * level. As many as a node pushes at once; half a megabyte.
 */
const IN_FLIGHT_CHUNKS = 128;

export interface SplitOptions {
  /** Absent: the chunks are stored as they are. */
  readonly encryption?: Encryption | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SplitResult {
  /** Address of the root chunk, 32 bytes; of encrypted content, its key behind it. */
  readonly reference: Uint8Array;
  readonly length: bigint;
  /** Every chunk given to the putter, duplicates included. */
  readonly chunks: number;
}

/**
 * Stores the stream. The bytes of a yielded part are copied before the next part is asked for.
 * Rejects with the first error of the source, the putter or the signal, after every open put has ended.
 * Vectors: test/vectors/file-tree.json, test/vectors/encryption.json
 */
export async function split(
  source: AsyncIterable<Uint8Array>,
  putter: ChunkPutter,
  options: SplitOptions = {},
): Promise<SplitResult> {
  const { signal } = options;
  const { parts, interrupt } = interruptible(source);
  const inFlight = new InFlight(IN_FLIGHT_CHUNKS, interrupt);
  const tree = new Tree((chunk) => inFlight.add(putter.put(chunk, signal)), options.encryption);
  const onAbort = () => inFlight.fail(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    for await (const part of parts) {
      for (let offset = 0; offset < part.length; ) {
        if (!inFlight.hasRoom) await inFlight.room();
        offset += tree.write(part, offset);
      }
    }
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

/** One run of references that is being filled. */
interface Level {
  /** Span (written when the run is wrapped) and references, the buffer of the chunk to be. */
  data: Uint8Array;
  count: number;
  /** Sum of the children's spans. */
  span: bigint;
}

/** A chunk as the level above it sees it. */
interface Child {
  readonly reference: Uint8Array;
  readonly span: bigint;
}

/**
 * The tree under construction: a leaf buffer and one open run per level above it. A span is below 2^64, so there
 * are never more than the eight levels that a tree may have.
 */
class Tree {
  chunks = 0;
  readonly #emit: (chunk: Chunk) => void;
  readonly #encryption: Encryption | undefined;
  readonly #shardsMax: number;
  readonly #referenceSize: number;
  readonly #levels: Level[] = [];
  #leaf = new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE);
  #filled = 0;

  constructor(emit: (chunk: Chunk) => void, encryption: Encryption | undefined) {
    const shape: TreeShape = { level: 0, encrypted: encryption !== undefined };
    this.#emit = emit;
    this.#encryption = encryption;
    this.#shardsMax = shardsMax(shape);
    this.#referenceSize = referenceSize(shape);
  }

  /** Takes bytes of `part` from `offset` up to the end of the current leaf; returns how many. */
  write(part: Uint8Array, offset: number): number {
    const taken = Math.min(part.length - offset, CHUNK_PAYLOAD_SIZE - this.#filled);
    this.#leaf.set(part.subarray(offset, offset + taken), SPAN_SIZE + this.#filled);
    this.#filled += taken;
    if (this.#filled === CHUNK_PAYLOAD_SIZE) {
      this.#closeLeaf();
      this.#leaf = new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE);
    }
    return taken;
  }

  /** Wraps what is open, level by level. A run of a single reference is not wrapped: it moves up as it is. */
  finish(): Child {
    if (this.#filled > 0 || this.#levels.length === 0) this.#closeLeaf();
    for (let height = 0; ; height++) {
      const level = this.#levels[height] as Level;
      const isTop = height === this.#levels.length - 1;
      if (level.count === 1) {
        const carrier = { reference: this.#firstReference(level), span: level.span };
        if (isTop) return carrier;
        this.#add(height + 1, carrier);
      } else if (level.count > 1) this.#wrap(height);
    }
  }

  #closeLeaf(): void {
    const leaf = this.#close(this.#leaf, SPAN_SIZE + this.#filled, BigInt(this.#filled));
    this.#filled = 0;
    this.#add(0, leaf);
  }

  #add(height: number, { reference, span }: Child): void {
    const level = (this.#levels[height] ??= emptyLevel());
    level.data.set(reference, SPAN_SIZE + level.count * this.#referenceSize);
    level.count += 1;
    level.span += span;
    if (level.count === this.#shardsMax) this.#wrap(height);
  }

  /** Turns the open run of a level into a chunk and hands its reference to the level above. */
  #wrap(height: number): void {
    const { data, count, span } = this.#levels[height] as Level;
    const chunk = this.#close(data, SPAN_SIZE + count * this.#referenceSize, span);
    this.#levels[height] = emptyLevel();
    this.#add(height + 1, chunk);
  }

  /** Makes and emits the chunk of the first `length` bytes of `buffer`, in which its span is still to be written. */
  #close(buffer: Uint8Array, length: number, span: bigint): Child {
    new DataView(buffer.buffer).setBigUint64(0, span, true);
    const plain = buffer.subarray(0, length);
    if (this.#encryption === undefined) return { reference: this.#store(plain), span };
    const { data, key } = encryptChunk(plain, this.#encryption);
    return { reference: Buffer.concat([this.#store(data), key]), span };
  }

  /** @returns the address */
  #store(data: Uint8Array): Uint8Array {
    const chunk = cacFromData(data);
    this.chunks += 1;
    this.#emit(chunk);
    return chunk.address;
  }

  #firstReference(level: Level): Uint8Array {
    return level.data.slice(SPAN_SIZE, SPAN_SIZE + this.#referenceSize);
  }
}

function emptyLevel(): Level {
  return { data: new Uint8Array(SPAN_SIZE + CHUNK_PAYLOAD_SIZE), count: 0, span: 0n };
}
