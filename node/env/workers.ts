/**
 * Hashes and signatures computed beside the node's own thread. `offer` says whether handing work over pays now; if not,
 * the caller computes by itself.
 */

export interface WorkerOptions {
  /**
   * A number: so many threads while uploads are fast. `auto`: one, and only while half a core of the machine is idle.
   */
  readonly threads: number | 'auto';
  /** secp256k1 scalar of the node, 32 bytes. */
  readonly privateKey: Uint8Array;
}

/** Results are the same as without, and never missing: what a thread cannot do is done in its place. */
export interface Workers {
  /** Threads that take work now. */
  readonly running: number;
  /**
   * Counts work that is about to be done, and starts threads when there is much of it.
   * @param operations hashes of chunks, or signatures @returns whether to hand them over
   */
  offer(operations: number): boolean;
  /** Addresses of content-addressed chunks, 32 bytes each, in order. @param chunks span ‖ payload, not changed until the result is there */
  addresses(chunks: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
  /** EIP-191 signature by the node's key, 65 bytes. @param digest 32 bytes */
  sign(digest: Uint8Array): Promise<Uint8Array>;
  /** Ends the threads. Running calls still settle. */
  stop(): Promise<void>;
}
