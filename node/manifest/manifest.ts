/**
 * The trie from paths to references. Nodes are read on the way to a path, and written only where something changed below.
 * Flags depend on the order of insertion: equal references need equal orders. `data-formats.md` 5.3 and 5.4. Paths are text
 * of `byte-text.ts`.
 */
import { bytesOf, textOf } from './byte-text.ts';
import {
  decodeNode,
  encodeNode,
  FLAG_EDGE,
  FLAG_SEPARATOR,
  FLAG_VALUE,
  KEY_SIZE,
  NODE_SIZE_MAX,
  PREFIX_SIZE_MAX,
} from './codec.ts';
import { ManifestError } from './errors.ts';
import type { Metadata } from './metadata.ts';

/** As long as a URL that a node reads. Each level takes at least a byte, which bounds a hostile trie. */
export const PATH_SIZE_MAX = 16_384;

/** Visited one by one; a collection has about two per file. */
const NODES_MAX = 1_000_000;
/** Nodes read for one page: ten per file of the fullest. */
const LISTED_NODES_MAX = 100_000;
/** During look-ups or visits: 500 full nodes, or four of the largest size. */
const KEPT_MAX = 8 * 1024 * 1024;

type ReadNode = (reference: Uint8Array) => Promise<Uint8Array>;
/** @returns the reference, as long as every entry of the manifest */
type WriteNode = (bytes: Uint8Array) => Promise<Uint8Array>;

/** Key of a new node, 32 bytes. */
type DrawKey = () => Uint8Array;

export interface Entry {
  /** As long as the manifest's; empty or zeros for a path with only metadata. */
  readonly reference: Uint8Array;
  readonly metadata: Metadata;
}

interface WalkedNode {
  readonly path: string;
  /** Unless changed since. */
  readonly storedAt: Uint8Array | undefined;
  /** Set where an added path ends. */
  readonly value: Entry | undefined;
}

interface TrieNode {
  /** Stored in the parent's fork. */
  flags: number;
  metadata: Metadata | undefined;
  /** Empty until the first write; new nodes below get their parent's. */
  obfuscationKey: Uint8Array;
  referenceSize: number;
  entry: Uint8Array;
  /** Undefined until read. */
  forks: ReadonlyMap<number, Fork> | undefined;
  /** Undefined once something changed here or below. */
  storedAt: Uint8Array | undefined;
}

interface Fork {
  readonly prefix: string;
  readonly node: TrieNode;
}

interface PendingFork extends Fork {
  readonly releases: number;
}

interface LoadedNode extends TrieNode {
  forks: ReadonlyMap<number, Fork>;
}

const ZERO_KEY = new Uint8Array(KEY_SIZE);
const NO_KEY = new Uint8Array(0);
const NO_ENTRY = new Uint8Array(0);
const NO_FORKS: ReadonlyMap<number, Fork> = new Map();

/** Bytes, with fork and references: measured with a hundred thousand files. */
const NODE_MEMORY = 600;
const noKey: DrawKey = () => ZERO_KEY;

export class Manifest {
  readonly #read: ReadNode;
  readonly #drawKey: DrawKey;
  readonly #root: TrieNode;
  #kept = 0;
  #memory = 0;

  private constructor(root: TrieNode, read: ReadNode, drawKey: DrawKey) {
    this.#root = root;
    this.#read = read;
    this.#drawKey = drawKey;
  }

  /** @param drawKey for encryption; without it nodes are not obfuscated */
  static create(drawKey?: DrawKey): Manifest {
    const root = newNode({ obfuscationKey: drawKey === undefined ? ZERO_KEY : NO_KEY, referenceSize: 0 });
    const read = () => {
      throw new ManifestError('NODE_MALFORMED', 'a new manifest has no stored nodes');
    };
    return new Manifest(root, read, drawKey ?? noKey);
  }

  /** @throws ManifestError of the codec; what `read` throws */
  static async load(reference: Uint8Array, read: ReadNode): Promise<Manifest> {
    const manifest = new Manifest(unreadNode(reference), read, noKey);
    await manifest.#load(manifest.#root);
    return manifest;
  }

  /**
   * Empty metadata keeps the old. @param entry 32 or 64 bytes, the same in the whole manifest, or empty
   * @throws ManifestError `ENTRY_SIZE_INVALID`, `PATH_TOO_LONG`
   */
  async add(path: string, entry: Uint8Array, metadata: Metadata = {}): Promise<void> {
    const bytes = byteString(path);
    if (bytes.length > PATH_SIZE_MAX)
      throw new ManifestError('PATH_TOO_LONG', `path of ${bytes.length} bytes`);
    this.#memory += bytes.length;
    for (const value of Object.values(metadata)) this.#memory += value.length;
    await this.#insert(this.#root, bytes, { reference: entry, metadata });
  }

  get memory(): number {
    return this.#memory;
  }

  /** The empty path finds the root's entry, added or not. */
  async lookup(path: string): Promise<Entry | undefined> {
    const node = await this.#find(path);
    return node === undefined ? undefined : entryOf(await this.#load(node));
  }

  /** One read fewer than `lookup`: the parent has it. */
  async metadata(path: string): Promise<Metadata | undefined> {
    const node = await this.#find(path);
    return node === undefined ? undefined : (node.metadata ?? {});
  }

  async hasPrefix(prefix: string): Promise<boolean> {
    const bytes = byteString(prefix);
    if (bytes.length > PATH_SIZE_MAX) return false;
    let node = this.#root;
    for (let rest = bytes; rest !== ''; ) {
      const fork = (await this.#load(node)).forks.get(rest.charCodeAt(0));
      if (fork === undefined || !rest.startsWith(fork.prefix)) return fork?.prefix.startsWith(rest) ?? false;
      rest = rest.slice(fork.prefix.length);
      node = fork.node;
    }
    return true;
  }

  /**
   * Root first, depth first, forks ascending; nodes are not kept. @throws ManifestError `PATH_TOO_LONG` for an endless trie;
   * what `read` throws
   */
  walk(): AsyncGenerator<WalkedNode, void, void> {
    return this.#visit(
      () => true,
      () => false,
    );
  }

  /**
   * Each once, or twice when only some paths end there. @param maySkip leaves out an unreadable node and everything below
   * @throws ManifestError `MANIFEST_TOO_LARGE`, `PATH_TOO_LONG`; what `read` throws
   */
  nodes(maySkip: (error: unknown) => boolean): AsyncGenerator<WalkedNode, void, void> {
    const seen = new Set<string>();
    return this.#visit(({ storedAt, flags }) => {
      if (storedAt === undefined) return true;
      const key = `${Buffer.from(storedAt).toString('latin1')}${flags & FLAG_VALUE}`;
      if (seen.has(key)) return false;
      if (seen.size === NODES_MAX) throw tooLarge(`more than ${NODES_MAX} nodes`);
      seen.add(key);
      return true;
    }, maySkip);
  }

  /** @param enters per fork; refused ones are left out @param reads per path, when its turn has come */
  async *#visit(
    enters: (node: TrieNode) => boolean,
    maySkip: (error: unknown) => boolean,
    reads: (path: string) => boolean = () => true,
  ): AsyncGenerator<WalkedNode, void, void> {
    const open: PendingFork[] = [{ prefix: '', node: this.#root, releases: 0 }];
    let kept = this.#kept;
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      kept -= next.releases;
      const path = next.prefix;
      if (!reads(path)) continue;
      if (path.length > PATH_SIZE_MAX)
        throw new ManifestError('PATH_TOO_LONG', `the trie has a path of more than ${PATH_SIZE_MAX} bytes`);
      let node: LoadedNode;
      let size = path.length;
      try {
        if (isLoaded(next.node)) node = next.node;
        else {
          const bytes = await this.#stored(next.node);
          size += bytes.length;
          node = readNode(next.node, bytes);
        }
      } catch (error) {
        if (!maySkip(error)) throw error;
        continue;
      }
      yield {
        path: textOf(Buffer.from(path, 'latin1')),
        storedAt: node.storedAt,
        value: (node.flags & FLAG_VALUE) === 0 ? undefined : entryOf(node),
      };
      const forks = ascending(node.forks).filter((fork) => enters(fork.node));
      if (forks.length === 0) continue;
      kept += size;
      if (kept > KEPT_MAX) throw tooLarge(`more than ${KEPT_MAX} bytes of nodes lead to one path`);
      const last = forks.length - 1;
      for (const [at, { prefix, node: below }] of [...forks.entries()].reverse())
        open.push({ prefix: path + prefix, node: below, releases: at === last ? size : 0 });
    }
  }

  /**
   * Paths with a value, by their bytes; nodes are not kept. @param enters asked of every path, as bytes, before its node is
   * read
   * @throws ManifestError `MANIFEST_TOO_LARGE`, `PATH_TOO_LONG`; what `read` throws
   */
  async *values(enters: (bytes: string) => boolean): AsyncGenerator<{ path: string; value: Entry }> {
    let read = 0;
    const reads = (bytes: string) => {
      if (!enters(bytes)) return false;
      if (++read > LISTED_NODES_MAX) throw tooLarge(`more than ${LISTED_NODES_MAX} nodes for one page`);
      return true;
    };
    const nodes = this.#visit(
      () => true,
      () => false,
      reads,
    );
    for await (const { path, value } of nodes) if (value !== undefined) yield { path, value };
  }

  /** Writes only changes, children first. @returns the root's reference @throws ManifestError `METADATA_TOO_LARGE` */
  save(write: WriteNode): Promise<Uint8Array> {
    return store(this.#root, write, this.#drawKey);
  }

  async #find(path: string): Promise<TrieNode | undefined> {
    const bytes = byteString(path);
    if (bytes.length > PATH_SIZE_MAX) return undefined;
    let node = this.#root;
    for (let rest = bytes; rest !== ''; ) {
      const fork = (await this.#load(node)).forks.get(rest.charCodeAt(0));
      if (fork === undefined || !rest.startsWith(fork.prefix)) return undefined;
      rest = rest.slice(fork.prefix.length);
      node = fork.node;
    }
    return bytes === '' || (node.flags & FLAG_VALUE) !== 0 ? node : undefined;
  }

  async #load(node: TrieNode): Promise<LoadedNode> {
    if (isLoaded(node)) return node;
    const bytes = await this.#stored(node);
    this.#kept += bytes.length;
    if (this.#kept > KEPT_MAX) throw tooLarge(`paths that lead through more than ${KEPT_MAX} bytes of nodes`);
    return Object.assign(node, readNode(node, bytes));
  }

  #stored({ storedAt }: TrieNode): Promise<Uint8Array> {
    return this.#read(storedAt as Uint8Array);
  }

  /** A loop: the stack is shorter than a path's nodes. */
  async #insert(root: TrieNode, path: string, value: Entry): Promise<void> {
    const taken: [LoadedNode, Fork][] = [];
    let target = root;
    for (let rest = path; ; ) {
      const node = isLoaded(target) ? target : await this.#load(target);
      node.storedAt = undefined;
      fitReferenceSize(node, value.reference);
      if (rest === '') {
        node.entry = value.reference;
        node.flags |= FLAG_VALUE;
        if (Object.keys(value.metadata).length > 0) node.metadata = value.metadata;
        break;
      }
      const present = node.forks.get(rest.charCodeAt(0));
      const fork = forkFor(node, rest, present);
      if (fork.node !== present?.node) this.#memory += NODE_MEMORY;
      taken.push([node, fork]);
      target = fork.node;
      rest = rest.slice(fork.prefix.length);
    }
    for (const [node, fork] of taken) {
      setFork(node, fork);
      node.flags |= FLAG_EDGE;
    }
  }
}

/** A new child, the existing one, or one where the path leaves its prefix. */
function forkFor(parent: LoadedNode, path: string, present: Fork | undefined): Fork {
  if (present === undefined) {
    const prefix = path.slice(0, PREFIX_SIZE_MAX);
    const node = newNode(parent);
    markSeparator(node, prefix);
    return { prefix, node };
  }
  const prefix = commonPrefix(present.prefix, path);
  const rest = present.prefix.slice(prefix.length);
  const node = rest === '' ? present.node : between(parent, rest, present.node);
  markSeparator(node, path);
  return { prefix, node };
}

function between(parent: LoadedNode, rest: string, child: TrieNode): TrieNode {
  markSeparator(child, rest);
  const node = newNode(parent);
  setFork(node, { prefix: rest, node: child });
  node.flags = FLAG_EDGE;
  return node;
}

function setFork(node: LoadedNode, fork: Fork): void {
  if (node.forks === NO_FORKS) node.forks = new Map();
  (node.forks as Map<number, Fork>).set(fork.prefix.charCodeAt(0), fork);
}

/** Only the first separator counts, and only if not at the very start. */
function markSeparator(node: TrieNode, text: string): void {
  if (text.indexOf('/') > 0) node.flags |= FLAG_SEPARATOR;
  else node.flags &= ~FLAG_SEPARATOR;
}

function fitReferenceSize(node: TrieNode, entry: Uint8Array): void {
  if (entry.length === 0) return;
  if (node.referenceSize === 0) node.referenceSize = entry.length;
  if (node.referenceSize !== entry.length)
    throw new ManifestError(
      'ENTRY_SIZE_INVALID',
      `invalid entry size: ${entry.length}, expected: ${node.referenceSize}`,
    );
}

/** Then the stack, which holds some thousand, is left. */
const CALLS_IN_A_ROW = 256;

async function store(node: TrieNode, write: WriteNode, drawKey: DrawKey, depth = 1): Promise<Uint8Array> {
  if (node.storedAt !== undefined) return node.storedAt;
  if (depth % CALLS_IN_A_ROW === 0) await Promise.resolve();
  const forks = [];
  for (const { prefix, node: child } of ascending((node as LoadedNode).forks)) {
    const reference = await store(child, write, drawKey, depth + 1);
    forks.push({ prefix, flags: child.flags, metadata: child.metadata, reference });
  }
  const referenceSize = node.referenceSize === 0 ? (forks[0]?.reference.length ?? 0) : node.referenceSize;
  if (node.obfuscationKey.length === 0) node.obfuscationKey = drawKey();
  const { obfuscationKey, entry } = node;
  const encoded = encodeNode({ obfuscationKey, referenceSize, entry, forks });
  if (encoded.length > NODE_SIZE_MAX)
    throw new ManifestError('METADATA_TOO_LARGE', `node of ${encoded.length} bytes: metadata too large`);
  node.storedAt = await write(encoded);
  return node.storedAt;
}

function isLoaded(node: TrieNode): node is LoadedNode {
  return node.forks !== undefined;
}

/** Flags and metadata come from the fork. */
function readNode({ flags, metadata, storedAt }: TrieNode, bytes: Uint8Array): LoadedNode {
  const { obfuscationKey, referenceSize, entry, forks } = decodeNode(bytes);
  const children = forks.map((fork): [number, Fork] => [
    fork.prefix.charCodeAt(0),
    {
      prefix: fork.prefix,
      node: { ...unreadNode(fork.reference), flags: fork.flags, metadata: fork.metadata },
    },
  ]);
  return { flags, metadata, storedAt, obfuscationKey, referenceSize, entry, forks: new Map(children) };
}

function tooLarge(detail: string): ManifestError {
  return new ManifestError('MANIFEST_TOO_LARGE', `manifest too large: ${detail}`);
}

function entryOf(node: TrieNode): Entry {
  const reference = node.entry.length === 0 ? new Uint8Array(node.referenceSize) : node.entry;
  return { reference, metadata: node.metadata ?? {} };
}

function newNode(parent: Pick<TrieNode, 'obfuscationKey' | 'referenceSize'>): LoadedNode {
  const { obfuscationKey, referenceSize } = parent;
  return {
    flags: 0,
    metadata: undefined,
    obfuscationKey,
    referenceSize,
    entry: NO_ENTRY,
    forks: NO_FORKS,
    storedAt: undefined,
  };
}

function unreadNode(storedAt: Uint8Array): TrieNode {
  return { ...newNode({ obfuscationKey: NO_KEY, referenceSize: 0 }), forks: undefined, storedAt };
}

function ascending(forks: ReadonlyMap<number, Fork>): Fork[] {
  return [...forks].sort(([a], [b]) => a - b).map(([, fork]) => fork);
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return a.slice(0, length);
}

function byteString(path: string): string {
  return bytesOf(path).toString('latin1');
}
