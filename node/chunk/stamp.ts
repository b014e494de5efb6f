/** A postage stamp: what is attached to one chunk. Layout: `data-formats.md` 6.2. */
export interface Stamp {
  /** 32 bytes. */
  readonly batchId: Uint8Array;
  /** 8 bytes: bucket BE4 ‖ index in bucket BE4. */
  readonly index: Uint8Array;
  /** 8 bytes: unix nanoseconds, BE8. */
  readonly timestamp: Uint8Array;
  /** 65 bytes: r ‖ s ‖ v. */
  readonly signature: Uint8Array;
}
