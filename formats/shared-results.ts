/**
 * Results of pure functions shared by the nodes of one process. Looked up by all the bytes, compared with a private copy:
 * bytes that differ in one bit, or were changed after the computation, do not match. Nothing here tells a node what another
 * one knows, stores or believes.
 */
/** Some ten seconds at the highest rate; 67 MiB when all are taken. */
const CHUNK_SLOTS = 16_384;
const CHUNK_INPUT_MAX = 32 + 4201;
const CHUNK_RESULT = 33;
/** A chunk has a signature of its stamp and one of each receipt; 2 MiB when all are taken. */
const SIGNATURE_SLOTS = 16_384;
const SIGNATURE_INPUT = 32 + 65;
const SIGNER_SIZE = 20;

/** One per process. Memory is used only as it fills. */
export class SharedResults {
  static #ofRunningNode: () => SharedResults | undefined = () => undefined;

  /** Undefined when a node is alone in its process. */
  static current(): SharedResults | undefined {
    return SharedResults.#ofRunningNode();
  }

  static findBy(ofRunningNode: () => SharedResults | undefined): void {
    SharedResults.#ofRunningNode = ofRunningNode;
  }

  readonly chunks = new ResultTable(CHUNK_SLOTS, { inputMax: CHUNK_INPUT_MAX, result: CHUNK_RESULT });
  readonly signers = new ResultTable(SIGNATURE_SLOTS, { inputMax: SIGNATURE_INPUT, result: SIGNER_SIZE });
  readonly #texts = new Map<string, { readonly text: string; readonly meaning: unknown }>();

  /**
   * Computed once for all nodes, kept for the latest text of a kind.
   * @param kind always read in the same way @param read gives what no node changes @throws what `read` throws
   */
  meaningOf<T>(kind: string, text: string, read: (text: string) => T): T {
    const last = this.#texts.get(kind);
    if (last?.text === text) return last.meaning as T;
    const meaning = read(text);
    this.#texts.set(kind, { text, meaning });
    return meaning;
  }
}

/** The latest result of each slot, which the first four bytes of the input determine. */
export class ResultTable {
  readonly #slots: number;
  readonly #inputMax: number;
  readonly #rowSize: number;
  readonly #lengths: Uint16Array;
  readonly #rows: Buffer;

  /** @param sizes bytes; `inputMax` below 65,536 */
  constructor(slots: number, sizes: { readonly inputMax: number; readonly result: number }) {
    this.#slots = slots;
    this.#inputMax = sizes.inputMax;
    this.#rowSize = sizes.inputMax + sizes.result;
    this.#lengths = new Uint16Array(slots);
    // Uninitialised: a page that no row has used takes no memory.
    this.#rows = Buffer.allocUnsafeSlow(slots * this.#rowSize);
  }

  /** @param head of the same length in every call, at least 4 bytes @returns a copy */
  find(head: Uint8Array, rest: Uint8Array): Uint8Array | undefined {
    const slot = this.#slotOf(head);
    const at = slot * this.#rowSize;
    const length = head.length + rest.length;
    if (this.#lengths[slot] !== length || !this.#has(at, head)) return undefined;
    if (!this.#has(at + head.length, rest)) return undefined;
    const results = at + this.#inputMax;
    return new Uint8Array(this.#rows.subarray(results, at + this.#rowSize));
  }

  /** An input that is too long is not kept. @param result of the table's size, copied like the input */
  put(head: Uint8Array, rest: Uint8Array, result: Uint8Array): void {
    const length = head.length + rest.length;
    if (length > this.#inputMax) return;
    const slot = this.#slotOf(head);
    const at = slot * this.#rowSize;
    this.#rows.set(head, at);
    this.#rows.set(rest, at + head.length);
    this.#rows.set(result, at + this.#inputMax);
    this.#lengths[slot] = length;
  }

  #has(at: number, bytes: Uint8Array): boolean {
    return this.#rows.compare(bytes, 0, bytes.length, at, at + bytes.length) === 0;
  }

  #slotOf(head: Uint8Array): number {
    const [a, b, c, d] = [head[0]!, head[1]!, head[2]!, head[3]!];
    return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) % this.#slots;
  }
}
