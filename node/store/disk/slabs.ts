/** Memory for what is read from slots. */

/**
 * Bytes shared by successive chunks: 30 of the longest. The C library maps blocks of this size apart and returns
 * them; smaller ones would leave holes.
 */
const SLAB_SIZE = 131_072;

export class Slabs {
  #slab = new Uint8Array(0);
  #used = 0;

  /** @param length at most a slot's @returns memory given to nobody else */
  take(length: number): Uint8Array {
    if (this.#slab.length - this.#used < length) {
      this.#slab = new Uint8Array(SLAB_SIZE);
      this.#used = 0;
    }
    const taken = this.#slab.subarray(this.#used, this.#used + length);
    this.#used += length;
    return taken;
  }
}
