/** Commands about clusters as files, `validate`, `attach`, `init`, `schema` and `export`, on the command line. */
import { type Command, Option } from 'commander';
import { DEFAULT_SEED } from '../../export/export-request.ts';
import { TARGETS, type Target } from '../../export/obstacles.ts';
import type { AttachFlags } from '../attach.ts';
import { dialectOption, machineFlag, NODES_MAX, oneOf, type RunCommand, seedFlag, whole } from './values.ts';

export function addValidate(program: Command, run: RunCommand): void {
  program
    .command('validate')
    .description('check a cluster file without starting anything')
    .argument('<file>', 'cluster file (YAML)')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      '\nExits with 0 when the file is valid, with 2 after listing every error. Programs that the file names are not run:\na start asks them whether they know their options.',
    )
    .action((path: string, flags) =>
      run(flags, async (f, c) => (await import('../validate.ts')).validate(path, f, c)),
    );
}

export function addAttach(program: Command, run: RunCommand): void {
  program
    .command('attach')
    .description('use a running network as a cluster, without changing it')
    .requiredOption('-f, --file <path>', 'network file (YAML): endpoints of the nodes and the chain')
    .option('--name <cluster>', 'name of the cluster (default: the name in the file, or the file name)')
    .option('--token-file <path>', 'file with the token of all nodes, instead of what the network file says')
    .option('--wide', 'print every value in full')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
A network file lists at least the endpoints; the nodes are asked for the rest:
  chain: { rpc: http://127.0.0.1:8545 }     # also control, contracts
  nodes:
    - api: http://127.0.0.1:1633            # also debug, name, key
    - api: http://127.0.0.1:1635
ps, status, stamp, env, keys and run work as on any other cluster; down forgets it and stops nothing.`,
    )
    .action((flags) =>
      run(flags, async (f, c) => (await import('../attach.ts')).attach(f as AttachFlags, c)),
    );
}

export function addInit(program: Command, run: RunCommand): void {
  program
    .command('init')
    .description('write a cluster file with every key explained')
    .argument('[file]', 'path of the new file', 'cluster.yaml')
    .option('--force', 'overwrite an existing file')
    .option('--json', 'print one JSON document and nothing else')
    .action((path: string, flags) =>
      run(flags, async (f, c) => (await import('../init.ts')).init(path, f, c)),
    );
}

export function addSchema(program: Command, run: RunCommand): void {
  program
    .command('schema')
    .description('print the JSON schema of cluster files, for editors')
    .option('--json', 'no effect: the schema is already one JSON document')
    .addHelpText(
      'after',
      '\nExample:\n  svcnet schema > cluster.schema.json\n\nEditors then validate and complete cluster files that begin with\n  # yaml-language-server: $schema=cluster.schema.json',
    )
    .action((flags) => run(flags, async (f, c) => (await import('../schema.ts')).schema(f, c)));
}

export function addExport(program: Command, run: RunCommand): void {
  program
    .command('export')
    .description('write a cluster as deployment files for another engine, with a network file for attach')
    .argument('<target>', `engine: ${TARGETS.join(', ')}`, oneOf(TARGETS))
    .option('-f, --file <path>', 'cluster file (YAML); options override it')
    .option('-n, --nodes <count>', 'number of nodes (default: 5)', whole(1, NODES_MAX))
    .option('--name <network>', 'name of the network (default: svcnet)')
    .option('--seed <number>', `seed for all keys (default: ${DEFAULT_SEED})`, seedFlag)
    .addOption(dialectOption())
    .option('--image <reference>', 'image of nodes and chain (default: svcnet, built from node/Dockerfile)')
    .addOption(
      new Option(
        '--machine <name=address>',
        'machine of the Docker swarm to place a share of the nodes on (repeatable)',
      )
        .argParser(machineFlag)
        .default([], 'the swarm decides'),
    )
    .option('-o, --output <folder>', 'folder for the files (default: the first file to standard output)')
    .option('--force', 'overwrite existing files')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      '\nExamples:\n  svcnet export compose > docker-compose.yml\n  svcnet export stack -n 50 --output stack --machine worker-1=10.0.0.11 --machine worker-2=10.0.0.12\n  svcnet export kubernetes -f cluster.yaml --output manifests\n\ndocs/many-machines.md explains how to start, use and remove such a network.',
    )
    .action((target: Target, flags) =>
      run(flags, async (f, c) => (await import('../export.ts')).exportDefinition(target, f, c)),
    );
}
