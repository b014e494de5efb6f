/** What is to be said again later on one connection, until that ends. */
import type { Clock } from '../../../../../formats/clock.ts';

/** A new stream takes so many bytes without credit. */
const REPLAYED_MAX = 262_144;
const WAITING_MAX = 1000;
const WAITING_BYTES_MAX = 16 * 2 ** 20;

export class Said {
  #parts: Buffer[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= REPLAYED_MAX) this.#parts.push(bytes);
    else this.#parts = [];
  }

  upToNow(): () => Buffer {
    const parts = this.#parts;
    const count = parts.length;
    return () => Buffer.concat(parts.slice(0, count));
  }
}

export class Replays {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #waiting = new Set<Disposable>();
  #bytes = 0;

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock;
  }

  canTake({ bytes }: Said): boolean {
    return (
      bytes <= REPLAYED_MAX && this.#waiting.size < WAITING_MAX && this.#bytes + bytes <= WAITING_BYTES_MAX
    );
  }

  later(ms: number, said: Said, say: (said: Buffer) => void): void {
    const { bytes } = said;
    const joined = said.upToNow();
    const timer = this.#clock.timer(ms, () => {
      this.#waiting.delete(timer);
      this.#bytes -= bytes;
      say(joined());
    });
    this.#waiting.add(timer);
    this.#bytes += bytes;
  }

  close(): void {
    for (const timer of this.#waiting) timer[Symbol.dispose]();
    this.#waiting.clear();
  }
}
