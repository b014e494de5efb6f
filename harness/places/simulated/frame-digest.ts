import { createHash } from 'node:crypto';

/** Hashed at once: calls cost more than most frames. */
const BLOCK = 65_536;

export class FrameDigest {
  readonly #hash = createHash('sha256');
  readonly #block = Buffer.allocUnsafeSlow(BLOCK);
  #used = 0;

  /** @param head latin1, shorter than a block */
  add(head: string, bytes: Uint8Array): void {
    if (this.#used + head.length > BLOCK) this.#flush();
    this.#used += this.#block.write(head, this.#used, 'latin1');
    if (this.#used + bytes.length > BLOCK) this.#flush();
    if (bytes.length > BLOCK) this.#hash.update(bytes);
    else {
      this.#block.set(bytes, this.#used);
      this.#used += bytes.length;
    }
  }

  hex(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }

  #flush(): void {
    this.#hash.update(this.#block.subarray(0, this.#used));
    this.#used = 0;
  }
}
