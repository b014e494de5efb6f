/** `svcnet report` on the command line. */
import type { Command } from 'commander';
import type { ReportFlags } from '../report.ts';
import type { RunCommand } from './values.ts';

export function addReport(program: Command, run: RunCommand): void {
  program
    .command('report')
    .description('rewrite report.html and report.md of a run from its folder')
    .argument('<run>', "folder of the run, its name, or 'last'")
    .option('--baseline <run>', 'earlier run to compare the headline figures with')
    .option('--open', 'open the page in the browser')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      '\nExamples:\n  svcnet report last --open\n  svcnet report .svcnet/runs/nightly --baseline last',
    )
    .action((name: string, flags: ReportFlags) =>
      run(flags, async (f, c) => (await import('../report.ts')).report(name, f, c)),
    );
}
