/**
 * Chunks just taken by a peer. A reader may ask that peer too early, and this node too late, and hear twice that there is
 * none. So they can still be read, though the node does not count as holding them.
 */
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';

/** Four megabytes: seconds of a fast upload. */
const CHUNKS_MAX = 1024;
/** Longer than a reader waits for credit between two peers. */
const KEPT_MS = 10_000;

interface Kept {
  readonly chunk: Chunk;
  /** 32 bytes. */
  readonly batchId: Uint8Array;
  /** Monotonic ms. */
  readonly until: number;
}

export class HandedOver {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param batchId of its stamp, 32 bytes */
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

  /** Other nodes drop them too. */
  forget(isGone: (batchId: Uint8Array) => boolean): void {
    for (const [id, { batchId }] of this.#kept) if (isGone(batchId)) this.#kept.delete(id);
  }
}

/** Chunks read together share memory, which each of them would keep. */
function alone({ kind, address, data, identity }: Chunk): Chunk {
  return { kind, address: own(address), data: own(data), identity: own(identity) };
}

function own(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > 2 * bytes.length ? new Uint8Array(bytes) : bytes;
}
