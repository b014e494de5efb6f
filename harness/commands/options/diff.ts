import { collect, seed, whole } from '../../cluster/plan/options/flag.ts';
import { NODES_MAX } from '../../cluster/plan/options/nodes.ts';
import { clusterOptions } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { FLAVOURS_HELP, JSON_OPTION } from './values.ts';

export const diff: CommandOptions = {
  arguments: ['after --: run, and names of scenarios or paths of their files'],
  options: {
    '--flavours <list>': {
      help: `${FLAVOURS_HELP}; the others are compared with the first`,
      required: 'always',
    },
    '-n, --nodes <count>': {
      help: 'nodes in each network (default: what the scenarios need)',
      parse: whole(1, NODES_MAX),
    },
    ...clusterOptions(['beeBinary', 'driver']),
    '--seed <number>': { help: 'seed for all networks (default: random)', parse: seed },
    '--set <key=value>': {
      help: 'parameter of the scenarios (repeatable)',
      parse: collect,
      repeatable: true,
    },
    '--report <folder>': { help: 'folder for the runs (default: .svcnet/runs)', once: true },
    ...JSON_OPTION,
  },
  note: `
Runs the scenarios on each network in turn, in the swarm dialect, and compares HTTP answers, where chunks are stored, what
each node charges and pays for one, and what it forgives. Exits with 0 when every difference is known and explained,
with 1 when one is not, with 2 when the networks cannot be compared. Give a flavour twice to see whether it always
behaves the same way.

Examples:
  svcnet diff --flavours svc,bee --bee-binary ./bee -- run upload retrieval
  svcnet diff --flavours bee@./bee-2.7.1,bee@./bee-2.8.1 --seed 7 -- run upload
  svcnet diff --flavours svc,svc@../changed/node/main.ts -- run upload retrieval
  svcnet diff --flavours svc,./ant.flavour.yaml@./ant-0.2 --set count=2 -- run manifest`,
};
