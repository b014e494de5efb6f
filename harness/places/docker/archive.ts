import { type TarEntry, tarStream } from '../../base/tree.ts';
import type { PlannedFile } from '../../flavours/flavour.ts';
import { USER_ID } from '../../flavours/inside-image.ts';

export async function archiveOf(files: readonly PlannedFile[]): Promise<Buffer> {
  const folders = new Set(files.flatMap(({ path }) => foldersOf(path)));
  const entries: TarEntry[] = [
    ...Array.from(folders, (path) => ({ path, mode: 0o700, owner: USER_ID })),
    ...files.map(({ path, content }) => ({
      path,
      data: Buffer.from(content),
      mode: 0o600,
      owner: USER_ID,
    })),
  ];
  return Buffer.concat(await Array.fromAsync(tarStream(entries) as AsyncIterable<Buffer>));
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
