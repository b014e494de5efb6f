/** `node/main.ts db …`, for a store that no node uses. */
import { systemClock } from '../../formats/clock.ts';
import { silentLogger } from '../env/logger.ts';
import { OptionError } from '../options.ts';
import type { Finding } from '../store/disk/check.ts';
import { checkFiles } from '../store/disk/check-files.ts';
import { compactFiles } from '../store/disk/compact-files.ts';
import { openLmdbStore, openOffline, ownerOf } from '../store/lmdb-store.ts';
import { exportStore, nothingExported } from './export.ts';
import { importArchive } from './import.ts';

const NAMES_MAX = 5;
const PROGRESS_STEP = 1000;

const COMMANDS = {
  check: ['', 'look at every slot and record of a store; changes nothing'],
  compact: ['', 'give the space of what has left a store back to the disk'],
  export: ['FILE|-', 'write all chunks, their stamps and the pins as a tar archive'],
  import: ['FILE|-', 'store the chunks of an archive: with stamps in the reserve, without in the cache'],
} as const;

type Name = keyof typeof COMMANDS;

export interface DbRequest {
  readonly name: Name;
  /** `-` is standard input or output. Empty without one. */
  readonly file: string;
  readonly rest: readonly string[];
}

export interface DbWorld {
  readonly path: string;
  /** Overlay of the keys beside the store, created if missing. Called only for a new store. */
  readonly newOwner: () => Promise<Uint8Array>;
  /** @throws at once the system's error for an unreadable file */
  readonly read: (file: string) => AsyncIterable<Uint8Array>;
  readonly write: (file: string, content: AsyncIterable<Uint8Array>) => Promise<void>;
  /** A line that the next one replaces. */
  readonly progress: (text: string) => void;
  readonly print: (line: string) => void;
}

export function dbUsage(): string[] {
  return Object.entries(COMMANDS).map(
    ([name, [file, help]]) => `${['db', name, file].filter((part) => part !== '').join(' ')}   ${help}`,
  );
}

/** @param argv after `db` @throws OptionError */
export function dbRequest(argv: readonly string[]): DbRequest {
  const [name = '', ...rest] = argv;
  if (!isName(name))
    throw new OptionError(
      `db: got ${name === '' ? 'no command' : `'${name}'`}, expected ${Object.keys(COMMANDS).join(', ')}`,
    );
  if (COMMANDS[name][0] === '') return { name, file: '', rest };
  const [file = '', ...options] = rest;
  if (file === '' || file.startsWith('--'))
    throw new OptionError(`db ${name}: expected the file of an archive, or - for a pipe`);
  return { name, file, rest: options };
}

function isName(name: string): name is Name {
  return Object.hasOwn(COMMANDS, name);
}

/** @returns whether all is well @throws StoreError, ArchiveError, KeystoreError */
export async function runDb({ name, file }: DbRequest, world: DbWorld): Promise<boolean> {
  switch (name) {
    case 'check':
      return check(world);
    case 'compact':
      return compact(world);
    case 'export':
      return exportTo(file, world);
    case 'import':
      return importFrom(file, world);
  }
}

function check({ path, progress, print }: DbWorld): boolean {
  const findings = checkFiles(path, stepwise(progress, 'slots'));
  for (const finding of findings) print(lineOf(finding));
  const wrong = findings.reduce((sum, finding) => sum + finding.wrong, 0);
  print(wrong === 0 ? 'the store is whole' : `the store is damaged: ${wrong} faults`);
  return wrong === 0;
}

async function compact({ path, progress, print }: DbWorld): Promise<boolean> {
  const { moved, before, after } = await compactFiles(path, { onMoved: stepwise(progress, 'chunks moved') });
  print(`${moved} chunks moved`);
  for (const file of ['slots', 'index'] as const) print(`${file}: ${before[file]} → ${after[file]} bytes`);
  return true;
}

function lineOf({ kind, checked, wrong, names }: Finding): string {
  const head = `${kind}: ${checked} checked, ${wrong} wrong`;
  return wrong === 0 ? head : `${head}: ${firstOf(names, wrong)}`;
}

async function exportTo(file: string, { path, write, progress, print }: DbWorld): Promise<boolean> {
  const backend = await openOffline(path);
  const exported = nothingExported();
  try {
    const shown = stepwise(progress, 'chunks');
    await write(
      file,
      watched(exportStore(backend, exported), () => shown(exported.chunks)),
    );
  } finally {
    await backend.close();
  }
  const { chunks, stamps, pins, damaged } = exported;
  print(`${chunks} chunks, ${stamps} stamps and ${pins} pins exported`);
  if (damaged.length > 0)
    print(`${damaged.length} damaged chunks left out: ${firstOf(damaged, damaged.length)}`);
  return damaged.length === 0;
}

async function importFrom(file: string, world: DbWorld): Promise<boolean> {
  const { path, newOwner, read, progress, print } = world;
  // Before a store is created for it.
  const source = read(file);
  const store = await openLmdbStore(
    // For any archive: a smaller cache or reserve drops the rest when its node runs.
    { path, cacheCapacity: Number.MAX_SAFE_INTEGER, reserveCapacity: Number.MAX_SAFE_INTEGER, radius: 0 },
    { clock: systemClock(), log: silentLogger(), overlay: ownerOf(path) ?? (await newOwner()) },
  );
  try {
    const { chunks, known, kept, pins, incomplete } = await importArchive(
      store,
      source,
      stepwise(progress, 'chunks'),
    );
    print(
      `${chunks} chunks read: ${chunks - known - kept} stored, ${known} were there, ${kept} are newer here`,
    );
    print(`${pins} pins are new`);
    if (incomplete.length > 0)
      print(
        `${incomplete.length} pins lack chunks and are left out: ${firstOf(incomplete, incomplete.length)}`,
      );
    return incomplete.length === 0;
  } finally {
    await store.close();
  }
}

async function* watched(
  pieces: AsyncIterable<Uint8Array>,
  onPiece: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const piece of pieces) {
    yield piece;
    onPiece();
  }
}

function stepwise(progress: (text: string) => void, what: string): (count: number) => void {
  return (count) => {
    if (count % PROGRESS_STEP === 0) progress(`${count} ${what}`);
  };
}

function firstOf(names: readonly string[], all: number): string {
  const shown = names.slice(0, NAMES_MAX);
  return shown.join('; ') + (all > shown.length ? `; and ${all - shown.length} more` : '');
}
