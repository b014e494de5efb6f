import { whole } from '../../cluster/plan/options/flag.ts';
import { clusterOptions } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { interval, limit, ONE_CLUSTER, WIDE_OPTION } from './values.ts';

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
  arguments: ["names of nodes, or 'chain' (default: all nodes)"],
  options: {
    ...ONE_CLUSTER,
    '-f, --follow': 'follow the logs',
    '-l, --lines <count>': {
      help: 'number of latest lines of each log to show first',
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

const FOR_GOOD = {
  '--for-good':
    'also remove the data; the number is never reused (default: svcnet start brings the node back)',
};

export const add: CommandOptions = {
  options: {
    ...clusterOptions(['nodes'], { nodes: { help: 'number of new nodes', fallback: '1' } }),
    '--flavour <flavour>':
      'implementation: svc, bee, dishonest, one that the cluster knows, or the path of a flavour file, with @PROGRAM for another program (default: svc)',
    '--mode <mode>': 'full, light or boot (default: full)',
    '--neighbourhood <bits>':
      'first bits of the new overlays, for example 0110 (default: derived from the seed)',
    ...clusterOptions(['beeBinary', 'dishonest']),
    '--image <name>': 'with driver docker: container image (default: the one of this package)',
    '--timeout <duration>': {
      help: 'time limit of each step (default: grows with the number of nodes)',
      parse: limit,
    },
    ...ONE_CLUSTER,
    ...WIDE_OPTION,
  },
  note: `
New nodes get the keys, funds, batches and chequebooks that a larger cluster would have given them. Only a cluster whose
topology is a mesh can grow.

Examples:
  svcnet add
  svcnet add -n 3 --neighbourhood 0110
  svcnet add --flavour bee --bee-binary ./bee
  svcnet add --flavour ./ant.flavour.yaml
`,
};

export const remove: CommandOptions = {
  arguments: ['name of the node, for example node-4'],
  options: { ...ONE_CLUSTER, ...FOR_GOOD },
  note: `
Nothing that the node has stored is moved: the network has to heal by itself. With --for-good, uploads that the node has
not pushed yet and cheques that it has not cashed are lost.
`,
};

export const scale: CommandOptions = {
  arguments: [{ help: 'number of nodes that should run', parse: whole(1, 1000) }],
  options: {
    ...ONE_CLUSTER,
    ...FOR_GOOD,
    '--timeout <duration>': {
      help: 'time limit of each step (default: grows with the number of nodes)',
      parse: limit,
    },
    ...WIDE_OPTION,
  },
  note: `
Nodes that svcnet remove or stop took away come back first; then svc nodes are added. When nodes leave, the highest
numbers go first; boot nodes and the last full node stay. With --for-good, nodes leave in quick succession, and chunks
that only they have stored are lost.
`,
};

export const upgrade: CommandOptions = {
  arguments: ['name of the node, for example node-2'],
  options: {
    '--binary <path>': 'program: a Bee, or another node of ours, which may be a script for Node.js',
    '--image <name>': 'with driver docker: container image, instead of a program',
    '--flavour <flavour>':
      'implementation: svc, bee, one that the cluster knows, or the path of a flavour file, with @PROGRAM for another program',
    '--mode <mode>': 'full or light',
    '--rolling': 'all nodes, one after another; each has its peers back before the next one stops',
    '--timeout <duration>': {
      help: 'time limit of each start, and of the wait for its peers after that (default: 60s, and by the number of nodes)',
      parse: limit,
    },
    ...ONE_CLUSTER,
    ...WIDE_OPTION,
  },
  note: `
The node keeps its number, keys, ports and data directory. A program that stores chunks in a different place or format
starts without the old ones. To go back, upgrade again: --flavour svc is the node of this package. With --rolling, a
--binary or --image alone is for the Bees, or for nodes of ours if there are no others.

Examples:
  svcnet upgrade node-2 --binary ./bee-2.8.1
  svcnet upgrade --rolling --binary ./bee-2.8.1
  svcnet upgrade node-1 --binary ../changed/node/main.ts
  svcnet upgrade node-3 --flavour ./ant.flavour.yaml
  svcnet upgrade node-1 --mode light
`,
};

export const start: CommandOptions = {
  arguments: ['name of the node, for example node-0 (default: chain and all nodes)'],
  options: ONE_CLUSTER,
  note: `
After a reboot, or after its processes were killed, a cluster that svcnet up created starts again from its folder, with
the same keys, chunks, batches and balances, and the same ports unless something else has taken them. Active faults end,
and stopped nodes run again.
`,
};

export const down: CommandOptions = {
  options: {
    ...ONE_CLUSTER,
    '--all': 'remove every cluster',
    '--force': 'also remove a cluster of another PID or time namespace, such as an ended container',
  },
};

/** Kinds and options are loaded with the command. */
export const fault: CommandOptions = { arguments: ['kind of fault and its arguments'] };

export const heal: CommandOptions = {
  arguments: ['fault ids, for example f1 (default: all)'],
  options: ONE_CLUSTER,
};
