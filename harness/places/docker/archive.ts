/** Packs files into the archive that is copied into a container. */
import { pack } from 'tar-stream';
import type { PlannedFile } from '../../flavours/flavour.ts';
import { USER_ID } from '../../flavours/inside-image.ts';

const OWNED = { uid: USER_ID, gid: USER_ID } as const;

/** @param folder that they are in; it and their subfolders are created too */
export async function archiveOf(folder: string, files: readonly PlannedFile[]): Promise<Buffer> {
  const archive = pack();
  const folders = new Set(files.flatMap(({ path }) => foldersOf(`${folder}/${path}`)));
  for (const name of folders) archive.entry({ name, type: 'directory', mode: 0o700, ...OWNED });
  for (const { path, content } of files) {
    archive.entry({ name: `${folder}/${path}`, mode: 0o600, ...OWNED }, content);
  }
  archive.finalize();
  return Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>));
}

/** `a/b/c` is in `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
