/**
 * Visits every chunk below a reference: of bytes, data and parities; of a manifest, nodes and files; of a single-owner
 * chunk, only itself; no replicas. `node-behaviour.md` 4.4, `data-formats.md` 10.2.
 */
import { CHUNK_PAYLOAD_SIZE, type Chunk } from '../../formats/chunk/chunk.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { isNode, NODE_HEADER_SIZE } from '../manifest/codec.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { getRoot, openFile } from './joiner.ts';
import { openManifest } from './manifest-store.ts';
import type { TreeShape } from './redundancy/redundancy.ts';
import { type ContentGetter, Siblings } from './redundancy/siblings.ts';
import {
  type Content,
  childrenOf,
  contentOf,
  decodeReference,
  isLeaf,
  malformed,
  type Reference,
  TREE_HEIGHT_MAX,
} from './tree.ts';

interface TraverseOptions {
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Called in any order, perhaps repeatedly. The first failure ends the traversal. */
  readonly visit: (chunk: Chunk) => Promise<void>;
  /** Leaves out missing chunks and all below; the getter knows which. */
  readonly skipMissing?: boolean;
}

/**
 * Recovers lost chunks if getter and parities allow it. @param reference 32 bytes; 64 with the key of encrypted content
 * @throws what the getter and `visit` throw, see `isMissing`; JoinError; ManifestError for broken nodes
 */
export async function traverse(
  reference: Uint8Array,
  getter: ContentGetter,
  { concurrency, signal, visit, skipMissing = false }: TraverseOptions,
): Promise<void> {
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  const memory = remembering(getter);
  const maySkip = (error: unknown) => skipMissing && isMissing(error);
  const walk = new TreeWalk({
    concurrency,
    getter: memory.replaying,
    signal: ended,
    visit,
    maySkip,
    onFailure: (reason) => over.abort(reason),
  });
  try {
    const { address, key } = decodeReference(reference);
    const root = await getRoot(address, memory.recording, ended);
    if (key === undefined && root.kind === 'soc') await visit(root);
    else if (await walk.unlessSkipped(isManifest(reference, memory.recording, ended)))
      await walkManifest(await openManifest(reference, memory.recording, { signal: ended }), walk, maySkip);
    else await walk.add(reference);
  } catch (error) {
    walk.failUnlessSkipped(error);
  }
  await walk.done();
}

/** No node has the chunk, or there is no peer to ask. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  if (error.code === 'CHUNK_UNAVAILABLE') return isMissing(error.cause);
  return error.code === 'CHUNK_NOT_FOUND' || error.code === 'NO_PEER';
}

async function isManifest(
  reference: Uint8Array,
  getter: ContentGetter,
  signal: AbortSignal,
): Promise<boolean> {
  const file = await openFile(reference, getter, { signal });
  if (file.length < NODE_HEADER_SIZE) return false;
  const start = file.read(0n, BigInt(NODE_HEADER_SIZE), { readAhead: 0, signal });
  return isNode(Buffer.concat(await Array.fromAsync(start)));
}

/** Zeros: only metadata. */
async function walkManifest(manifest: Manifest, walk: TreeWalk, maySkip: WalkDeps['maySkip']): Promise<void> {
  for await (const { storedAt, value } of manifest.nodes(maySkip)) {
    if (storedAt !== undefined) await walk.add(storedAt);
    if (value?.reference.some((byte) => byte !== 0)) await walk.add(value.reference);
  }
}

/** Two of the largest manifest nodes. */
const KEPT_CHUNKS_MAX = 1024;

/** Finding out the kind of content costs no second fetch. */
function remembering(getter: ContentGetter): { recording: ContentGetter; replaying: ContentGetter } {
  const kept = new Map<string, Chunk>();
  return {
    recording: {
      ...getter,
      async get(address, signal) {
        const key = toHex(address);
        const chunk = kept.get(key) ?? (await getter.get(address, signal));
        kept.set(key, chunk);
        // Chunks of trees not walked again would stay.
        if (kept.size > KEPT_CHUNKS_MAX) for (const oldest of kept.keys().take(1)) kept.delete(oldest);
        return chunk;
      },
    },
    replaying: {
      ...getter,
      async get(address, signal) {
        const key = toHex(address);
        const chunk = kept.get(key);
        kept.delete(key);
        return chunk ?? getter.get(address, signal);
      },
    },
  };
}

interface Place extends Reference {
  readonly span: bigint | undefined;
  /** Undefined for a root. */
  readonly shape: TreeShape | undefined;
  readonly depth: number;
  readonly isParity: boolean;
  readonly siblings?: { readonly group: () => Siblings; readonly place: number } | undefined;
}

const LEAF_SPAN = BigInt(CHUNK_PAYLOAD_SIZE);

interface WalkDeps {
  readonly concurrency: number;
  readonly getter: ContentGetter;
  readonly signal: AbortSignal;
  readonly visit: (chunk: Chunk) => Promise<void>;
  readonly maySkip: (error: unknown) => boolean;
  /** Called once. */
  readonly onFailure: (reason: unknown) => void;
}

/** Bounded concurrency, newest place first, so that few wait. */
class TreeWalk {
  readonly #deps: WalkDeps;
  readonly #waiting: Place[] = [];
  /** Chunks that refer to each other make no endless tree. */
  readonly #seen = new Set<string>();
  /** A manifest may name one file often. */
  readonly #begun = new Set<string>();
  #running = 0;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(deps: WalkDeps) {
    this.#deps = deps;
  }

  /** Once per tree; waits while others' places wait. One caller at a time. */
  async add(reference: Uint8Array): Promise<void> {
    const key = toHex(reference);
    if (this.#begun.has(key)) return;
    this.#begun.add(key);
    while (this.#waiting.length > 0 && this.#failure === undefined) await this.#change();
    const root = { span: undefined, shape: undefined, depth: 0, isParity: false };
    this.#waiting.push({ ...decodeReference(reference), ...root });
    this.#start();
  }

  async unlessSkipped<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!this.#deps.maySkip(error)) throw error;
      return undefined;
    }
  }

  failUnlessSkipped(reason: unknown): void {
    if (this.#failure !== undefined || this.#deps.maySkip(reason)) return;
    this.#failure = { reason };
    this.#deps.onFailure(reason);
  }

  /** @throws the first failure */
  async done(): Promise<void> {
    while (this.#running > 0) await this.#change();
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  #start(): void {
    while (this.#running < this.#deps.concurrency && this.#failure === undefined) {
      const place = this.#waiting.pop();
      if (place === undefined) return;
      this.#running += 1;
      void this.#take(place);
    }
  }

  /** Never rejects. */
  async #take(place: Place): Promise<void> {
    try {
      await this.#visit(place);
    } catch (error) {
      this.failUnlessSkipped(error);
    }
    this.#running -= 1;
    this.#start();
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  async #visit(place: Place): Promise<void> {
    const { signal, visit } = this.#deps;
    signal.throwIfAborted();
    if (this.#isSeen(place)) return;
    const chunk = await this.#fetch(place);
    await visit(chunk);
    if (place.isParity) return;
    const content = contentOf(chunk, place.key);
    const shape = place.shape ?? { level: content.level, encrypted: place.key !== undefined };
    checkPlace(place, content);
    if (!isLeaf(content)) this.#waiting.push(...this.#below(place, content, shape));
  }

  #isSeen({ address, span }: Place): boolean {
    if (span === undefined || span <= LEAF_SPAN) return false;
    const key = toHex(address);
    if (this.#seen.has(key)) return true;
    this.#seen.add(key);
    return false;
  }

  async #fetch({ address, depth, siblings }: Place): Promise<Chunk> {
    const { getter, signal } = this.#deps;
    if (depth === 0) return getRoot(address, getter, signal);
    try {
      return await getter.get(address, signal);
    } catch (error) {
      if (siblings === undefined || !isMissing(error)) throw error;
      return siblings.group().get(siblings.place);
    }
  }

  #below(place: Place, content: Content, shape: TreeShape): Place[] {
    const { data, parities } = childrenOf(content, shape);
    const { getter, signal } = this.#deps;
    const { recovery } = getter;
    const addresses = { data: data.map(({ address }) => address), parities };
    let shared: Siblings | undefined;
    const group =
      recovery === undefined || parities.length === 0
        ? undefined
        : () => (shared ??= new Siblings(addresses, { getter, recovery, signal }));
    const depth = place.depth + 1;
    return [
      ...data.map((child, i) => ({
        ...child,
        shape,
        depth,
        isParity: false,
        siblings: group && { group, place: i },
      })),
      ...parities.map((address) => ({
        address,
        key: undefined,
        span: undefined,
        shape,
        depth,
        isParity: true,
      })),
    ];
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** @throws JoinError `MALFORMED_TREE` unless it fits its parent */
function checkPlace({ span, depth }: Place, content: Content): void {
  if (span !== undefined && content.span !== span)
    throw malformed(`span ${content.span} where the parent leaves ${span}`);
  if (depth === TREE_HEIGHT_MAX && !isLeaf(content)) throw malformed(`more than ${TREE_HEIGHT_MAX} levels`);
}
