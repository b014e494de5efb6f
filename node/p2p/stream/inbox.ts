import { compact, detached } from './compact.ts';

/** Bytes of one stream waiting for its reader. */
export class Inbox {
  readonly #parts: Uint8Array[] = [];
  /** Bytes that the reader took, for flow control. */
  readonly #onTaken: (count: number) => void;
  #size = 0;
  #ended = false;
  #failure: Error | undefined;
  #waiting: { resolve(bytes: Uint8Array | undefined): void; reject(error: Error): void } | undefined;

  constructor(onTaken: (count: number) => void) {
    this.#onTaken = onTaken;
  }

  get size(): number {
    return this.#size;
  }

  push(bytes: Uint8Array): void {
    if (this.#ended || this.#failure !== undefined || bytes.length === 0) return;
    this.#size += bytes.length;
    if (this.#waiting !== undefined) {
      this.#parts.push(bytes);
      this.#wake()?.resolve(this.take());
      return;
    }
    this.#parts.push(detached(bytes));
    compact(this.#parts, this.#size);
  }

  /** What has arrived stays readable. */
  end(): void {
    this.#ended = true;
    if (this.#size === 0) this.#wake()?.resolve(undefined);
  }

  /** What has arrived stays readable, because it may say why; then reads reject. */
  breakOff(reason: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    if (this.#size === 0) this.#wake()?.reject(reason);
  }

  /** As `breakOff`, but drops what has arrived. */
  fail(reason: Error): void {
    this.#parts.length = 0;
    this.#size = 0;
    this.breakOff(reason);
  }

  take(): Uint8Array | undefined {
    const part = this.#parts.shift();
    if (part === undefined) return undefined;
    this.#size -= part.length;
    this.#onTaken(part.length);
    return part;
  }

  read(): Promise<Uint8Array | undefined> {
    const part = this.take();
    if (part !== undefined) return Promise.resolve(part);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #wake() {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}
