/** An amount that several users share: each says how much of it it holds, and is told when there is not as much. */
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

  /** A user's part, at first nothing; given back when it is disposed of. */
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
  /** @returns false when the amount does not fit: then the part stays as it was */
  readonly resize: (amount: number) => boolean;
}
