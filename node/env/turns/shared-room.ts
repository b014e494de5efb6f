/** An amount that users share: each says how much it holds, and is told when there is not enough. */
export class SharedRoom {
  readonly limit: number;
  #held = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  /** Holds nothing at first; disposal gives it back. */
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
  /** @returns false when it does not fit; nothing changes */
  readonly resize: (amount: number) => boolean;
}
