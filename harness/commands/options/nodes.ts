/** Commands that show a cluster and its nodes, or start, stop and freeze one of them, on the command line. */
import { Option } from 'commander';
import type { ClusterFlags } from '../context.ts';
import { NODE_ACTIONS, type NodeAction } from '../node-action-names.ts';
import { type ClusterCommand, intervalFlag, type RunCommand, whole } from './values.ts';

/** `ps` and `status`. */
export function addStatusCommands(about: ClusterCommand, run: RunCommand): void {
  about('ps', 'list the nodes of a cluster, or all clusters unless there is exactly one')
    .option('--wide', 'print every value in full')
    .action((flags) => run(flags, async (f, c) => (await import('../ps.ts')).ps(f, c)));

  about('status', 'show cluster health, debts and problems')
    .addOption(
      new Option('--watch [interval]', 'refresh until interrupted (default interval: 2s)')
        .preset('2s')
        .argParser(intervalFlag),
    )
    .action((flags) => run(flags, async (f, c) => (await import('../status.ts')).status(f, c)));
}

/** `logs`, `env` and `keys`. */
export function addDetails(about: ClusterCommand, run: RunCommand): void {
  about('logs', 'show the log of a node or the chain')
    .argument('<node>', "name of a node, or 'chain'")
    .option('-f, --follow', 'follow the log')
    .option('-l, --lines <count>', 'number of latest lines to show first', whole(0, 100_000), 50)
    .action((node: string, flags) =>
      run(flags, async (f, c) => (await import('../logs.ts')).logs(node, f, c)),
    );

  about('env', 'print a cluster as shell variables, for eval "$(svcnet env)"').action((flags) =>
    run(flags, async (f, c) => (await import('../env.ts')).env(f, c)),
  );

  about('keys', 'print the accounts of the nodes and three spare accounts, with private keys')
    .option('--wide', 'print every column')
    .action((flags) => run(flags, async (f, c) => (await import('../keys.ts')).keys(f, c)));
}

const START_NOTE = `
After a reboot, or when its processes were killed, a cluster of svcnet up starts again from its folder: the same keys,
chunks, batches and balances, and the same ports unless something else has taken them. Active faults have ended, and
stopped nodes run again.
`;

export function addNodeActions(about: ClusterCommand, run: RunCommand): void {
  const act = (action: NodeAction, node: string, flags: ClusterFlags) =>
    run(flags, async (f, c) => (await import('../node-actions.ts')).nodeAction(action, node, f, c));
  for (const [action, description] of Object.entries(NODE_ACTIONS)) {
    if (action === 'start') {
      about(action, description)
        .argument('[node]', 'name of the node, for example node-0 (default: chain and all nodes)')
        .addHelpText('after', START_NOTE)
        .action((node: string | undefined, flags: ClusterFlags) =>
          node === undefined
            ? run(flags, async (f, c) => (await import('../start.ts')).startAgain(f, c))
            : act(action, node, flags),
        );
      continue;
    }
    about(action, description)
      .argument('<node>', 'name of the node, for example node-0')
      .action((node: string, flags: ClusterFlags) => act(action as NodeAction, node, flags));
  }
}

export function addDown(about: ClusterCommand, run: RunCommand): void {
  about('down', 'stop a cluster and remove everything it created; forget an attached network')
    .option('--all', 'remove every cluster')
    .action((flags) => run(flags, async (f, c) => (await import('../down.ts')).down(f, c)));
}
