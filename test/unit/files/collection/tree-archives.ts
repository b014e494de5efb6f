/** Writes trees in the shapes of archiving programs, without these programs. */
import { paxEntry, TAR_END, tarEntry } from './archives.ts';
import { contentOf, type TreeEntry } from './random-trees.ts';
import { SPARSE_FORMATS, type SparseFile } from './sparse-archives.ts';

type Writer = (entry: TreeEntry) => Buffer[];
type FileEntry = Extract<TreeEntry, { kind: 'file' }>;

const TYPES = { directory: '5', pipe: '6', symlink: '2', link: '1', file: '0' } as const;
const GNU = { magic: 'ustar  \0' };
const LONG = 100;

function plain(entry: TreeEntry, fields: Parameters<typeof tarEntry>[2] = {}): Buffer {
  const name = entry.kind === 'directory' ? Buffer.concat([entry.path, Buffer.from('/')]) : entry.path;
  const target = 'target' in entry ? { at: { 157: entry.target.toString('latin1', 0, LONG) } } : {};
  const content = entry.kind === 'file' ? contentOf(entry) : '';
  return tarEntry(name.subarray(0, LONG), content, { type: TYPES[entry.kind], ...target, ...fields });
}

/** Programs end the map of a sparse file with its end. */
function isSparse(entry: TreeEntry): entry is FileEntry {
  return entry.kind === 'file' && entry.extents.length > 1;
}

function ended({ size, extents }: FileEntry): SparseFile {
  return { size, extents: [...extents, { offset: size, data: new Uint8Array(0) }] };
}

function longNames(entry: TreeEntry): Buffer[] {
  const names = [
    ['L', entry.path],
    ['K', 'target' in entry ? entry.target : Buffer.alloc(0)],
  ] as const;
  return names
    .filter(([, name]) => name.length >= LONG)
    .map(([type, name]) =>
      tarEntry('././@LongLink', Buffer.concat([name, Buffer.alloc(1)]), { type, ...GNU }),
    );
}

function withPax(sparse: string): Writer {
  return (entry) => {
    if (isSparse(entry))
      return [(SPARSE_FORMATS[sparse] as (typeof SPARSE_FORMATS)[string])(entry.path, ended(entry))];
    return [
      paxEntry({ mtime: '1.5', path: entry.path, ...('target' in entry ? { linkpath: entry.target } : {}) }),
      plain(entry),
    ];
  };
}

/** A name that is too long gets a prefix; what does not fit either is left out, as by the programs. */
function ustar(entry: TreeEntry): Buffer[] {
  const { path } = entry;
  if (path.length < LONG) return [plain(entry)];
  const cut = path.lastIndexOf('/', 155);
  const rest = path.subarray(cut + 1);
  if (cut < 1 || rest.length >= LONG) return [];
  return [plain({ ...entry, path: rest }, { prefix: path.subarray(0, cut) })];
}

const SHAPES: Readonly<Record<string, { readonly writer: Writer; readonly first?: Buffer }>> = {
  v7: {
    writer: (entry) => {
      if (entry.path.length >= LONG - 1 || entry.kind === 'pipe') return [];
      const type = ['file', 'directory'].includes(entry.kind) ? '\0' : TYPES[entry.kind];
      return [plain(entry, { magic: '', type })];
    },
  },
  ustar: { writer: ustar },
  gnu: {
    writer: (entry) => [
      ...longNames(entry),
      isSparse(entry)
        ? (SPARSE_FORMATS['gnu'] as (typeof SPARSE_FORMATS)[string])(entry.path, ended(entry))
        : plain(entry, GNU),
    ],
  },
  'pax 0.0': { writer: withPax('pax 0.0') },
  'pax 0.1': { writer: withPax('pax 0.1') },
  'pax 1.0': { writer: withPax('pax 1.0') },
  git: {
    first: paxEntry({ comment: '0123456789abcdef'.repeat(2) }, 'g'),
    writer: (entry) => {
      if (entry.kind === 'pipe') return [];
      // Git has no hard links.
      const file: TreeEntry =
        entry.kind === 'link' ? { ...entry, kind: 'file', size: 0, extents: [] } : entry;
      return entry.path.length < LONG ? [plain(file)] : [paxEntry({ path: entry.path }), plain(file)];
    },
  },
};

export function archivesOf(tree: readonly TreeEntry[]): [shape: string, archive: Buffer][] {
  return Object.entries(SHAPES).map(([shape, { writer, first = Buffer.alloc(0) }]) => [
    shape,
    Buffer.concat([first, ...tree.flatMap(writer), TAR_END]),
  ]);
}
