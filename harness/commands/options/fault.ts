/** `svcnet fault`, `faults` and `heal` on the command line. */
import type { Command } from 'commander';
import type { ClusterCommand, RunCommand } from './values.ts';

export function addFaults(program: Command, about: ClusterCommand, run: RunCommand): void {
  // The kinds and their options are loaded with the command: svcnet fault --help lists them.
  program
    .command('fault')
    .description('inject a fault until it is healed; --help lists the kinds')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[words...]', 'kind of fault and its arguments')
    .action((words: string[]) =>
      run({}, async (_flags, c) => (await import('../fault.ts')).fault(words, run, c)),
    );

  about('faults', 'list active faults with their age and effect so far').action((flags) =>
    run(flags, async (f, c) => (await import('../fault.ts')).faults(f, c)),
  );

  about('heal', 'heal faults')
    .argument('[ids...]', 'fault ids, for example f1 (default: all)')
    .action((ids: string[], flags) =>
      run(flags, async (f, c) => (await import('../fault.ts')).heal(ids, f, c)),
    );
}
