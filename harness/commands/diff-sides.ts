import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import { readFlavour } from '../cluster/plan/document/flavour-file.ts';
import type { FlavourInput } from '../flavours/declared/input.ts';
import { HONEST_FLAVOURS } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import type { NodesInput } from '../run/run-options.ts';
import { parted } from './flavour-given.ts';

export interface Side {
  readonly name: string;
  readonly folder: string;
  readonly flavour: string;
  readonly binary?: string | undefined;
  readonly declared?: FlavourInput;
}

export async function sidesOf({
  flavours,
  beeBinary,
}: {
  readonly flavours: string;
  readonly beeBinary?: string;
}): Promise<Side[]> {
  const given = flavours.split(',').map((text) => text.trim());
  if (given.length < 2)
    throw new HarnessError('USAGE', `--flavours: got ${flavours}, expected two or more, separated by commas`);
  return sidesNamed(given, beeBinary);
}

export function nodesOf({ flavour, binary }: Side, count: number): NodesInput {
  return [{ flavour, count, ...(binary === undefined ? {} : { binary }) }];
}

/**
 * @param given flavours or files, each perhaps with `@PROGRAM`
 * @throws HarnessError `USAGE`, or a flavour file's mistake
 */
export function sidesNamed(given: readonly string[], beeBinary?: string): Promise<Side[]> {
  return Promise.all(
    given.map(async (text, index): Promise<Side> => {
      const before = given.slice(0, index).filter((other) => other === text).length;
      const name = before === 0 ? text : `${text} (${before + 1})`;
      const [flavour, program] = parted(text);
      if (HONEST_FLAVOURS.some((own) => own === flavour)) {
        const { binaryVariable } = FLAVOURS[flavour as (typeof HONEST_FLAVOURS)[number]];
        const binary = program ?? (binaryVariable === undefined ? undefined : beeBinary);
        return { name, folder: `${index + 1}-${flavour}`, flavour, binary };
      }
      if (!/[/.]/.test(flavour)) {
        const known = HONEST_FLAVOURS.join(', ');
        throw new HarnessError(
          'USAGE',
          `--flavours: got '${text}', expected ${known} or the path of a flavour file${suggestion(text, HONEST_FLAVOURS)}`,
        );
      }
      const declared = await readFlavour(flavour, '--flavours');
      return {
        name,
        folder: `${index + 1}-${declared.name}`,
        flavour: declared.name,
        binary: program,
        declared,
      };
    }),
  );
}
