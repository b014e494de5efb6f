/** Options of the commands that show a cluster and its nodes, change one of them, or break something on purpose. */
import { whole } from '../../cluster/plan/options/flag.ts';
import type { CommandOptions } from './spec.ts';
import { interval, ONE_CLUSTER, WIDE_OPTION } from './values.ts';

export const oneCluster: CommandOptions = { options: ONE_CLUSTER };

export const ps: CommandOptions = { options: { ...ONE_CLUSTER, ...WIDE_OPTION } };

export const status: CommandOptions = {
  options: {
    ...ONE_CLUSTER,
    '--watch [interval]': {
      help: 'refresh until interrupted (default interval: 2s)',
      preset: '2s',
      parse: interval,
    },
  },
};

export const logs: CommandOptions = {
  arguments: ["name of a node, or 'chain'"],
  options: {
    ...ONE_CLUSTER,
    '-f, --follow': 'follow the log',
    '-l, --lines <count>': {
      help: 'number of latest lines to show first',
      parse: whole(0, 100_000),
      default: 50,
    },
  },
};

export const keys: CommandOptions = { options: { ...ONE_CLUSTER, '--wide': 'print every column' } };

export const nodeAction: CommandOptions = {
  arguments: ['name of the node, for example node-0'],
  options: ONE_CLUSTER,
};

export const start: CommandOptions = {
  arguments: ['name of the node, for example node-0 (default: chain and all nodes)'],
  options: ONE_CLUSTER,
  note: `
After a reboot, or when its processes were killed, a cluster of svcnet up starts again from its folder: the same keys,
chunks, batches and balances, and the same ports unless something else has taken them. Active faults have ended, and
stopped nodes run again.
`,
};

export const down: CommandOptions = { options: { ...ONE_CLUSTER, '--all': 'remove every cluster' } };

/** The kinds and their options are loaded with the command: `svcnet fault --help` lists them. */
export const fault: CommandOptions = { arguments: ['kind of fault and its arguments'] };

export const heal: CommandOptions = {
  arguments: ['fault ids, for example f1 (default: all)'],
  options: ONE_CLUSTER,
};
