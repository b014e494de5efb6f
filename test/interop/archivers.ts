import { execFile } from 'node:child_process';
import { closeSync, ftruncateSync, linkSync, mkdirSync, openSync, symlinkSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { TreeEntry } from '../unit/files/collection/random-trees.ts';

const run = promisify(execFile);

const PIPE = 'import os, sys; os.mkfifo(bytes.fromhex(sys.argv[1]))';
/** Leaves out names that a format does not take. */
const PYTHON = `
import os, sys, tarfile
root, out, form = sys.argv[1:]
os.chdir(root)
with tarfile.open(out, 'w', format=getattr(tarfile, form + '_FORMAT')) as archive:
    for folder, folders, names in os.walk('.'):
        folders.sort()
        for name in sorted(folders) + sorted(names):
            try: archive.add(os.path.join(folder, name), recursive=False)
            except (ValueError, UnicodeError): pass
`;
const GIT = `
set -e
git init -q --bare "$2.git"
export GIT_DIR="$2.git" GIT_WORK_TREE="$1"
git -c core.fsync=none -c core.autocrlf=false add -A
git -c user.name=svcnet -c user.email=svcnet@example.org -c core.fsync=none commit -q --allow-empty -m tree
git archive --format=tar HEAD > "$2"
`;

export async function writeTree(folder: string, tree: readonly TreeEntry[]): Promise<void> {
  const at = (path: Buffer) => Buffer.concat([Buffer.from(`${folder}/`), path]);
  for (const entry of tree) {
    const path = at(entry.path);
    if (entry.kind === 'directory') mkdirSync(path);
    else if (entry.kind === 'symlink') symlinkSync(entry.target, path);
    else if (entry.kind === 'link') linkSync(at(entry.target), path);
    else if (entry.kind === 'file') writeSparse(path, entry);
    // Unlike an argument, a name need not be text.
    else await run('python3', ['-c', PIPE, path.toString('hex')]);
  }
}

function writeSparse(path: Buffer, { size, extents }: Extract<TreeEntry, { kind: 'file' }>): void {
  const file = openSync(path, 'w');
  for (const { offset, data } of extents) writeSync(file, data, 0, data.length, offset);
  ftruncateSync(file, size);
  closeSync(file);
}

const turn = <T>(list: readonly T[], seed: number): T => list[seed % list.length] as T;
const gnuTar = (root: string, out: string, ...options: string[]) =>
  run('tar', [...options, '-cf', out, '-C', root, '.']);

export const ARCHIVERS: Readonly<
  Record<string, (root: string, out: string, seed: number) => Promise<unknown>>
> = {
  'tar gnu': (root, out) => gnuTar(root, out, '-S', '--format=gnu'),
  'tar posix': (root, out, seed) =>
    gnuTar(root, out, '-S', '--format=posix', `--sparse-version=${turn(['0.0', '0.1', '1.0'], seed)}`),
  'tar ustar': (root, out) => gnuTar(root, out, '--format=ustar'),
  'tar v7': (root, out) => gnuTar(root, out, '--format=v7'),
  bsdtar: (root, out, seed) =>
    run('bsdtar', ['--format', turn(['pax', 'pax', 'gnutar', 'ustar'], seed), '-cf', out, '-C', root, '.']),
  python: (root, out, seed) => run('python3', ['-c', PYTHON, root, out, turn(['PAX', 'GNU', 'USTAR'], seed)]),
  git: (root, out) => run('sh', ['-c', GIT, 'sh', root, out]),
};

/** @throws if there is no archive; names that its format does not take are no reason */
export async function archiveWith(name: string, root: string, out: string, seed: number): Promise<Buffer> {
  const failure = await ARCHIVERS[name]?.(root, out, seed).then(
    () => undefined,
    (error: unknown) => error,
  );
  return readFile(out).catch(() => {
    throw new Error(`${name} wrote no archive of tree ${seed}`, { cause: failure });
  });
}
