/**
 * Loaded before everything else (`node --import`): plants the bug that `SVCNET_PLANTED` names into the node's sources. Nodes
 * run in the process that loads this, so the driver is `simulated`. At its end the process writes its processor time,
 * microseconds, to the file that `SVCNET_PLANTED_CPU` names.
 */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BLIND_BUGS } from './blind.ts';
import { BUGS, type Edit } from './bugs.ts';
import { MESSAGE_BUGS } from './messages.ts';

const NODE = join(import.meta.dirname, '../../node');

/** @throws Error unless the place is there exactly once */
export function edited(source: string, { file, from, to }: Edit): string {
  const parts = source.split(from);
  if (parts.length !== 2) {
    throw new Error(`${file}: ${parts.length - 1} places read ${JSON.stringify(from)}, expected one`);
  }
  return parts.join(to);
}

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

const name = process.env['SVCNET_PLANTED'];
if (name !== undefined) {
  const bugs = [...BUGS, ...BLIND_BUGS, ...MESSAGE_BUGS];
  const bug = bugs.find((one) => one.name === name);
  if (bug === undefined)
    throw new Error(
      `SVCNET_PLANTED: got '${name}', expected one of ${bugs.map((one) => one.name).join(', ')}`,
    );
  plant(bug.edits);
}

const cpuFile = process.env['SVCNET_PLANTED_CPU'];
if (cpuFile !== undefined)
  process.once('exit', () => {
    const { user, system } = process.cpuUsage();
    writeFileSync(cpuFile, String(user + system));
  });
