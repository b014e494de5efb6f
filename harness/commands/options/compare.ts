/** `svcnet compare` on the command line. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parsePercent } from '../../base/format.ts';
import { HONEST_FLAVOURS, type HonestFlavour } from '../../flavours/flavour.ts';
import { TOLERANCE_DEFAULT } from '../../report/compare/verdict.ts';
import {
  beeBinaryOption,
  collect,
  driverOption,
  NODES_MAX,
  oneOf,
  type RunCommand,
  seedFlag,
  whole,
} from './values.ts';

const ROUNDS_MAX = 1000;

export function addCompare(program: Command, run: RunCommand): void {
  program
    .command('compare')
    .description('compare runs: better, same or worse; fails when a figure is worse')
    .argument('[runs...]', 'run folders or names; a folder may hold repeats of one run')
    .option(
      '--tolerance <percent>',
      `largest difference that counts as the same (default: ${TOLERANCE_DEFAULT * 100}%)`,
      percentFlag,
    )
    .option('--wide', 'print figures per node')
    .option(
      '--flavours <names>',
      'start the runs now: fresh clusters of each flavour, in turns',
      flavoursFlag,
    )
    .option('--load <load>', 'with --flavours: k6 load to run, by its name in svcnet load')
    .option('--duration <duration>', 'with --load: length of the measured phase (default: 1m)')
    .option(
      '--k6 <path>',
      'with --load: k6 executable (default: SVCNET_K6, then PATH, then its container image)',
    )
    .option('--scenario <name>', 'with --flavours: scenario to run instead of a load')
    .option('--rounds <count>', 'with --flavours: runs of each flavour (default: 6)', whole(1, ROUNDS_MAX))
    .option(
      '-n, --nodes <count>',
      'with --flavours: nodes in each cluster (default: what the scenario needs)',
      whole(1, NODES_MAX),
    )
    .addOption(beeBinaryOption())
    .addOption(driverOption())
    .option('--seed <number>', 'with --flavours: seed of the first round (default: random)', seedFlag)
    .addOption(
      new Option('--set <key=value>', 'with --flavours: parameter of the scenario (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--report <folder>', 'with --flavours: folder for the runs (default: .svcnet/runs)')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Exits with 0 when nothing is worse, with 1 when a figure is worse beyond the tolerance, with 2 when the runs cannot be
compared. A figure is better or worse when the whole 95 % interval of the ratio lies outside the tolerance, and the same
when all of it lies within; otherwise there are too few samples. Single runs prove little: repeat both sides in turns, at
least four times.

Examples:
  svcnet compare before after --tolerance 5%
  svcnet compare .svcnet/runs/2026-11-22T10-00-00-upload-1 .svcnet/runs/2026-11-22T11-00-00-upload-1 --json
  svcnet compare --flavours svc,bee --load mixed --duration 30s --bee-binary ./bee`,
    )
    .action((runs: string[], flags) =>
      run(flags, async (f, c) => (await import('../compare.ts')).compare(runs, f, c)),
    );
}

function percentFlag(text: string): number {
  const share = parsePercent(text);
  if (share !== undefined && share > 0 && share <= 1) return share;
  throw new InvalidArgumentError('Expected a share above 0% and at most 100%, such as 5%.');
}

function flavoursFlag(text: string): HonestFlavour[] {
  return text.split(',').map((name) => oneOf(HONEST_FLAVOURS)(name.trim()));
}
