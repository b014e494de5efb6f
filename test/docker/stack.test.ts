/**
 * An exported stack on a real swarm of one machine. Needs Docker. An engine that is no swarm becomes one for the test, and
 * is reverted afterwards.
 */

import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NodeClient } from '../../harness/client/node-client.ts';
import { deriveNode } from '../../harness/cluster/plan/seed.ts';
import { until } from '../../harness/scenario.ts';
import { portShift } from '../cluster/ports.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { buildImage } from './image.ts';
import { breakOut, CONFINED } from './kit.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STACK = `svcnet-stack-${process.pid}`;
const SEED = 11n;
const NODES = 3;
/** Published on the machine itself. */
const [usualChain, usualFirst] = [7300, 7330];
const shift = await portShift([
  usualChain,
  ...Array.from({ length: NODES }, (_, i) => usualFirst + 10 * i).flatMap((api) => [api, api + 2]),
]);
const FIRST_PORT = usualFirst + shift;
const CHAIN_PORT = usualChain + shift;
const START_TIMEOUT_MS = 180_000;
const GONE_TIMEOUT_MS = 180_000;

const folder = temporaryFolder('svcnet-stack');
const state = join(folder, 'state');
const output = join(folder, 'stack');

const docker = (...args: string[]) =>
  execFileSync('docker', args, {
    cwd: ROOT,
    env: { ...process.env, DOCKER_BUILDKIT: '0' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
/** Asynchronous: clients must notice when nodes close unused connections. */
async function svcnet(...args: string[]): Promise<string> {
  const env = { ...process.env, SVCNET_STATE: state };
  const options = { cwd: ROOT, env, encoding: 'utf8' } as const;
  return (await promisify(execFile)(process.execPath, ['harness/cli.ts', ...args], options)).stdout;
}
const lines = (text: string) => text.split('\n').filter((line) => line !== '');
const ofStack = ['--filter', `label=com.docker.stack.namespace=${STACK}`];

const clients = Array.from(
  { length: NODES },
  (_, i) => new NodeClient({ node: `node-${i}`, api: `http://127.0.0.1:${FIRST_PORT + 10 * i}` }),
);
let swarmIsOurs = false;
let bridgeIsOurs = false;
let image = '';
/** By the export. */
let printed: string[] = [];
/** As a user runs it. */
const shell = (...commands: string[]) =>
  execFileSync('sh', ['-ec', commands.join('\n')], { cwd: ROOT, encoding: 'utf8' });

beforeAll(async () => {
  image = await buildImage('stack');
  if (docker('info', '--format', '{{.Swarm.LocalNodeState}}').trim() === 'inactive') {
    // Swarms create this network, and leave it behind.
    bridgeIsOurs = lines(docker('network', 'ls', '-q', '--filter', 'name=^docker_gwbridge$')).length === 0;
    docker('swarm', 'init', '--advertise-addr', '127.0.0.1', '--listen-addr', '127.0.0.1');
    swarmIsOurs = true;
  }
  const machines = docker(
    'node',
    'inspect',
    '--format',
    '{{.Description.Hostname}}={{.Status.Addr}}',
    'self',
  );
  const definition = { name: STACK, nodes: NODES, ports: FIRST_PORT, chain: { port: CHAIN_PORT } };
  const file = join(folder, 'cluster.yaml');
  writeFileSync(file, JSON.stringify(definition));
  const flags = ['--file', file, '--seed', String(SEED), '--image', image, '--output', output];
  printed = lines(await svcnet('export', 'stack', ...flags, '--machine', machines.trim())).map((line) =>
    line.trim(),
  );
  const [deployed, started] = ['docker stack deploy ', 'until docker stack services '].map((words) =>
    printed.filter((line) => line.startsWith(words)),
  );
  shell(...(deployed ?? []), ...(started ?? []));
  await meshed();
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  shell(...printed.slice(printed.indexOf(`docker stack rm ${STACK}`)));
  const left = lines(docker('volume', 'ls', '-q', ...ofStack));
  if (swarmIsOurs) docker('swarm', 'leave', '--force');
  if (bridgeIsOurs) docker('network', 'rm', 'docker_gwbridge');
  docker('rmi', image);
  expect(left).toEqual([]);
});

function deploy(): void {
  docker('stack', 'deploy', '--resolve-image', 'never', '-c', join(output, 'stack.yaml'), STACK);
}

/** The volumes stay. */
async function remove(): Promise<void> {
  docker('stack', 'rm', STACK);
  await until(
    'the stack is not gone',
    async () => {
      const left = [
        ...lines(docker('ps', '-aq', ...ofStack)),
        ...lines(docker('network', 'ls', '-q', ...ofStack)),
      ];
      return left.length === 0 ? { done: true } : { missing: `${left.length} containers and networks` };
    },
    { timeoutMs: GONE_TIMEOUT_MS },
  );
}

async function meshed(): Promise<void> {
  await until(
    'the nodes of the stack are not meshed',
    async (signal) => {
      const peers = await Promise.all(clients.map((client) => client.peers(signal).catch(() => [])));
      const lacking = peers.findIndex((list) => list.length < NODES - 1);
      return lacking === -1
        ? { done: true }
        : { missing: `node-${lacking} has ${peers[lacking]?.length ?? 0} peers` };
    },
    { timeoutMs: START_TIMEOUT_MS },
  );
}

test('no task failed at the start: nodes wait for the chain', () => {
  const states = lines(docker('stack', 'ps', '--format', '{{.Name}} {{.CurrentState}}', STACK));
  expect(states).toHaveLength(NODES + 1);
  for (const state of states) expect(state).toContain(' Running ');
});

const containersOf = (service: string) =>
  lines(docker('ps', '-q', '--filter', `label=com.docker.swarm.service.name=${STACK}_${service}`));

test('each node of the stack has the identity of its seed, and announces its name to its peers', async () => {
  const overlays = await Promise.all(clients.map(async (client) => (await client.addresses()).overlay));
  const derived = clients.map((_, index) => deriveNode({ seed: SEED, index, networkId: 4020 }).overlay);
  expect(overlays).toEqual(derived);
  const { underlay } = await (clients[1] as NodeClient).addresses();
  expect(underlay.join()).toMatch(/^\/dns\/node-1\/tcp\/1634\/p2p\//);
});

test('a container has only its own keys, and no privileges', () => {
  for (const service of ['node-1', 'chain']) {
    const [id = ''] = containersOf(service);
    const { keys, ...outcome } = breakOut(id);
    // A stack cannot ask for more: without capabilities there are none to be gained.
    expect(outcome, service).toEqual({ ...CONFINED, gainsNone: '0' });
    const own = ['libp2p', 'pss', 'swarm'].map((kind) => `/data/keys/${kind}.key`);
    expect(keys.toSorted(), service).toEqual(service === 'chain' ? [] : own);
    expect(docker('inspect', '--format', '{{.HostConfig.PidsLimit}}', id).trim()).toBe('1024');
  }
  const [container = ''] = containersOf('node-1');
  expect(docker('exec', container, 'ls', '-ln', '/data/keys/swarm.key')).toMatch(/^-r-------- 1 1000 1000 /);
});

test('deploying the same export again replaces no container', () => {
  const before = clients.map((_, index) => containersOf(`node-${index}`)).flat();
  deploy();
  expect(clients.map((_, index) => containersOf(`node-${index}`)).flat()).toEqual(before);
});

test('attached by its network file, the stack passes smoke, and keeps running when it is forgotten', async () => {
  await svcnet('attach', '-f', join(output, 'network.yaml'));
  const variables = JSON.parse(await svcnet('env', '--name', STACK, '--json')) as Record<string, string>;
  const { batchID } = (await (clients[2] as NodeClient).stamps.list())[0] as { batchID: string };
  expect(variables['SVCNET_BATCH_2']).toBe(batchID);
  const small = ['--set', 'size=1048576', '--set', `dir=${join(ROOT, 'harness/base')}`];
  const report = ['--report', join(folder, 'report')];
  expect(await svcnet('run', 'smoke', '--name', STACK, ...small, ...report)).toMatch(/smoke passed/);
  await svcnet('down', '--name', STACK);
  expect(await (clients[0] as NodeClient).peers()).toHaveLength(NODES - 1);
});

test('a killed node comes back by itself, with its name and its data', async () => {
  const data = Buffer.alloc(20_000, 7);
  const { batchID } = (await (clients[2] as NodeClient).stamps.list())[0] as { batchID: string };
  const { reference } = await (clients[2] as NodeClient).bytes.upload(data, { batch: batchID });
  const [before = ''] = containersOf('node-2');
  docker('kill', before);
  await until(
    'the swarm has not replaced the container',
    async () => {
      const [now = before] = containersOf('node-2');
      return now === before ? { missing: 'it is still the one that was killed' } : { done: true };
    },
    { timeoutMs: START_TIMEOUT_MS },
  );
  await meshed();
  const read = await (clients[0] as NodeClient).bytes.download(reference);
  expect(Buffer.compare(read, data)).toBe(0);
});

test('a removed stack continues where it was when deployed again', async () => {
  const data = Buffer.alloc(20_000, 9);
  const first = clients[0] as NodeClient;
  const { batchID } = (await first.stamps.list())[0] as { batchID: string };
  const { reference } = await first.bytes.upload(data, { batch: batchID, deferred: false });
  await remove();
  deploy();
  await meshed();
  expect(Buffer.compare(await (clients[1] as NodeClient).bytes.download(reference), data)).toBe(0);
  await first.bytes.upload(Buffer.alloc(5000, 1), { batch: batchID, deferred: false });
});
