/**
 * Shared by chunks read one after another: 30 of the longest. From this size on the C library returns free memory to the
 * system; smaller blocks would leave holes in a heap that never shrinks.
 */
const SLAB_SIZE = 131_072;

export class Slabs {
  #slab = new Uint8Array(0);
  #used = 0;

  /** @param length at most a slot's */
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
