/** An amount shared by users, who are told when there is no more. */
export class SharedRoom {
  readonly limit: number;
  #held = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** What all users hold. */
  get held(): number {
    return this.#held;
  }

  /** At first nothing; disposing returns it. */
  open(): RoomShare {
    let own = 0;
    const resize = (amount: number) => {
      if (this.#held - own + amount > this.limit) return false;
      this.#held += amount - own;
      own = amount;
      return true;
    };
    return { resize, [Symbol.dispose]: () => void resize(0) };
  }
}

export interface RoomShare extends Disposable {
  /** @returns false: does not fit, unchanged */
  readonly resize: (amount: number) => boolean;
}
