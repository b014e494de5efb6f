/**
 * Reads a tree of chunks as a byte stream. Walks only where the tree overlaps the range, fetches a bounded number of bytes
 * ahead and forgets delivered leaves. No claimed length is trusted for allocation. `data-formats.md` 2.2, 2.3, 3.5 to 3.7.
 */
import assert from 'node:assert/strict';
import { CHUNK_PAYLOAD_SIZE, type Chunk, ChunkNotFoundError } from '../../formats/chunk/chunk.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { TreeShape } from './redundancy/redundancy.ts';
import { getReplicated } from './redundancy/replicas.ts';
import { type ContentGetter, NONE, type Recovery, Siblings } from './redundancy/siblings.ts';
import {
  type Children,
  type Content,
  childrenOf,
  contentOf,
  decodeReference,
  isLeaf,
  JoinError,
  malformed,
  type Reference,
  TREE_HEIGHT_MAX,
} from './tree.ts';

/** Fetched ahead: the public network's values. */
const READ_AHEAD_SHORT = 262_144;
const READ_AHEAD_LONG = 524_288;
const SHORT_CONTENT_MAX = 10_000_000n;
/** Most that a caller gets: memory and open retrievals. */
const READ_AHEAD_MAX = 4 * 1024 * 1024;
/** Arrived leaves are delivered together up to this size: fewer writes. */
const PIECE_SIZE_MAX = 65_536;
const OVER = new DOMException('the read is over', 'AbortError');

interface ReadOptions {
  /** 0 or less: one chunk at a time. */
  readonly readAhead?: number;
  /** The consumer is done with a piece at the next request, so pieces share memory. */
  readonly reuse?: true;
  readonly signal?: AbortSignal;
}

export interface JoinedFile {
  readonly length: bigint;
  /**
   * Excludes `end`; `0 <= offset <= end <= length`. Pieces are views of chunks: not to be changed, nor with `reuse` kept.
   * Leaving the loop ends the fetches.
   * @throws JoinError `MALFORMED_TREE`, `CHUNK_UNAVAILABLE`; the signal's reason
   */
  read(offset: bigint, end: bigint, options?: ReadOptions): AsyncGenerator<Uint8Array, void, void>;
}

/**
 * Fetches the root chunk; a single-owner chunk gives the wrapped one's content.
 * @param reference 32 bytes; 64 with the key of encrypted content
 * @throws ChunkNotFoundError without a root chunk (also: no peer to ask); JoinError `REFERENCE_INVALID`, `MALFORMED_TREE` (a
 *   wrong key, or no root); whatever else the getter throws
 */
export async function openFile(
  reference: Uint8Array,
  getter: ContentGetter,
  options: { readonly signal?: AbortSignal } = {},
): Promise<JoinedFile> {
  const { address, key } = decodeReference(reference);
  const root = contentOf(await getRoot(address, getter, options.signal), key);
  const encrypted = key !== undefined;
  // Checked before a reader promises the length to anyone.
  if (!isLeaf(root)) childrenOf(root, { level: root.level, encrypted });
  return {
    length: root.span,
    async *read(offset, end, { readAhead = defaultReadAhead(root.span), reuse, signal } = {}) {
      assert(0n <= offset && offset <= end && end <= root.span, `range ${offset}..${end} of ${root.span}`);
      const controller = new AbortController();
      const ended = signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]);
      const window = BigInt(Math.min(Math.max(readAhead, 0), READ_AHEAD_MAX));
      try {
        if (offset < end)
          yield* new Walk(
            { root, encrypted, offset, end, window },
            { getter, signal: ended, allocate: reuse === true ? sharedMemory() : ownMemory },
          ).pieces();
      } finally {
        controller.abort(OVER);
      }
    },
  };
}

/** Or a replica's content. @throws ChunkNotFoundError also without a peer to ask; whatever else the getter throws */
export async function getRoot(
  address: Uint8Array,
  getter: ContentGetter,
  signal: AbortSignal | undefined,
): Promise<Chunk> {
  const { recovery } = getter;
  try {
    if (recovery === undefined || recovery.level === 0) return await getter.get(address, signal);
    return await getReplicated(address, recovery.level, { ...recovery, getter }, signal);
  } catch (error) {
    if (codeOf(error) === 'NO_PEER') throw new ChunkNotFoundError(toHex(address), { cause: error });
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Unless its reader says otherwise. */
export function defaultReadAhead(length: bigint): number {
  return length <= SHORT_CONTENT_MAX ? READ_AHEAD_SHORT : READ_AHEAD_LONG;
}

/** A subtree in the range. An intermediate chunk stays before its children, as an empty one. */
interface Subtree extends Reference {
  /** In the file; the parent says how many bytes. */
  readonly start: bigint;
  readonly span: bigint;
  readonly depth: number;
  next: Subtree | undefined;
  /** Its recovery, and its place there. */
  readonly siblings: Siblings | undefined;
  readonly place: number;
  fetched: Promise<void> | undefined;
  outcome: Outcome | undefined;
}

/** A root is fetched before the read. */
const NOWHERE = { address: new Uint8Array(0), key: undefined, siblings: undefined, place: 0 } as const;

type Outcome =
  | { readonly kind: 'leaf'; readonly payload: Uint8Array }
  | { readonly kind: 'intermediate' }
  | { readonly kind: 'failure'; readonly reason: unknown };

interface Range {
  readonly root: Content;
  readonly encrypted: boolean;
  readonly offset: bigint;
  readonly end: bigint;
  readonly window: bigint;
}

/**
 * The undelivered subtrees in file order. Those within the window after the head are being fetched; an arrived intermediate
 * chunk inserts its children.
 */
class Walk {
  readonly #range: Range;
  readonly #getter: ContentGetter;
  readonly #signal: AbortSignal;
  readonly #allocate: Allocate;
  readonly #shape: TreeShape;
  #head: Subtree | undefined;
  /** Everything before it is being fetched. */
  #frontier: Subtree | undefined;

  constructor(range: Range, deps: { getter: ContentGetter; signal: AbortSignal; allocate: Allocate }) {
    this.#range = range;
    this.#getter = deps.getter;
    this.#signal = deps.signal;
    this.#allocate = deps.allocate;
    this.#shape = { level: range.root.level, encrypted: range.encrypted };
    const root = subtree({ ...NOWHERE, start: 0n, span: range.root.span, depth: 0 });
    root.fetched = Promise.resolve();
    this.#head = root;
    this.#arrive(root, range.root);
  }

  async *pieces(): AsyncGenerator<Uint8Array, void, void> {
    let isFirst = true;
    while (this.#head !== undefined) {
      this.#signal.throwIfAborted();
      this.#fetchAhead();
      if (this.#head.outcome === undefined) await this.#head.fetched;
      if (isFirst && this.#head.outcome?.kind === 'leaf') await this.#settleGroup(this.#head);
      const leaves = this.#takeLeaves();
      if (leaves.length === 0) continue;
      isFirst = false;
      yield together(leaves, this.#allocate);
    }
  }

  /** Reports unrecoverable siblings before the first byte, as an error instead of a truncated answer. */
  async #settleGroup(first: Subtree): Promise<void> {
    if (first.siblings === undefined) return;
    const group: Subtree[] = [];
    for (let node: Subtree | undefined = first; node?.siblings === first.siblings; node = node.next)
      group.push(node);
    await Promise.all(group.map((node) => (node.fetched ??= this.#fetch(node))));
    for (const { outcome } of group) if (outcome?.kind === 'failure') throw outcome.reason;
  }

  /** At most a piece. Throws if the head has failed. */
  #takeLeaves(): Uint8Array[] {
    const leaves: Uint8Array[] = [];
    let size = 0;
    for (let head = this.#head; head?.outcome !== undefined; head = this.#head) {
      if (head.outcome.kind === 'failure' && leaves.length === 0) throw head.outcome.reason;
      if (head.outcome.kind === 'failure' || size >= PIECE_SIZE_MAX) break;
      if (head.outcome.kind === 'leaf') {
        const wanted = this.#wanted(head, head.outcome.payload);
        leaves.push(wanted);
        size += wanted.length;
      }
      this.#head = head.next;
      // From the old generation it would keep its successors alive.
      head.next = undefined;
    }
    return leaves;
  }

  #wanted(leaf: Subtree, payload: Uint8Array): Uint8Array {
    const { offset, end } = this.#range;
    const from = offset > leaf.start ? offset - leaf.start : 0n;
    const to = end < leaf.start + leaf.span ? end - leaf.start : leaf.span;
    return payload.subarray(Number(from), Number(to));
  }

  /** The head and what starts within the window. */
  #fetchAhead(): void {
    const head = this.#head;
    if (head === undefined) return;
    const horizon = head.start + this.#range.window;
    let node = this.#frontier;
    while (node !== undefined && (node === head || node.start < horizon)) {
      node.fetched ??= this.#fetch(node);
      node = node.next;
    }
    this.#frontier = node;
  }

  async #fetch(node: Subtree): Promise<void> {
    try {
      this.#arrive(node, contentOf(await this.#chunkOf(node), node.key));
      if (node.outcome?.kind === 'intermediate') this.#fetchAhead();
    } catch (error) {
      node.outcome = { kind: 'failure', reason: this.#failureOf(node, error) };
    }
  }

  #chunkOf({ siblings, place, address }: Subtree): Promise<Chunk> {
    return siblings?.get(place) ?? this.#getter.get(address, this.#signal);
  }

  #arrive(node: Subtree, content: Content): void {
    if (content.span !== node.span)
      throw malformed(`span ${content.span} where the parent leaves ${node.span}`);
    if (content.level !== this.#shape.level && !(isLeaf(content) && content.level === 0))
      throw malformed(`redundancy level ${content.level} in a tree of level ${this.#shape.level}`);
    if (isLeaf(content)) {
      node.outcome = { kind: 'leaf', payload: content.payload };
      return;
    }
    if (node.depth === TREE_HEIGHT_MAX) throw malformed(`more than ${TREE_HEIGHT_MAX} levels`);
    this.#insertChildren(node, content);
    node.outcome = { kind: 'intermediate' };
    this.#frontier = node.next;
  }

  #insertChildren(node: Subtree, content: Content): void {
    const rest = node.next;
    let last = node;
    let start = node.start;
    const children = childrenOf(content, this.#shape);
    const siblings = this.#siblingsOf(children);
    for (const [place, { address, key, span }] of children.data.entries()) {
      if (start < this.#range.end && start + span > this.#range.offset) {
        last.next = subtree({ address, key, start, span, depth: node.depth + 1, siblings, place });
        last = last.next;
      }
      start += span;
    }
    last.next = rest;
  }

  /** Undefined without parities, or without recovery. */
  #siblingsOf({ data, parities }: Children): Siblings | undefined {
    const { recovery } = this.#getter;
    if (parities.length === 0 || recovery === undefined || isOnDemand(recovery)) return undefined;
    const addresses = { data: data.map(({ address }) => address), parities };
    return new Siblings(addresses, { getter: this.#getter, recovery, signal: this.#signal });
  }

  #failureOf(node: Subtree, error: unknown): unknown {
    if (this.#signal.aborted) return this.#signal.reason;
    if (error instanceof JoinError) return error;
    return new JoinError('CHUNK_UNAVAILABLE', `chunk ${toHex(node.address)} is not available`, {
      cause: error,
    });
  }
}

function isOnDemand({ strategy, fallback }: Recovery): boolean {
  return strategy === NONE && !fallback;
}

function subtree(place: Omit<Subtree, 'next' | 'fetched' | 'outcome'>): Subtree {
  return { ...place, next: undefined, fetched: undefined, outcome: undefined };
}

type Allocate = (size: number) => Uint8Array;

function together(leaves: readonly Uint8Array[], allocate: Allocate): Uint8Array {
  const [first] = leaves;
  if (leaves.length === 1 && first !== undefined) return first;
  const piece = allocate(leaves.reduce((size, leaf) => size + leaf.length, 0));
  let filled = 0;
  for (const leaf of leaves) {
    piece.set(leaf, filled);
    filled += leaf.length;
  }
  return piece;
}

function ownMemory(size: number): Uint8Array {
  return new Uint8Array(size);
}

/** Otherwise the C library keeps tens of megabytes of garbage per gigabyte. */
function sharedMemory(): Allocate {
  let memory: Uint8Array | undefined;
  return (size) => (memory ??= new Uint8Array(PIECE_SIZE_MAX + CHUNK_PAYLOAD_SIZE)).subarray(0, size);
}
