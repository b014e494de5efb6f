/** Hashes and signatures beside the main thread. `offer` says whether that pays now; if not, the caller computes. */

export interface WorkerOptions {
  /** So many while uploads are fast. `auto`: one, while half a core is idle. */
  readonly threads: number | 'auto';
  /** secp256k1 scalar, 32 bytes. */
  readonly privateKey: Uint8Array;
}

/** Results never differ, nor miss: what a thread cannot do is done here. */
export interface Workers {
  readonly running: number;
  /**
   * Counts work, and starts threads for much of it. @param operations hashes of chunks, or signatures @returns whether to
   * hand them over
   */
  offer(operations: number): boolean;
  /** 32 bytes each, in order. @param chunks span ‖ payload, not to be changed until the result */
  addresses(chunks: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
  /** EIP-191 by the node's key, 65 bytes. @param digest 32 bytes */
  sign(digest: Uint8Array): Promise<Uint8Array>;
  /** Running calls still settle. */
  stop(): Promise<void>;
}
