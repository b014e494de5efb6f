/** No Bee runs here: a script that lists options stands for the program. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { decryptKey } from '../../../formats/crypto/keystore.ts';
import { HarnessError } from '../../../harness/base/errors.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { deriveNode } from '../../../harness/cluster/plan/seed.ts';
import { beeFlavour } from '../../../harness/flavours/bee.ts';
import { p256Identity } from '../../../harness/flavours/bee-keys.ts';
import type { NodePlan } from '../../../harness/flavours/flavour.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { CONTRACTS } from '../../unit/harness/cluster/plan/contracts.ts';

let folder: string;
beforeEach(() => void (folder = temporaryFolder('svcnet-bee')));

const OPTIONS = [
  'full-node',
  'data-dir',
  'password',
  'blockchain-rpc-endpoint',
  'postage-stamp-address',
  'staking-address',
  'warmup-time',
  'cache-capacity',
];

/** It dies when it is actually started. */
function program(name: string, options: readonly string[] = OPTIONS): string {
  const path = join(folder, name);
  const help = options.map((option) => `      --${option} string   an option`).join('\n');
  writeFileSync(
    path,
    `#!/bin/sh\nif [ "$2" = --help ]; then\ncat <<'END'\nFlags:\n${help}\nEND\nexit 0\nfi\necho "cannot: $*" >&2\nexit 3\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

function planOf(binary: string, more: Partial<NodePlan> = {}): NodePlan {
  return {
    name: 'node-0',
    mode: 'full',
    binary,
    dialect: 'swarm',
    identity: deriveNode({ seed: 7n, index: 0, networkId: 4020 }),
    ports: { api: 1633, p2p: 1634, debug: 1633 },
    listen: '127.0.0.1',
    profile: 'fast',
    allowedHosts: [],
    cors: [],
    options: {},
    dataDir: '/data',
    network: {
      networkId: 4020,
      seed: 1n,
      underlays: ['tcp'],
      rpc: 'http://127.0.0.1:8545',
      contracts: CONTRACTS,
      startBlock: 1,
      blockTimeMs: 2000,
      bootnodes: [],
      onlyPeers: undefined,
      dedicatedBootnodes: false,
      credit: 'network',
      swap: { deposit: 5n },
    },
    ...more,
  };
}

async function configOf(plan: NodePlan): Promise<Record<string, unknown>> {
  const files = await beeFlavour.files(plan);
  return parse(files.find(({ path }) => path === 'config.yaml')?.content ?? '') as Record<string, unknown>;
}

async function refusal(promise: Promise<unknown>): Promise<HarnessError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(HarnessError);
  return error as HarnessError;
}

test('a configuration has only options that the program knows, and its own options win over the definition', async () => {
  const some = program('some');
  expect(await configOf(planOf(some, { options: { 'cache-capacity': 7, 'warmup-time': '3s' } }))).toEqual({
    'full-node': true,
    'data-dir': '/data',
    password: 'svcnet',
    'blockchain-rpc-endpoint': 'http://127.0.0.1:8545',
    'postage-stamp-address': '0x02',
    'staking-address': '0x04',
    'warmup-time': '3s',
    'cache-capacity': 7,
  });
  const more = program('more', [...OPTIONS, 'bzz-token-address', 'block-sync-interval', 'block-time']);
  expect(await configOf(planOf(more, { mode: 'light' }))).toMatchObject({
    'full-node': false,
    'bzz-token-address': '0x01',
    'block-sync-interval': 1,
    'block-time': 2,
  });
});

test('a boot Bee is a full node in bootnode mode, and a bootnode of the others', async () => {
  const some = program('some', [...OPTIONS, 'bootnode-mode', 'swap-enable', 'chequebook-enable', 'bootnode']);
  expect(await configOf(planOf(some, { mode: 'boot' }))).toMatchObject({
    'full-node': true,
    'bootnode-mode': true,
    'swap-enable': true,
    bootnode: [],
  });
  const plan = planOf(some);
  const bootnodes = ['/ip4/127.0.0.1/tcp/1634/p2p/Qm'];
  const of = (dedicatedBootnodes: boolean) =>
    configOf({ ...plan, network: { ...plan.network, bootnodes, dedicatedBootnodes } });
  expect(await of(true)).toMatchObject({ 'bootnode-mode': false, 'swap-enable': true, bootnode: bootnodes });
  expect(await of(false)).toMatchObject({ bootnode: [] });
});

test('the allowed origins of the cluster apply to a Bee, unless its group names others', async () => {
  const some = program('some', [...OPTIONS, 'cors-allowed-origins']);
  const cors = ['http://localhost:3000'];
  const own = { 'cors-allowed-origins': ['*'] };
  expect(await configOf(planOf(some, { cors }))).toMatchObject({ 'cors-allowed-origins': cors });
  expect(await configOf(planOf(some, { cors, options: own }))).toMatchObject(own);
});

test.each([
  ['2.8.1', [], 'collector:6831'],
  ['2.8.2', ['tracing-protocol', 'tracing-insecure'], 'collector:4318'],
])('a Bee %s gets the address to which it sends its traces', async (_version, more, endpoint) => {
  const names = ['tracing-enable', 'tracing-endpoint', 'tracing-service-name'];
  const some = program(`traced-${more.length}`, [...OPTIONS, ...names, ...more]);
  const plan = planOf(some);
  const config = await configOf({ ...plan, otlp: 'http://collector:4318' });
  expect(config).toMatchObject({
    'tracing-enable': true,
    'tracing-endpoint': endpoint,
    'tracing-service-name': plan.name,
  });
  expect(config['tracing-insecure']).toBe(more.length === 0 ? undefined : true);
  expect(Object.keys(await configOf(plan)).filter((name) => name.startsWith('tracing'))).toEqual([]);
});

test('key files hold the keys of the seed', async () => {
  const plan = planOf(program('bee'));
  const files = new Map((await beeFlavour.files(plan)).map(({ path, content }) => [path, content]));
  const { keys, ethereum } = plan.identity;
  const libp2p = p256Identity(keys.libp2p);
  for (const [name, secret, address] of [
    ['swarm', keys.swarm, ethereum],
    ['libp2p_v2', libp2p.secret, libp2p.address],
    ['pss', keys.pss, ''],
  ] as const) {
    const content = files.get(`keys/${name}.key`) ?? '';
    expect(decryptKey(content, 'svcnet')).toEqual(new Uint8Array(secret));
    expect(JSON.parse(content)).toMatchObject({ address });
  }
  expect(
    beeFlavour.underlay({ identity: plan.identity, port: 1634, host: '127.0.0.1', underlays: ['tcp'] }),
  ).toBe(`/ip4/127.0.0.1/tcp/1634/p2p/${libp2p.peerId}`);
});

test.each([
  ['a program that is not there', () => join(folder, 'absent'), /there is no file .*absent/],
  ['a folder', () => folder, /is not a file/],
  ['a text', () => plainFile('text', 'hello'), /is not executable/],
  [
    'another program',
    () => program('other', ['port', 'verbose']),
    /is not a Bee: .* does not list --full-node/,
  ],
  ['a program for another processor', () => elf(0x02), /is built for machine 2, this machine is/],
])('%s is refused before anything starts', async (_, binaryOf, message) => {
  const stateDir = join(folder, 'state');
  const nodes = [{ count: 1 }, { flavour: 'bee', binary: binaryOf() } as const];
  const error = await refusal(Cluster.start({ nodes, stateDir }));
  expect(error.code).toBe('BINARY_INVALID');
  expect(error.message).toMatch(/^nodes\[1\]\.binary: /);
  expect(error.message).toMatch(message);
});

function plainFile(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o644 });
  return path;
}

function elf(machine: number): string {
  const header = Buffer.alloc(64);
  header.write('\x7fELF', 'latin1');
  header.writeUInt16LE(machine, 18);
  const path = plainFile('elf', header);
  chmodSync(path, 0o755);
  return path;
}

test('an unknown option of the program is reported with the nearest known one', async () => {
  const binary = program('bee');
  const nodes = [{ flavour: 'bee', binary, options: { 'cache-capacty': 1 } } as const];
  const error = await refusal(Cluster.start({ nodes, stateDir: join(folder, 'state') }));
  expect(error.message).toBe(
    `nodes[0].options: ${binary} knows no option 'cache-capacty', did you mean 'cache-capacity'?`,
  );
});

test('a program that dies at its start is reported with its last output', async () => {
  const binary = program('bee');
  const error = await refusal(
    Cluster.start({ nodes: [{ flavour: 'bee', binary }], batches: false, stateDir: join(folder, 'state') }),
  );
  expect(error.code).toBe('PROCESS_FAILED');
  expect(error.message).toBe(`node-0 (bee, ${binary}) has ended (exit code 3)`);
  expect(error.hint).toMatch(/cannot: start --config .*config\.yaml/);
});
