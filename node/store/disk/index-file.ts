/**
 * Reads an LMDB file without LMDB, which trusts every page: a wrong pointer would crash the process. Format: LMDB data
 * version 2, as lmdb-js writes it, little-endian. Pages have no checksums: a flipped bit within a value is not found.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Entry } from '../backend.ts';

const MAGIC = 0xbeefc0de;
const VERSION = 2;
/** Page header: number 8, transaction 8, pad 2, flags 2, lower 2, upper 2 (in an overflow page: page count 4). */
const HEADER_SIZE = 24;
const FLAGS_OFFSET = 18;
const LOWER_OFFSET = 20;
const UPPER_OFFSET = 22;
const [BRANCH, LEAF, OVERFLOW, META] = [0x01, 0x02, 0x04, 0x08];
/** Meta page after the header: magic 4, version 4, address 8, map size 8, two trees, last page 8, transaction 8. */
const TREES_OFFSET = HEADER_SIZE + 24;
/** Tree: page size 4 (of the first one), flags 2, depth 2, branch, leaf, overflow pages, entries, root 8 each. */
const TREE_SIZE = 48;
const ENTRIES_OFFSET = 32;
const ROOT_OFFSET = 40;
/** Node: low and high part of a size 2 each, flags 2, key size 2; a branch's child is in the first three. */
const NODE_SIZE = 8;
const [BIG_DATA, SUB_TREE] = [0x01, 0x02];
const PAGE_SIZES = [4096, 8192, 16_384, 32_768];
const NO_ROOT = 2n ** 64n - 1n;
const DEPTH_MAX = 32;

/** Reusable pages; keys are numbers in the machine's byte order. */
const FREE_PAGES = 'free pages';

export interface IndexFault {
  /** 0 or 1 for the file as a whole. */
  readonly page: number;
  /** Undefined for pages of no table, or of all. */
  readonly table: string | undefined;
  readonly fault: string;
}

export interface IndexWalk {
  /** Table by table, ascending. Absent: only pages are checked. */
  readonly onEntry?: (table: string, entry: Entry) => void;
  /** Beyond them only branches. Default: all. */
  readonly leavesMax?: number;
}

interface Tree {
  readonly entries: number;
  readonly root: bigint;
}

/** @returns nothing for a sound file @throws the system's error for the file */
export function walkIndex(path: string, walk: IndexWalk = {}): IndexFault[] {
  const file = openSync(path, 'r');
  try {
    const reader = IndexReader.of(file);
    return reader instanceof IndexReader ? reader.walk(walk) : [reader];
  } finally {
    closeSync(file);
  }
}

class IndexReader {
  readonly #file: number;
  readonly #pageSize: number;
  readonly #lastPage: number;
  readonly #trees: readonly [free: Tree, main: Tree];
  readonly #faults: IndexFault[] = [];
  readonly #seen = new Set<number>();
  #leavesLeft = Number.POSITIVE_INFINITY;
  #onEntry: IndexWalk['onEntry'];

  static of(file: number): IndexReader | IndexFault {
    const { size } = fstatSync(file);
    if (size === 0) return whole('it is empty');
    const metas = PAGE_SIZES.flatMap((pageSize) => readMetas(file, pageSize)).toSorted(
      (a, b) => b.transaction - a.transaction,
    );
    const [newest] = metas;
    if (newest === undefined) return whole('it is no index: both of its first pages are something else');
    const reader = new IndexReader(file, newest);
    if (metas.length < 2) reader.#faults.push(whole('one of its first two pages is something else'));
    const needed = (newest.lastPage + 1) * newest.pageSize;
    if (size < needed) reader.#faults.push(whole(`it has ${size} bytes, expected at least ${needed}`));
    return reader;
  }

  private constructor(file: number, meta: Meta) {
    this.#file = file;
    this.#pageSize = meta.pageSize;
    this.#lastPage = meta.lastPage;
    this.#trees = meta.trees;
  }

  walk({ onEntry, leavesMax = Number.POSITIVE_INFINITY }: IndexWalk): IndexFault[] {
    this.#leavesLeft = leavesMax;
    const [free, main] = this.#trees;
    this.#tree(free, FREE_PAGES, () => undefined);
    const tables: (readonly [name: string, tree: Tree])[] = [];
    this.#onEntry = onEntry;
    this.#tree(main, undefined, (key, value, flags) => {
      if ((flags & SUB_TREE) !== 0 && value.length === TREE_SIZE)
        // lmdb-js adds the zero byte.
        tables.push([key.toString('latin1', 0, key.length - 1), treeAt(value, 0)]);
    });
    for (const [name, tree] of tables) {
      this.#tree(tree, name, (key, value) => onEntry?.(name, [new Uint8Array(key), new Uint8Array(value)]));
    }
    return this.#faults;
  }

  #tree(tree: Tree, table: string | undefined, each: Each): void {
    if (tree.root === NO_ROOT) return;
    const before = this.#faults.length;
    const found = this.#page(tree.root, { table, each, depth: 0 });
    const isWhole = before === this.#faults.length && this.#leavesLeft > 0;
    if (isWhole && found !== tree.entries)
      this.#faults.push({
        page: Number(tree.root),
        table,
        fault: `${found} entries, expected ${tree.entries}`,
      });
  }

  /** @returns number of entries below */
  #page(number: bigint, at: { table: string | undefined; each: Each; depth: number }): number {
    const { table, each, depth } = at;
    const broken = (fault: string) => {
      this.#faults.push({ page: Number(number), table, fault });
      return 0;
    };
    if (number < 2n || number > BigInt(this.#lastPage)) return broken('lies outside of the file');
    if (depth > DEPTH_MAX || this.#seen.has(Number(number))) return broken('is used twice');
    this.#seen.add(Number(number));
    const page = this.#read(Number(number), 1);
    if (page === undefined) return broken('cannot be read');
    if (page.readBigUInt64LE(0) !== number) return broken('is another page');
    const kind = page.readUInt16LE(FLAGS_OFFSET);
    if (kind !== BRANCH && kind !== LEAF) return broken(`is of the unknown kind ${kind}`);
    const nodes = nodesOf(page, kind === BRANCH);
    if (nodes === undefined) return broken('has entries outside of it');
    if (kind === BRANCH) {
      if (nodes.length === 0) return broken('has no children');
      return nodes.reduce((sum, { child }) => sum + this.#page(child, { table, each, depth: depth + 1 }), 0);
    }
    if (this.#leavesLeft <= 0) return 0;
    this.#leavesLeft -= 1;
    const isSorted = table !== undefined && table !== FREE_PAGES;
    if (isSorted && nodes.some(({ key }, i) => i > 0 && Buffer.compare(nodes[i - 1]!.key, key) >= 0))
      return broken('is not in order');
    for (const { key, value, flags, size } of nodes) {
      const bytes = (flags & BIG_DATA) === 0 ? value : this.#overflow(value.readBigUInt64LE(0), size);
      if (bytes === undefined) broken('has an entry whose bytes lie elsewhere, and not there');
      else each(key, bytes, flags);
    }
    return nodes.length;
  }

  #overflow(number: bigint, size: number): Buffer | undefined {
    if (number < 2n || number > BigInt(this.#lastPage)) return undefined;
    const first = this.#read(Number(number), 1);
    if (first?.readBigUInt64LE(0) !== number || first.readUInt16LE(FLAGS_OFFSET) !== OVERFLOW)
      return undefined;
    const pages = Math.ceil((HEADER_SIZE + size) / this.#pageSize);
    if (first.readUInt32LE(LOWER_OFFSET) !== pages) return undefined;
    // Only if entries are wanted.
    if (this.#onEntry === undefined) return Buffer.alloc(0);
    return this.#read(Number(number), pages)?.subarray(HEADER_SIZE, HEADER_SIZE + size);
  }

  #read(page: number, pages: number): Buffer | undefined {
    return readAt(this.#file, page * this.#pageSize, pages * this.#pageSize);
  }
}

type Each = (key: Buffer, value: Buffer, flags: number) => void;

interface Meta {
  readonly pageSize: number;
  readonly transaction: number;
  readonly lastPage: number;
  readonly trees: readonly [Tree, Tree];
}

function readMetas(file: number, pageSize: number): Meta[] {
  return [0, 1].flatMap((number) => {
    const page = readAt(file, number * pageSize, pageSize);
    if (page === undefined || (page.readUInt16LE(FLAGS_OFFSET) & META) === 0) return [];
    if (page.readUInt32LE(HEADER_SIZE) !== MAGIC || page.readUInt32LE(HEADER_SIZE + 4) !== VERSION) return [];
    if (page.readUInt32LE(TREES_OFFSET) !== pageSize) return [];
    const end = TREES_OFFSET + 2 * TREE_SIZE;
    const trees = [treeAt(page, TREES_OFFSET), treeAt(page, TREES_OFFSET + TREE_SIZE)] as const;
    const [lastPage, transaction] = [page.readBigUInt64LE(end), page.readBigUInt64LE(end + 8)].map(Number);
    return [{ pageSize, trees, lastPage: lastPage!, transaction: transaction! }];
  });
}

function treeAt(bytes: Buffer, offset: number): Tree {
  return {
    entries: Number(bytes.readBigUInt64LE(offset + ENTRIES_OFFSET)),
    root: bytes.readBigUInt64LE(offset + ROOT_OFFSET),
  };
}

interface Node {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly flags: number;
  readonly size: number;
  readonly child: bigint;
}

/** Undefined when a node lies outside. Offsets count from the header's end. */
function nodesOf(page: Buffer, isBranch: boolean): Node[] | undefined {
  const body = page.subarray(HEADER_SIZE);
  const [lower, upper] = [page.readUInt16LE(LOWER_OFFSET), page.readUInt16LE(UPPER_OFFSET)];
  if (lower % 2 !== 0 || lower > upper || upper > body.length) return undefined;
  const nodes: Node[] = [];
  for (let at = 0; at < lower; at += 2) {
    const place = body.readUInt16LE(at);
    if (place < upper || place + NODE_SIZE > body.length) return undefined;
    const [low, high, flags, keySize] = [0, 2, 4, 6].map((offset) => body.readUInt16LE(place + offset)) as [
      number,
      number,
      number,
      number,
    ];
    const size = high * 0x1_0000 + low;
    const keyEnd = place + NODE_SIZE + keySize;
    const end = isBranch ? keyEnd : keyEnd + ((flags & BIG_DATA) === 0 ? size : 8);
    if (end > body.length) return undefined;
    nodes.push({
      key: body.subarray(place + NODE_SIZE, keyEnd),
      value: body.subarray(keyEnd, end),
      flags,
      size,
      child: BigInt(flags) * 2n ** 32n + BigInt(size),
    });
  }
  return nodes;
}

function readAt(file: number, offset: number, length: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(length);
  return readSync(file, bytes, 0, length, offset) < length ? undefined : bytes;
}

function whole(fault: string): IndexFault {
  return { page: 0, table: undefined, fault };
}
