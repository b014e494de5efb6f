/** `svcnet snapshot` on the command line. */
import type { Command } from 'commander';
import type { RunCommand } from './values.ts';

export function addSnapshots(program: Command, run: RunCommand): void {
  const snapshot = program.command('snapshot').description('save clusters, and start others from them');
  snapshot
    .command('save')
    .description('save chain, data and identities of a cluster; its nodes stop for a moment')
    .argument('<snapshot>', 'name of the snapshot')
    .option('--name <cluster>', 'name of the cluster (default: the only one)')
    .option('--force', 'replace an existing snapshot of that name')
    .option('--json', 'print one JSON document and nothing else')
    .action((name: string, flags) =>
      run(flags, async (f, c) => (await import('../snapshot.ts')).saveSnapshot(name, f, c)),
    );
  snapshot
    .command('ls')
    .description('list snapshots')
    .option('--json', 'print one JSON document and nothing else')
    .action((flags) => run(flags, async (f, c) => (await import('../snapshot.ts')).listAllSnapshots(f, c)));
  snapshot
    .command('rm')
    .description('remove a snapshot')
    .argument('<snapshot>', 'name of the snapshot')
    .option('--json', 'print one JSON document and nothing else')
    .action((name: string, flags) =>
      run(flags, async (f, c) => (await import('../snapshot.ts')).removeOneSnapshot(name, f, c)),
    );
}
