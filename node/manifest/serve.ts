/** `data-formats.md` 5.5, `http-api-completion.md` 5.3. */
import { posix } from 'node:path';
import type { Entry, Manifest } from './manifest.ts';
import { ERROR_DOCUMENT, INDEX_DOCUMENT } from './metadata.ts';

export type Resolution =
  /** Status 200 even for the error document. */
  | { readonly outcome: 'serve'; readonly entry: Entry }
  /** 308, to the path with a separator. */
  | { readonly outcome: 'redirect' }
  /** `NO_INDEX`: the empty path, without a document. `NO_PATH`: nothing matches. `NO_CONTENT`: only metadata. */
  | { readonly outcome: 'not-found'; readonly reason: 'NO_INDEX' | 'NO_PATH' | 'NO_CONTENT' };

/** Its metadata names a website's documents. */
const ROOT_PATH = '/';

/** @param path after the reference and its separator, decoded @throws ManifestError, and what reading a node throws */
export async function resolvePath(manifest: Manifest, path: string): Promise<Resolution> {
  const wanted = collapseEnd(path);
  const exact = wanted === '' ? undefined : await manifest.lookup(wanted);
  if (exact !== undefined) return serve(exact, 'NO_PATH');
  const isDirectory = wanted !== '' && !wanted.startsWith('/') && (await manifest.hasPrefix(`${wanted}/`));
  if (isDirectory) return { outcome: 'redirect' };
  const documents = (await manifest.metadata(ROOT_PATH)) ?? {};
  const index = documents[INDEX_DOCUMENT];
  if (wanted === '') return serve(await find(manifest, index), 'NO_INDEX');
  const below = index === undefined || wanted.endsWith(index) ? undefined : join(wanted, index);
  const error = documents[ERROR_DOCUMENT];
  const substitute =
    (await find(manifest, below)) ?? (await find(manifest, error === wanted ? undefined : error));
  return serve(substitute, 'NO_PATH');
}

function serve(entry: Entry | undefined, missing: 'NO_INDEX' | 'NO_PATH'): Resolution {
  if (entry === undefined) return { outcome: 'not-found', reason: missing };
  const hasContent = entry.reference.some((byte) => byte !== 0);
  return hasContent ? { outcome: 'serve', entry } : { outcome: 'not-found', reason: 'NO_CONTENT' };
}

async function find(manifest: Manifest, path: string | undefined): Promise<Entry | undefined> {
  return path === undefined || path === '' ? undefined : manifest.lookup(path);
}

function join(directory: string, name: string): string {
  const joined = posix.join(directory, name);
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined;
}

function collapseEnd(path: string): string {
  let end = path.length;
  while (path.endsWith('//', end)) end -= 1;
  return path.slice(0, end);
}
