import { NotExpected, oneOf, whole } from '../../cluster/plan/options/flag.ts';
import { NODES_MAX } from '../../cluster/plan/options/nodes.ts';
import { DEFAULT_SEED, type Machine } from '../../export/export-request.ts';
import { TARGETS } from '../../export/obstacles.ts';
import { clusterOptions } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { JSON_OPTION, WIDE_OPTION } from './values.ts';

export const validate: CommandOptions = {
  arguments: ['cluster file (YAML)'],
  options: JSON_OPTION,
  note: `
Exits with 0 when the file is valid, with 2 after listing every error. The programs that the file names are not
run: only a start asks them whether they know their options.`,
};

export const checkFlavour: CommandOptions = {
  arguments: ['flavour file (YAML)'],
  options: JSON_OPTION,
  note: `
Starts the node beside two of ours, in a cluster that it removes afterwards. Names the statements that this cannot check.
Exits with 0 when all others are true, with 1 after printing what was expected instead.

Example:
  svcnet flavour check ./ant.flavour.yaml`,
};

export const attach: CommandOptions = {
  options: {
    '-f, --file <path>': {
      help: 'network file (YAML): endpoints of the nodes and the chain',
      required: 'always',
    },
    '--name <cluster>': 'name of the cluster (default: the name in the file, or the file name)',
    '--token-file <path>': 'file with one token for all nodes; overrides the network file',
    ...WIDE_OPTION,
    ...JSON_OPTION,
  },
  note: `
A network file lists at least the endpoints; svcnet asks the nodes for the rest:
  chain: { rpc: http://127.0.0.1:8545 }     # also control, contracts
  nodes:
    - api: http://127.0.0.1:1633            # also debug, name, key
    - api: http://127.0.0.1:1643
ps, status, metrics, dashboards, stamp, env, keys, run and load work as on any other cluster; down forgets it and
stops nothing. Runs spend: they upload under the nodes' batches, and some buy batches.`,
};

export const init: CommandOptions = {
  arguments: [{ help: 'path of the new file', default: 'cluster.yaml' }],
  options: { '--force': 'overwrite an existing file', ...JSON_OPTION },
};

export const schema: CommandOptions = {
  options: { '--json': 'no effect: the schema is already one JSON document' },
  note: `
Example:
  svcnet schema > cluster.schema.json

Editors then validate and complete cluster files that begin with
  # yaml-language-server: $schema=cluster.schema.json`,
};

export const exportDefinition: CommandOptions = {
  arguments: [{ help: `engine: ${TARGETS.join(', ')}`, parse: oneOf(TARGETS) }],
  options: {
    ...clusterOptions(['file'], {
      file: { help: 'cluster file (YAML); options override it' },
    }),
    '-n, --nodes <count>': { help: 'number of nodes (default: 5)', parse: whole(1, NODES_MAX) },
    '--name <network>': 'name of the network (default: svcnet)',
    ...clusterOptions(['seed', 'dialect'], {
      seed: { help: 'seed for all keys', fallback: DEFAULT_SEED.toString() },
    }),
    '--image <reference>': 'image of nodes and chain (default: svcnet, built from node/Dockerfile)',
    '--machine <name=address>': {
      help: 'machine in the Docker swarm to place a share of the nodes on (repeatable)',
      parse: machine,
      repeatable: true,
      shown: 'the swarm decides',
    },
    '-o, --output <folder>': 'folder for the files (default: the first file to standard output)',
    '--force': 'overwrite existing files',
    ...JSON_OPTION,
  },
  note: `
Examples:
  svcnet export compose > docker-compose.yml
  svcnet export stack -n 50 --output stack --machine worker-1=10.0.0.11 --machine worker-2=10.0.0.12
  svcnet export kubernetes -f cluster.yaml --output manifests

docs/many-machines.md explains how to start, use and remove such a network.`,
};

function machine(text: string, before: readonly Machine[]): readonly Machine[] {
  const [, name = '', address = ''] = /^([^=\s]+)=([^=\s:/]+)$/.exec(text) ?? [];
  if (name === '')
    throw new NotExpected('Expected a host name and an address, for example worker-1=10.0.0.11.');
  if (before.some((one) => one.name === name)) throw new NotExpected(`${name} is given twice.`);
  return [...before, { name, address }];
}
