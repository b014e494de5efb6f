import { EXIT, HarnessError } from '../base/errors.ts';
import { type Comparison, compareSides } from '../report/compare/compare.ts';
import { readSides, type Side } from '../report/compare/sides.ts';
import { renderComparison } from '../report/compare/table.ts';
import { TOLERANCE_DEFAULT } from '../report/compare/verdict.ts';
import { type FlavoursFlags, runFlavours } from './compare-flavours.ts';
import { answer, type CommandContext } from './context.ts';

export interface CompareFlags
  extends Omit<FlavoursFlags, 'flavours'>,
    Partial<Pick<FlavoursFlags, 'flavours'>> {
  /** Default: `TOLERANCE_DEFAULT`. */
  readonly tolerance?: number;
  readonly wide?: boolean;
}

const FOR_RUNS = [
  'scenario',
  'load',
  'duration',
  'rounds',
  'nodes',
  'driver',
  'seed',
  'report',
  'beeBinary',
  'k6',
] as const;

/** @returns failed check: a figure is worse beyond the tolerance */
export async function compare(
  runs: readonly string[],
  flags: CompareFlags,
  context: CommandContext,
): Promise<number> {
  const { tolerance = TOLERANCE_DEFAULT } = flags;
  const comparison = compareSides(await sidesOf(runs, flags, context), tolerance);
  answer(context, comparison, linesOf(comparison, flags, context));
  return comparison.verdict === 'worse' ? EXIT.checkFailed : EXIT.success;
}

async function sidesOf(
  runs: readonly string[],
  flags: CompareFlags,
  context: CommandContext,
): Promise<[Side, Side, ...Side[]]> {
  const { flavours } = flags;
  if (flavours !== undefined) {
    if (runs.length === 0) return runFlavours({ ...flags, flavours }, context);
    throw new HarnessError('USAGE', `--flavours: starts its own runs, but also got ${runs.join(', ')}`, {
      hint: 'Name either runs to compare or flavours to run.',
    });
  }
  const extra =
    FOR_RUNS.find((flag) => flags[flag] !== undefined) ?? (flags.set.length > 0 ? 'set' : undefined);
  if (extra !== undefined) {
    const name = extra.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new HarnessError('USAGE', `--${name}: only valid with --flavours`);
  }
  const [first, second, ...more] = readSides(runs, context.stateDir);
  if (first === undefined || second === undefined) {
    throw new HarnessError(
      'USAGE',
      `got ${runs.length === 1 ? 'one run' : 'no runs'}, expected two or more to compare`,
      {
        hint: 'Name run folders, runs in the state directory, or flavours with --flavours svc,bee.',
      },
    );
  }
  return [first, second, ...more];
}

function linesOf(
  comparison: Comparison,
  { wide = false }: CompareFlags,
  { style, width }: CommandContext,
): string[] {
  return renderComparison(comparison, { style, width, wide });
}
