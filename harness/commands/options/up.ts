import { clusterOptions, MIXED_NOTE } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { JSON_OPTION, limit, WIDE_OPTION } from './values.ts';

export const up: CommandOptions = {
  options: {
    ...clusterOptions(
      [
        'nodes',
        'light',
        'with',
        'flavour',
        'dishonest',
        'machineFaults',
        'beeBinary',
        'preset',
        'file',
        'trust',
      ],
      { file: { help: 'cluster file (YAML); overrides the preset, options override it' } },
    ),
    '--snapshot <name>':
      'start from a saved snapshot; only --name, --port, --fresh and --timeout may be given with it',
    ...clusterOptions(['name', 'seed', 'driver', 'profile', 'credit', 'dialect', 'coldGossip']),
    ...clusterOptions(['linkFaults', 'tap', 'underlays', 'ports', 'cors', 'otlp']),
    '--fresh': 'first remove the cluster that has this name, as down does',
    '--timeout <duration>': {
      help: 'time limit for the whole start (default: grows with the number of nodes)',
      parse: limit,
    },
    ...clusterOptions(['trace', 'batches']),
    ...WIDE_OPTION,
    ...JSON_OPTION,
  },
  note: `
Examples:
  svcnet up -n 5
  svcnet up -f cluster.yaml --seed 42 --json
  svcnet up -n 4 --with bee=2 --bee-binary ./bee
  svcnet up -n 5 --port 17000 --cors http://localhost:3000
  svcnet up -n 3 --otlp http://127.0.0.1:4318
  svcnet up --preset factory --fresh
  svcnet up --snapshot base --name second
${MIXED_NOTE}`,
};
