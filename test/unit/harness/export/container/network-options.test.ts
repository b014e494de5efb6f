import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { wantedPorts } from '../../../../../harness/cluster/plan/ports.ts';
import type { Definition } from '../../../../../harness/cluster/plan/schema.ts';
import { NETWORK_HELP, networkDefinition } from '../../../../../harness/export/container/network-options.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-network');

function written(text: string): string {
  const path = join(folder, 'cluster.yaml');
  writeFileSync(path, text);
  return path;
}

async function defined(argv: string[], environment: Record<string, string> = {}): Promise<Definition> {
  const found = await networkDefinition(argv, environment);
  if (found === undefined) throw new Error('help was not asked for');
  return parseDefinition(found.input, found.source);
}

test('the default is five embedded nodes that listen on all addresses of the container', async () => {
  expect(await defined([])).toMatchObject({
    name: 'network',
    driver: 'embedded',
    listen: '0.0.0.0',
    dialect: 'svc',
    nodes: [{ count: 5 }],
  });
});

test('a program that the cluster file names runs only with --trust', async () => {
  const file = written('driver: process\nnodes: [{ count: 1 }, { flavour: bee, binary: /data/bee }]');
  await expect(defined(['-f', file])).rejects.toThrow(`${file} would run /data/bee`);
  expect((await defined(['-f', file, '--trust'])).nodes[1]).toMatchObject({ binary: '/data/bee' });
});

test('the host names it answers to come from the variable or the flag', async () => {
  const environment = { SVCNET_ALLOWED_HOSTS: 'docker, storage.example' };
  expect((await defined([], environment)).allowedHosts).toEqual(['docker', 'storage.example']);
  expect((await defined(['--allowed-hosts', 'other'], environment)).allowedHosts).toEqual(['other']);
  expect((await defined([], { SVCNET_ALLOWED_HOSTS: '' })).allowedHosts).toEqual([]);
  await expect(defined(['--allowed-hosts', 'a:80'])).rejects.toThrow("allowedHosts[0]: got 'a:80'");
});

test('nodes use port 1633 and every tenth port above it, followed by p2p and debug API; the chain uses 8545', async () => {
  const ports = wantedPorts(await defined(['--nodes', '2'])).map(({ port }) => port);
  expect(ports).toEqual([8545, 1633, 1634, 1635, 1643, 1644, 1645]);
});

test('variables are read, flags win over them, and empty variables count as unset', async () => {
  const environment = { SVCNET_NODES: '3', SVCNET_SEED: '9', SVCNET_DIALECT: 'swarm' };
  const seen = ({ nodes, seed, dialect }: Definition) => [nodes[0]?.count, seed, dialect];
  expect(seen(await defined([], environment))).toEqual([3, 9n, 'swarm']);
  const flags = ['--nodes', '2', '--seed', '16', '--dialect', 'svc'];
  expect(seen(await defined(flags, environment))).toEqual([2, 16n, 'svc']);
  expect(seen(await defined([], { SVCNET_NODES: '', SVCNET_SEED: '' }))).toEqual([5, undefined, 'svc']);
});

test('a seed in hex is refused, as every other number', async () => {
  await expect(defined(['--seed', '0x10'], {})).rejects.toThrow('expected a whole number from 0 to 2^64 - 1');
});

test('a file is read as a whole, and flags and variables win over it', async () => {
  const file = written(
    'seed: 1\nname: mine\nnodes: [{ count: 4 }]\nchain: { blockTime: 2s }\nlisten: 127.0.0.1\n',
  );
  const both = await defined(['-f', file, '--seed', '3']);
  expect(both).toMatchObject({ name: 'mine', seed: 3n, listen: '127.0.0.1', nodes: [{ count: 4 }] });
  expect(both.chain).toMatchObject({ blockTime: 2000, port: 8545 });
  expect((await defined(['-f', file], { SVCNET_NODES: '2' })).nodes[0]?.count).toBe(2);
});

test.each([
  [['--nodes', '0'], {}, "--nodes: got '0', expected a whole number from 1 to 200"],
  [['--nodes', 'many'], {}, "--nodes: got 'many', expected a whole number from 1 to 200"],
  [[], { SVCNET_NODES: '201' }, "SVCNET_NODES: got '201', expected a whole number from 1 to 200"],
  [[], { SVCNET_SEED: '-1' }, "SVCNET_SEED: got '-1', expected a whole number from 0 to 2^64 - 1"],
  [['--dialect', 'swarn'], {}, /^--dialect: got 'swarn', expected one of svc, swarm.*swarm/],
  [['--node', '3'], {}, /^unknown option '--node'/],
  [['more'], {}, /^too many arguments/],
])('%j with %j is refused by name', async (argv, environment, message) => {
  await expect(networkDefinition(argv, environment)).rejects.toMatchObject({
    code: 'USAGE',
    message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
  });
});

test('a missing file, and one that asks for containers, are refused', async () => {
  await expect(networkDefinition(['-f', '/nowhere.yaml'], {})).rejects.toThrow("-f: no file '/nowhere.yaml'");
  const file = written('driver: docker\n');
  await expect(networkDefinition(['-f', file], {})).rejects.toThrow(
    'driver: got "docker", expected embedded or process: all of the network is in this container',
  );
});

test('help is printed on request, and names every flag with its variable', async () => {
  expect(await networkDefinition(['--help'], {})).toBeUndefined();
  for (const word of [
    '--nodes',
    'SVCNET_NODES',
    '--seed',
    'SVCNET_SEED',
    '--dialect',
    'SVCNET_DIALECT',
    '-f',
  ])
    expect(NETWORK_HELP).toContain(word);
});
