/** Peers that failed for a chunk are not asked for it for a while. `p2p-protocols.md` 4.8, 4.9. */
import type { Clock } from '../../formats/clock.ts';

/** Oldest forgotten first; about 2 MB when full. */
const CHUNKS_MAX = 10_000;

export class SkipList {
  readonly #clock: Clock;
  readonly #durationMs: number;
  /** Chunk, in order of addition → peer → end of its skip, monotonic. */
  readonly #peersOf = new Map<string, Map<string, number>>();

  constructor(options: { durationMs: number }, deps: { clock: Clock }) {
    this.#durationMs = options.durationMs;
    this.#clock = deps.clock;
  }

  /** @param chunk,peer hex */
  add(chunk: string, peer: string): void {
    let peers = this.#peersOf.get(chunk);
    if (peers === undefined) {
      if (this.#peersOf.size >= CHUNKS_MAX) this.#forgetOldest();
      peers = new Map();
      this.#peersOf.set(chunk, peers);
    }
    peers.set(peer, this.#clock.monotonic() + this.#durationMs);
  }

  /** A new set, owned by the caller. */
  peers(chunk: string): Set<string> {
    const peers = this.#peersOf.get(chunk);
    if (peers === undefined) return new Set();
    const now = this.#clock.monotonic();
    for (const [peer, until] of peers) if (until <= now) peers.delete(peer);
    if (peers.size === 0) this.#peersOf.delete(chunk);
    return new Set(peers.keys());
  }

  forget(chunk: string): void {
    this.#peersOf.delete(chunk);
  }

  #forgetOldest(): void {
    for (const chunk of this.#peersOf.keys()) {
      this.#peersOf.delete(chunk);
      return;
    }
  }
}
