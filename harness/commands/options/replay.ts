/** `svcnet replay` and `svcnet minimise` on the command line. */
import { type Command, Option } from 'commander';
import type { MinimiseFlags, ReplayFlags } from '../replay.ts';
import { limitFlag, type RunCommand, trustOption, whole } from './values.ts';

const TIMES_MAX = 10_000;
const ATTEMPTS = { default: 60, max: 10_000 } as const;
const BUDGET = { defaultMs: 1_800_000, text: '30m' } as const;

export function addReplay(program: Command, run: RunCommand): void {
  program
    .command('replay')
    .description(
      'repeat a run from its folder; exits with 1 if it fails the same way, with 0 if it never does',
    )
    .argument('<run>', "folder of the run, its name, or 'last'")
    .option('--times <count>', 'number of runs', whole(1, TIMES_MAX), 1)
    .addOption(trustOption())
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Two failures are the same when the same condition of the same scenario is false, or the same kind of error ended it.
Exits with 2 when the run cannot be repeated on this machine. Example:
  svcnet replay last --times 10`,
    )
    .action((name: string, flags: ReplayFlags) =>
      run(flags, async (f, c) => (await import('../replay.ts')).replay(name, f, c)),
    );
  program
    .command('minimise')
    .description(
      'reduce a failed run to fewer nodes, faults, operations and less time that fail the same way',
    )
    .argument('<run>', "folder of a failed run, its name, or 'last'")
    .option('--attempts <count>', 'total number of runs', whole(1, ATTEMPTS.max), ATTEMPTS.default)
    .addOption(
      new Option('--budget <duration>', 'total time')
        .argParser(limitFlag)
        .default(BUDGET.defaultMs, BUDGET.text),
    )
    .option('--out <folder>', "folder for the smallest run (default: minimised, in the run's folder)")
    .addOption(trustOption())
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Ctrl-C keeps the smallest run so far. Run the file it writes with svcnet run FILE.`,
    )
    .action((name: string, flags: MinimiseFlags) =>
      run(flags, async (f, c) => (await import('../replay.ts')).minimise(name, f, c)),
    );
}
