/** Changes the node's sources as this process loads them. */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Edit } from './bugs.ts';

const NODE = join(import.meta.dirname, '../../node');

/** @throws Error unless the place is there exactly once */
export function edited(source: string, { file, from, to }: Edit): string {
  const parts = source.split(from);
  if (parts.length !== 2) {
    throw new Error(`${file}: ${parts.length - 1} places read ${JSON.stringify(from)}, expected one`);
  }
  return parts.join(to);
}

/** Before they are loaded. */
export function plant(edits: readonly Edit[]): void {
  const byUrl = Map.groupBy(edits, ({ file }) => pathToFileURL(join(NODE, file)).href);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = byUrl.get(url);
      if (own === undefined) return loaded;
      if (loaded.source === undefined || loaded.source === null) throw new Error(`${url}: no source to edit`);
      const text =
        typeof loaded.source === 'string'
          ? loaded.source
          : Buffer.from(loaded.source as Uint8Array).toString();
      return { ...loaded, source: own.reduce(edited, text) };
    },
  });
}
