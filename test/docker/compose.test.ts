/**
 * Needs Docker; dependencies come from `node_modules`, not from a registry. The compose file is the repository's except for
 * its ports, so that both can run side by side.
 */

import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createRpcClient } from '../../chain/rpc.ts';
import { encodeCall, readWords, selectorOf } from '../../formats/ethereum/abi.ts';
import { messageOf } from '../../harness/base/errors.ts';
import { NodeClient } from '../../harness/client/node-client.ts';
import { deriveNode } from '../../harness/cluster/plan/seed.ts';
import { until } from '../../harness/scenario.ts';
import { portShift } from '../cluster/ports.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { breakOut, CONFINED, IMAGE_MB_MAX, MB } from './kit.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROJECT = `svcnet-test-${process.pid}`;
const SEED = 7n;
const NODES = 5;
/** On loopback. */
const [usualChain, usualFirst] = [7100, 7130];
const shift = await portShift([
  usualChain,
  usualChain + 1,
  ...Array.from({ length: NODES }, (_, i) => usualFirst + 10 * i).flatMap((api) => [api, api + 2]),
]);
const FIRST_PORT = usualFirst + shift;
const CHAIN_PORT = usualChain + shift;
const RPC = `http://127.0.0.1:${CHAIN_PORT}`;
const CONTROL = `http://127.0.0.1:${CHAIN_PORT + 1}`;
const START_TIMEOUT_MS = 300_000;
const REQUEST_TIMEOUT_MS = 5000;
const folder = temporaryFolder('svcnet-compose');

const environment = {
  ...process.env,
  SVCNET_DEPENDENCIES: 'copied',
  SVCNET_SEED: SEED.toString(),
  DOCKER_BUILDKIT: '0',
};
const compose =
  spawnSync('docker', ['compose', 'version']).status === 0 ? ['docker', 'compose'] : ['docker-compose'];

/** Asynchronous: clients must notice when a container closes their connections. */
async function run(command: readonly string[], ...args: readonly string[]): Promise<string> {
  const [program, ...first] = command as [string, ...string[]];
  const { stdout } = await promisify(execFile)(program, [...first, ...args], { cwd: ROOT, env: environment });
  return stdout;
}
const inProject = (...args: string[]) =>
  run([...compose, '-f', join(folder, 'docker-compose.yml'), '-p', PROJECT], ...args);
const docker = (...args: string[]) => run(['docker'], ...args);
/** Its container: `docker-compose` takes a second of a processor for each of its commands. */
async function containerOf(service: string): Promise<string> {
  const labels = { project: PROJECT, service };
  const filters = Object.entries(labels).flatMap(([key, value]) => [
    '--filter',
    `label=com.docker.compose.${key}=${value}`,
  ]);
  return (await docker('ps', '-aq', ...filters)).trim();
}
const within = async (service: string, ...command: string[]) =>
  docker('exec', await containerOf(service), ...command);

const clients = Array.from(
  { length: NODES },
  (_, i) => new NodeClient({ node: `node-${i}`, api: `http://127.0.0.1:${FIRST_PORT + 10 * i}` }),
);

beforeAll(async () => {
  const definition = join(folder, 'cluster.yaml');
  writeFileSync(definition, JSON.stringify({ nodes: NODES, ports: FIRST_PORT, chain: { port: CHAIN_PORT } }));
  await run(
    [process.execPath, 'harness/cli.ts'],
    'export',
    'compose',
    '--file',
    definition,
    '--output',
    folder,
  );
  await inProject('build', '-q');
  await inProject('up', '-d');
  await meshed();
});

async function meshed(): Promise<void> {
  await until(
    'the containers are not meshed',
    async (signal) => {
      const soon = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
      const lacking = await Promise.all(clients.map((client, node) => lackOf(client, node, soon)));
      const missing = lacking.find((text) => text !== undefined);
      return missing === undefined ? { done: true } : { missing };
    },
    { timeoutMs: START_TIMEOUT_MS },
  );
}

async function lackOf(client: NodeClient, node: number, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { length } = await client.peers(signal);
    return length < NODES - 1 ? `node-${node} has ${length} peers` : undefined;
  } catch (error) {
    return `node-${node}: ${messageOf(error)}`;
  }
}

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await inProject('down', '-v');
});

test('a container keeps to its volume: no privileges, no other root, no key of another one', async () => {
  const own = (files: readonly string[]) => files.map((file) => `/data/${file}`);
  const keys = own(['keys/libp2p.key', 'keys/pss.key', 'keys/swarm.key']);
  for (const [service, secrets] of [
    ['node-0', keys],
    ['node-4', keys],
    ['chain', own(['chain.json', 'network.yaml'])],
  ] as const) {
    const { keys: found, ...outcome } = breakOut(await containerOf(service));
    expect(outcome, service).toEqual({ ...CONFINED, gainsNone: '1' });
    expect(found.toSorted(), service).toEqual(secrets);
  }
});

test('the identities in the containers are derived from the seed', async () => {
  const overlays = await Promise.all(clients.map(async (client) => (await client.addresses()).overlay));
  const derived = clients.map((_, index) => deriveNode({ seed: SEED, index, networkId: 4020 }).overlay);
  expect(overlays).toEqual(derived);
});

test('the volume has a network file for the seed chosen at the start', async () => {
  const text = await within('chain', 'cat', '/data/network.yaml');
  const network = parse(text) as {
    chain: { rpc: string; control: string; token: string };
    nodes: { api: string; debug: string }[];
    batches: { id: string; node: string }[];
  };
  expect(network.chain.rpc).toBe(RPC);
  const asked = [
    `${network.chain.control}/state`,
    ...network.nodes.flatMap(({ api, debug }) => [`${api}/health`, `${debug}/metrics`]),
  ];
  const answers = asked.map((url) =>
    fetch(url, {
      headers: url.endsWith('/state') ? { authorization: `Bearer ${network.chain.token}` } : {},
    }).then(
      ({ status }) => `${status} ${url}`,
      (error: Error) => `${messageOf(error.cause)} ${url}`,
    ),
  );
  expect(await Promise.all(answers)).toEqual(asked.map((url) => `200 ${url}`));
  const owned = await (clients[3] as NodeClient).stamps.list();
  expect(owned.map(({ batchID }) => batchID)).toEqual([network.batches[3]?.id]);
});

test('a file travels from one container to another', async () => {
  const env = await within('chain', 'cat', '/data/env');
  const batch = /^SVCNET_BATCH_0=([0-9a-f]{64})$/m.exec(env)?.[1] as string;
  const data = randomBytes(300_000);
  const { reference } = await (clients[0] as NodeClient).bytes.upload(data, { batch, deferred: false });
  for (const client of clients.slice(1)) {
    expect(Buffer.compare(await client.bytes.download(reference), data)).toBe(0);
  }
});

test('the containers become healthy and run as an unprivileged user', async () => {
  const id = await containerOf('node-1');
  await until(
    'node-1 is not healthy',
    async () => {
      const health = (await docker('inspect', '--format', '{{.State.Health.Status}}', id)).trim();
      return health === 'healthy' ? { done: true } : { missing: `it is ${health}` };
    },
    { timeoutMs: 120_000 },
  );
  expect((await within('node-1', 'id', '-u')).trim()).not.toBe('0');
});

test('a node keeps its data and its position when its container is killed and started again', async () => {
  const client = clients[2] as NodeClient;
  const env = await within('chain', 'cat', '/data/env');
  const batch = /^SVCNET_BATCH_2=([0-9a-f]{64})$/m.exec(env)?.[1] as string;
  const data = randomBytes(20_000);
  const { reference } = await client.bytes.upload(data, { batch });
  const container = await containerOf('node-2');
  await docker('kill', container);
  await docker('start', container);
  await until(
    'node-2 is not back',
    async (signal) => {
      const peers = await client.peers(signal).catch(() => []);
      return peers.length === NODES - 1 ? { done: true } : { missing: `${peers.length} peers` };
    },
    { timeoutMs: 120_000 },
  );
  expect(Buffer.compare(await (clients[4] as NodeClient).bytes.download(reference), data)).toBe(0);
});

async function balanceOf(batch: string): Promise<bigint> {
  const chain = JSON.parse(await within('node-0', 'cat', '/data/config.yaml')) as {
    'postage-stamp-address': string;
  };
  const rpc = createRpcClient(RPC);
  const data = encodeCall(selectorOf('batches(bytes32)'), `0x${batch}`);
  try {
    const answer = String(await rpc.call('eth_call', { to: chain['postage-stamp-address'], data }, 'latest'));
    return readWords(answer, 'batches').uint(4);
  } finally {
    rpc.close();
  }
}

async function batchOf(node: number): Promise<string> {
  const env = await within('chain', 'cat', '/data/env');
  return new RegExp(`^SVCNET_BATCH_${node}=([0-9a-f]{64})$`, 'm').exec(env)?.[1] as string;
}

/** Like the container's own check: the control endpoint comes last, once the saved blocks are restored. */
async function chainIsBack(): Promise<void> {
  await until(
    'the chain is not back',
    async (signal) => {
      const [outcome] = await Promise.allSettled([fetch(`${CONTROL}/health`, { signal })]);
      if (outcome.status === 'rejected') return { missing: messageOf(outcome.reason) };
      return outcome.value.ok ? { done: true } : { missing: `status ${outcome.value.status}` };
    },
    { timeoutMs: 120_000 },
  );
}

test.each([
  ['restarted', (container: string) => docker('restart', container)],
  [
    'killed and started again',
    async (container: string) => {
      await docker('kill', container);
      await docker('start', container);
    },
  ],
])('batches stay, and uploads continue, when the container of the chain is %s', async (_how, again) => {
  const client = clients[1] as NodeClient;
  const bought = await client.stamps.buy({ amount: 24_000n * 3600n, depth: 18, immutable: true });
  const batches = [await batchOf(1), bought.batchID];
  await again(await containerOf('chain'));
  await chainIsBack();
  for (const batch of batches) expect(await balanceOf(batch)).toBeGreaterThan(0n);
  const known = (await client.stamps.list()).map(({ batchID }) => batchID);
  expect(known).toEqual(expect.arrayContaining(batches));
  const block = (await client.status()).lastSyncedBlock;
  await until(
    'node-1 does not follow the chain',
    async (signal) => {
      const { lastSyncedBlock } = await client.status(signal);
      return lastSyncedBlock > block + 15
        ? { done: true }
        : { missing: `it has read block ${lastSyncedBlock}` };
    },
    { timeoutMs: 120_000 },
  );
  const data = randomBytes(20_000);
  const { reference } = await client.bytes.upload(data, { batch: await batchOf(1), deferred: false });
  expect(Buffer.compare(await (clients[3] as NodeClient).bytes.download(reference), data)).toBe(0);
});

test('the network continues where it was after down and up', async () => {
  const data = randomBytes(20_000);
  const first = clients[0] as NodeClient;
  const { reference } = await first.bytes.upload(data, { batch: await batchOf(0), deferred: false });
  const height = (await first.status()).lastSyncedBlock;
  await inProject('down');
  await inProject('up', '-d');
  await meshed();
  expect((await first.status()).lastSyncedBlock).toBeGreaterThanOrEqual(height);
  expect(await balanceOf(await batchOf(0))).toBeGreaterThan(0n);
  expect(Buffer.compare(await (clients[2] as NodeClient).bytes.download(reference), data)).toBe(0);
  await first.bytes.upload(randomBytes(5000), { batch: await batchOf(0), deferred: false });
});

test('the image contains no development packages', async () => {
  const listed = (await docker('run', '--rm', '--entrypoint', 'ls', 'svcnet', 'node_modules')).split(/\s+/);
  expect(listed).toContain('lmdb');
  for (const name of ['vitest', 'typescript', 'solc', 'knip', 'oxlint', 'libp2p'])
    expect(listed).not.toContain(name);
  const bytes = Number(await docker('image', 'inspect', '--format', '{{.Size}}', 'svcnet'));
  expect(bytes / MB).toBeLessThan(IMAGE_MB_MAX);
});

test('a node without its required options names the missing one and does not start', () => {
  const started = spawnSync('docker', ['run', '--rm', 'svcnet'], { encoding: 'utf8' });
  expect(started.status).toBe(2);
  expect(started.stderr).toMatch(/--swap-endpoint is required/);
});
