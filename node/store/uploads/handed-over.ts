/**
 * Chunks that just left the upload store because a peer holds them. A reader may ask the peer before the push
 * arrives, and this node after its receipt, and hear twice that there is no such chunk. So they can still be
 * read, but the node does not count as holding them.
 */
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';

/** At most four megabytes of memory: seconds of a fast upload, where a reader needs a fraction of one. */
const CHUNKS_MAX = 1024;
/** Longer than a reader that waits for credit takes from one peer to the next, ms. */
const KEPT_MS = 10_000;

interface Kept {
  readonly chunk: Chunk;
  /** 32 bytes. */
  readonly batchId: Uint8Array;
  /** Monotonic milliseconds. */
  readonly until: number;
}

export class HandedOver {
  readonly #clock: Clock;
  /** By hex address, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param batchId of the stamp under which it was pushed, 32 bytes */
  add(chunk: Chunk, batchId: Uint8Array): void {
    const now = this.#clock.monotonic();
    const id = toHex(chunk.address);
    this.#kept.delete(id);
    this.#kept.set(id, { chunk: alone(chunk), batchId: own(batchId), until: now + KEPT_MS });
    for (const [oldest, { until }] of this.#kept) {
      if (until > now && this.#kept.size <= CHUNKS_MAX) return;
      this.#kept.delete(oldest);
    }
  }

  get(address: Uint8Array): Chunk | undefined {
    const kept = this.#kept.get(toHex(address));
    return kept !== undefined && kept.until > this.#clock.monotonic() ? kept.chunk : undefined;
  }

  /** Forgets chunks whose batches are gone: other nodes drop them too. */
  forget(isGone: (batchId: Uint8Array) => boolean): void {
    for (const [id, { batchId }] of this.#kept) if (isGone(batchId)) this.#kept.delete(id);
  }
}

/** What is read one after another shares memory: keeping one chunk, or its address, would keep all of them. */
function alone({ kind, address, data, identity }: Chunk): Chunk {
  return { kind, address: own(address), data: own(data), identity: own(identity) };
}

function own(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > 2 * bytes.length ? new Uint8Array(bytes) : bytes;
}
