/** A typed flavour: name or file, perhaps with `@PROGRAM`. */
import { existsSync, statSync } from 'node:fs';
import { HarnessError } from '../base/errors.ts';
import { readFlavour } from '../cluster/plan/document/flavour-file.ts';
import { FLAVOUR_NAME } from '../flavours/declared/file.ts';
import type { FlavourInput } from '../flavours/declared/input.ts';
import { FLAVOUR_NAMES } from '../flavours/flavour.ts';

/** The program follows the first `@` behind a flavour or its file, whose path may have some of its own. */
export function parted(text: string): readonly [flavour: string, program: string | undefined] {
  const parts = text.split('@');
  const before = (count: number) => parts.slice(0, count).join('@');
  const isFlavour = (name: string) =>
    FLAVOUR_NAMES.some((own) => own === name) || (existsSync(name) && statSync(name).isFile());
  const count = parts.findIndex((_, index) => isFlavour(before(index + 1))) + 1 || 1;
  return [before(count), count < parts.length ? parts.slice(count).join('@') : undefined];
}

/**
 * @param program of a separate option
 * @throws HarnessError `DEFINITION_INVALID`, `USAGE` for two programs
 */
export async function flavourGiven(
  text: string | undefined,
  program: string | undefined,
): Promise<{
  readonly flavour?: string | FlavourInput | undefined;
  readonly binary?: string | undefined;
}> {
  if (text === undefined) return { binary: program };
  const [flavour, binary] = parted(text);
  if (binary !== undefined && program !== undefined)
    throw new HarnessError('USAGE', `got programs ${binary} and ${program}, expected one`);
  return {
    flavour: FLAVOUR_NAME.test(flavour) ? flavour : await readFlavour(flavour),
    binary: binary ?? program,
  };
}
