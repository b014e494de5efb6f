/** Programs that a file from elsewhere names: they run only where a person has said so. */
import { resolve } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { FLAVOUR_NAMES } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';

/** Option of the commands that read such files. */
export const TRUST = '--trust';

/**
 * Paths of programs in groups of nodes, but for those that this machine's environment names too.
 * @param groups as a file has them, not checked yet
 */
export function programsIn(groups: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(groups) ? groups : [groups];
  const programs = list.flatMap((group) =>
    typeof group === 'object' && group !== null && 'binary' in group ? [String(group.binary)] : [],
  );
  const own = new Set(ownPrograms());
  return [...new Set(programs)].filter((program) => !own.has(resolve(program)));
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
 * @param runs what the file would run, in words @param source of it, for messages
 * @throws HarnessError `NOT_TRUSTED`
 */
export function expectTrusted(
  runs: readonly string[],
  { source, trust }: { readonly source: string; readonly trust: boolean | undefined },
): void {
  if (trust === true || runs.length === 0) return;
  throw new HarnessError('NOT_TRUSTED', `${source} would run ${runs.join(', ')}`, {
    hint: `If you know what that does, repeat the command with ${TRUST}.`,
  });
}
