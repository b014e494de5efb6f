/**
 * An entry of a ring, or its head, which is no entry. Costs less than a set. The tables of a set that is emptied again and
 * again also keep each other alive, with what they held, until a full garbage collection.
 */
export class RingEntry {
  #before: RingEntry = this;
  #after: RingEntry = this;

  get after(): RingEntry {
    return this.#after;
  }

  /** Becomes the last. */
  join(head: RingEntry): void {
    this.#before = head.#before;
    this.#after = head;
    head.#before.#after = this;
    head.#before = this;
  }

  /** One that has left holds no other. */
  leave(): void {
    this.#before.#after = this.#after;
    this.#after.#before = this.#before;
    this.#before = this;
    this.#after = this;
  }
}
