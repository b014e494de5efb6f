/**
 * Hashes and signatures computed beside the node's own thread. A platform offers them where it can; whoever asks
 * is told each time whether they are worth it now, and otherwise computes by itself.
 */

export interface WorkerOptions {
  /** `auto`: as many as there are idle cores, at most two, while there is enough to do. Otherwise always so many. */
  readonly threads: number | 'auto';
  /** secp256k1 scalar of the node, 32 bytes. */
  readonly privateKey: Uint8Array;
}

/** Results are the same as without, and never missing: what a thread cannot do is done in its place. */
export interface Workers {
  /** Threads that take work now. */
  readonly running: number;
  /**
   * Counts work that is about to be done. @param operations hashes of chunks, or signatures @returns whether it
   * should be handed over
   */
  takes(operations: number): boolean;
  /** Addresses of content-addressed chunks, 32 bytes each, in order. @param chunks span ‖ payload, unchanged until then */
  addresses(chunks: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
  /** EIP-191 signature by the node's key, 65 bytes. @param digest 32 bytes */
  sign(digest: Uint8Array): Promise<Uint8Array>;
  /** Ends the threads. Running calls still settle. */
  stop(): Promise<void>;
}
