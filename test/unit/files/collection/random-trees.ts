/**
 * Random directory trees: names of any bytes, links, sparse and empty files, deep paths, pipes. Programs archive a tree from
 * a disk; here it is also written in the shapes of their archives.
 */
import { seededRandom } from '../../../../formats/random.ts';

export interface Extent {
  readonly offset: number;
  readonly data: Uint8Array;
}

/** Paths are relative and of any bytes; directories come before what is in them. */
export type TreeEntry = { readonly path: Buffer } & (
  | { readonly kind: 'directory' | 'pipe' }
  | { readonly kind: 'file'; readonly size: number; readonly extents: readonly Extent[] }
  | { readonly kind: 'symlink' | 'link'; readonly target: Buffer }
);

const SIZES = [0, 0, 1, 511, 512, 513, 4095, 4096, 4097, 9000];
/** Programs find holes by blocks of the file system. */
const DISK_BLOCK = 4096;
const SEPARATOR = Buffer.from('/');
const EXTENSIONS = ['', '', '', '.html', '.css', '.png', '.json', '.HTML', '.', '.unknown'];
/** No end of a name may be an extension: the machine's own tables give a Bee its type. */
const WORDS = [
  'a',
  'index',
  'größe',
  'naïve',
  '文件',
  '🙂',
  'with space',
  '%41',
  'a?b#c',
  'back\\slash',
  '"quoted"',
  '-dash',
  '...dots',
  '.hidden',
  'tab\there',
  'e\u0301',
  '\ufffd',
  '\ufeffbom',
];

type Draw = ReturnType<typeof seededRandom>;

export function randomTree(seed: number): TreeEntry[] {
  const random = seededRandom('archives', String(seed));
  const folders: Buffer[] = [Buffer.alloc(0)];
  const entries: TreeEntry[] = [];
  const taken = new Set<string>();
  const place = () => {
    for (;;) {
      const folder = pick(random, folders);
      const name = randomName(random);
      const path = folder.length === 0 ? name : Buffer.concat([folder, SEPARATOR, name]);
      const key = path.toString('latin1');
      if (taken.has(key) || path.length > 1500) continue;
      taken.add(key);
      return path;
    }
  };
  let deepest: Buffer = Buffer.alloc(0);
  const depth = random.below(4) === 0 ? 12 : random.below(4);
  for (let i = 0; i < depth; i++) {
    const parent = random.below(3) > 0 ? deepest : pick(random, folders);
    const path = Buffer.concat(
      parent.length === 0 ? [randomName(random)] : [parent, SEPARATOR, randomName(random)],
    );
    if (path.length > 1200 || taken.has(path.toString('latin1'))) continue;
    taken.add(path.toString('latin1'));
    folders.push(path);
    deepest = path;
    entries.push({ kind: 'directory', path });
  }
  const files = 1 + random.below(8);
  for (let i = 0; i < files; i++) entries.push(randomFile(random, place()));
  const targets = entries.filter(({ kind }) => kind === 'file').map(({ path }) => path);
  for (let i = random.below(4); i > 0; i--) {
    const kind = pick(random, ['symlink', 'link', 'link', 'pipe'] as const);
    if (kind === 'pipe') entries.push({ kind, path: place() });
    else entries.push({ kind, path: place(), target: pick(random, targets) });
  }
  return entries;
}

function randomFile(random: Draw, path: Buffer): TreeEntry {
  if (random.below(4) > 0) {
    const size = pick(random, SIZES);
    return { kind: 'file', path, size, extents: size === 0 ? [] : [{ offset: 0, data: random.bytes(size) }] };
  }
  const extents: Extent[] = [];
  let at = 0;
  for (let i = random.below(random.below(6) === 0 ? 40 : 5); i > 0; i--) {
    const offset = at + DISK_BLOCK * (1 + random.below(5));
    const isLast = i === 1;
    const data = random.bytes(isLast ? 1 + random.below(DISK_BLOCK) : DISK_BLOCK * (1 + random.below(2)));
    extents.push({ offset, data });
    at = offset + data.length;
  }
  return { kind: 'file', path, size: at + random.below(3) * 10_000, extents };
}

function randomName(random: Draw): Buffer {
  const extension = Buffer.from(pick(random, EXTENSIONS));
  const kind = random.below(8);
  const length = kind === 0 ? 90 + random.below(140) : 1 + random.below(24);
  const ascii = Buffer.from(random.bytes(length).map((byte) => 0x61 + (byte % 26)));
  if (kind < 3) return Buffer.concat([ascii, extension]);
  if (kind < 6) return Buffer.concat([Buffer.from(pick(random, WORDS)), ascii.subarray(0, 3), extension]);
  // Git does not take its own folder, and its names are not made of dots.
  const bytes = Buffer.from(random.bytes(length));
  const any =
    kind === 6
      ? bytes.map((byte) => 0xa0 + (byte % 96))
      : bytes.map((byte) => (byte === 0 || byte === 0x2f || byte === 0x2e ? 0xff : byte));
  return Buffer.concat([any, extension]);
}

function pick<T>(random: Draw, list: readonly T[]): T {
  return list[random.below(list.length)] as T;
}

/** What a file has when its holes are zeros. */
export function contentOf({ size, extents }: { size: number; extents: readonly Extent[] }): Buffer {
  const content = Buffer.alloc(size);
  for (const { offset, data } of extents) content.set(data, offset);
  return content;
}
