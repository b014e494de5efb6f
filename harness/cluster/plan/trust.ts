/** Programs and files that a file from elsewhere names are run or sent only if a person has said so. */
import { resolve } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { FLAVOUR_NAMES } from '../../flavours/flavour.ts';
import { FLAVOURS } from '../../flavours/table.ts';

export const TRUST = '--trust';

/**
 * Paths in flavour files, and in groups of nodes except those that this machine's environment names too.
 * @param definition as in a file, unchecked
 */
export function programsIn({
  nodes,
  flavours,
}: {
  readonly nodes?: unknown;
  readonly flavours?: unknown;
}): string[] {
  const own = new Set(ownPrograms());
  const binaries = named(nodes, 'binary').filter((program) => !own.has(resolve(program)));
  return [...new Set([...binaries, ...named(flavours, 'program')])];
}

function named(entries: unknown, key: string): string[] {
  const list: readonly unknown[] = Array.isArray(entries) ? entries : [entries];
  return list.flatMap((entry) => {
    if (typeof entry !== 'object' || entry === null || !(key in entry)) return [];
    return [String((entry as Readonly<Record<string, unknown>>)[key])];
  });
}

export function uploadsIn(definition: Readonly<Record<string, unknown>>): readonly unknown[] {
  const { prepare } = definition as { prepare?: { uploads?: unknown } | null };
  return Array.isArray(prepare?.uploads) ? prepare.uploads : [];
}

export function uploadedPath(upload: unknown): string | undefined {
  if (typeof upload !== 'object' || upload === null || !('path' in upload)) return undefined;
  return typeof upload.path === 'string' && upload.path !== '' ? upload.path : undefined;
}

function ownPrograms(): string[] {
  return FLAVOUR_NAMES.flatMap((name) => {
    const variable = FLAVOURS[name].binaryVariable;
    const value = variable === undefined ? undefined : process.env[variable];
    return (value ?? '').split(',').map((path) => path.trim());
  })
    .filter((path) => path !== '')
    .map((path) => resolve(path));
}

/**
 * @param runs what the file would run, in words @param source for messages
 * @param uploads paths
 * @throws HarnessError `NOT_TRUSTED`
 */
export function expectTrusted(
  runs: readonly string[],
  {
    source,
    trust,
    uploads = [],
  }: { readonly source: string; readonly trust: boolean | undefined; readonly uploads?: readonly string[] },
): void {
  const deeds = [
    ...(runs.length === 0 ? [] : [`run ${someOf(runs)}`]),
    ...(uploads.length === 0 ? [] : [`upload ${someOf(uploads)}`]),
  ];
  if (trust === true || deeds.length === 0) return;
  throw new HarnessError('NOT_TRUSTED', `${source} would ${deeds.join(' and ')}`, {
    hint: `If you know what that does, repeat the command with ${TRUST}.`,
  });
}

const NAMED_MAX = 10;

function someOf(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return [...names.slice(0, NAMED_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}
