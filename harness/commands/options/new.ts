/** `svcnet new` on the command line. */
import { type Command, InvalidArgumentError } from 'commander';
import type { NewFlags } from '../new-scenario.ts';
import type { RunCommand } from './values.ts';

export function addNew(program: Command, run: RunCommand): void {
  program
    .command('new')
    .description('write a template to start from')
    .command('scenario')
    .description('write a scenario that runs as it is, to change into your own')
    .argument('<name>', 'name of the scenario, in kebab case', scenarioName)
    .option('--folder <path>', 'folder of the file', 'scenarios')
    .option('--json', 'print one JSON document and nothing else')
    .action((name: string, flags: NewFlags) =>
      run(flags, async (f, c) => (await import('../new-scenario.ts')).newScenario(name, f, c)),
    );
}

function scenarioName(text: string): string {
  if (/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(text)) return text;
  throw new InvalidArgumentError('Expected lower-case words joined by hyphens, such as two-readers.');
}
