/** Memory for what is read from slots. */

/**
 * Bytes of memory shared by chunks read one after another: 30 of the longest. From this size the C library maps
 * memory separately and returns it to the system as soon as it is free; smaller blocks would leave holes in a heap
 * that never shrinks.
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
