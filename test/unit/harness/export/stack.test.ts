import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { DefinitionInput } from '../../../../harness/cluster/plan/definition-input.ts';
import type { Machine } from '../../../../harness/export/export-request.ts';
import { exportStack } from '../../../../harness/export/stack.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { MIXED, requestFor } from './kit.ts';

interface Mount {
  source: string;
  target: string;
}
interface Service {
  image: string;
  configs?: Mount[];
  secrets?: (Mount & { uid: string; mode: number })[];
  entrypoint: string[];
  command?: string[];
  networks: string[];
  volumes: (string | object)[];
  ports: { target: number; published: number; mode: string }[];
  deploy: { endpoint_mode: string; placement?: { constraints: string[] }; resources?: object };
}
interface Stack {
  version: string;
  services: Record<string, Service>;
  networks: Record<string, object>;
  volumes: Record<string, object>;
  configs: Record<string, { name: string; file: string }>;
  secrets: Record<string, { name: string; file: string }>;
}

function exported(input: DefinitionInput = MIXED, machines: readonly Machine[] = []) {
  const { files } = exportStack(requestFor(input, { machines }));
  const contents = new Map(files.map((file) => [file.path, file]));
  const stack = parse(contents.get('stack.yaml')?.content ?? '', { merge: true, maxAliasCount: -1 }) as Stack;
  return { stack, contents, network: parse(contents.get('network.yaml')?.content ?? '') as unknown };
}

test('everything a service refers to is declared, and everything declared is used and comes from a file', () => {
  const { stack, contents } = exported();
  const services = Object.values(stack.services);
  const used = (pick: (service: Service) => string[]) => services.flatMap(pick).sort();
  expect(used(({ configs = [] }) => configs.map(({ source }) => source))).toEqual(
    Object.keys(stack.configs).sort(),
  );
  expect(used(({ secrets = [] }) => secrets.map(({ source }) => source))).toEqual(
    Object.keys(stack.secrets).sort(),
  );
  expect(
    used(({ volumes }) =>
      volumes.flatMap((volume) => (typeof volume === 'string' ? [String(volume.split(':')[0])] : [])),
    ),
  ).toEqual(Object.keys(stack.volumes).sort());
  expect(new Set(services.flatMap(({ networks }) => networks))).toEqual(new Set(Object.keys(stack.networks)));
  const declared = [...Object.values(stack.configs), ...Object.values(stack.secrets)];
  for (const { file } of declared) expect(contents.has(file.replace('./', ''))).toBe(true);
  expect(new Set(declared.map(({ name }) => name)).size).toBe(declared.length);
  expect(contents.size).toBe(declared.length + 2);
});

test('a node sees only its own keys, readable only by its user', () => {
  const { stack, contents } = exported();
  const nodes = Object.entries(stack.services).filter(([name]) => name !== 'chain');
  expect(nodes).toHaveLength(5);
  for (const [name, { secrets = [] }] of nodes) {
    expect(secrets.map(({ source, target }) => [source, target])).toEqual(
      ['swarm', 'libp2p', 'pss'].map((kind) => [`${name}-${kind}`, `/data/keys/${kind}.key`]),
    );
    for (const { uid, mode } of secrets) expect([uid, mode]).toEqual(['1000', 0o400]);
  }
  const secret = [...contents.values()].filter((file) => file.secret === true).map(({ path }) => path);
  // Fifteen keys, and what has the token of the chain.
  expect(secret).toHaveLength(17);
  expect(secret.filter((path) => !path.startsWith('secrets/'))).toEqual(['network.yaml']);
  expect(contents.get('secrets/chain.json')?.secret).toBe(true);
});

test('a container lacks privileges, and writes to its volume and /tmp alone', () => {
  for (const [name, service] of Object.entries(exported().stack.services)) {
    expect(service).toMatchObject({
      user: '1000:1000',
      cap_drop: ['ALL'],
      read_only: true,
      volumes: [`${name}:/data`, { type: 'tmpfs', target: '/tmp', tmpfs: { size: 2 ** 26 } }],
    });
    // A stack ignores these.
    expect(service).not.toHaveProperty('security_opt');
    expect(service).not.toHaveProperty('tmpfs');
  }
});

test('no two services are published at the same port, and the control endpoint of the chain is not published', () => {
  const { stack } = exported({ nodes: 120 });
  const published = Object.values(stack.services).flatMap(({ ports }) => ports);
  expect(new Set(published.map(({ published: port }) => port)).size).toBe(published.length);
  expect(published).toHaveLength(2 * 120 + 1);
  expect(stack.services['chain']?.ports.map(({ target }) => target)).toEqual([8545]);
});

test('ports are those of the machine and names lead to containers: neither needs a load balancer in the kernel', () => {
  for (const { ports, deploy } of Object.values(exported().stack.services)) {
    expect(ports.every(({ mode }) => mode === 'host')).toBe(true);
    expect(deploy.endpoint_mode).toBe('dnsrr');
  }
});

test('nodes are distributed over the machines, and the network file knows where each one is', () => {
  const machines = [
    { name: 'a', address: '10.0.0.1' },
    { name: 'b', address: '10.0.0.2' },
  ];
  const { stack, network } = exported(MIXED, machines);
  const constraints = (name: string) => stack.services[name]?.deploy.placement?.constraints;
  expect(constraints('chain')).toEqual(['node.hostname == a']);
  expect(constraints('node-0')).toEqual(['node.hostname == a']);
  expect(constraints('node-3')).toEqual(['node.hostname == b']);
  expect(network).toMatchObject({
    name: 'demo',
    chain: { rpc: 'http://10.0.0.1:8545' },
    nodes: [
      { api: 'http://10.0.0.1:1633' },
      { api: 'http://10.0.0.2:1643', debug: 'http://10.0.0.2:1645' },
      {},
      {},
      {},
    ],
  });
});

test('without machines the swarm places the nodes, and the chain stays on a manager', () => {
  const { stack } = exported();
  expect(stack.services['node-0']?.deploy).not.toHaveProperty('placement');
  expect(stack.services['chain']?.deploy.placement?.constraints).toEqual(['node.role == manager']);
});

test('the limits of a group apply only to its containers', () => {
  const { stack } = exported();
  expect(stack.services['node-2']?.deploy.resources).toEqual({
    limits: { pids: 1024, cpus: '0.5', memory: '268435456b' },
  });
  expect(stack.services['node-3']?.deploy.resources).toEqual({ limits: { pids: 1024 } });
});

test('the same seed is exported byte for byte the same, so that deploying it again changes nothing', () => {
  const again = () => exportStack(requestFor(MIXED)).files;
  expect(again()).toEqual(again());
  const names = (input: DefinitionInput) =>
    Object.values({ ...exported(input).stack.configs, ...exported(input).stack.secrets }).map(
      ({ name }) => name,
    );
  const changed = names({ ...MIXED, credit: 'low' });
  // The keys and the chain stay the same; the nodes' files have different content and so different names.
  expect(names(MIXED).filter((name) => !changed.includes(name))).toHaveLength(5);
});

test('a node answers to the name of its service and to that of its machine, which other machines can reach', () => {
  const machines = [
    { name: 'one', address: 'one.example' },
    { name: 'two', address: '10.0.0.2' },
  ];
  const { contents } = exported({ nodes: 2, allowedHosts: ['storage.example'] }, machines);
  const [first, second] = [0, 1].map((index) =>
    JSON.parse(contents.get(`configs/node-${index}.yaml`)?.content ?? ''),
  );
  expect(first).toMatchObject({
    'api-open': true,
    'allowed-hosts': ['node-0', 'one.example', 'storage.example'],
  });
  expect(second).toMatchObject({ 'api-open': true, 'allowed-hosts': ['node-1', 'storage.example'] });
});

test('a node is given its name in the network, and its configuration names the chain and the bootnodes', () => {
  const { contents } = exported();
  expect(JSON.parse(contents.get('configs/node-4.yaml')?.content ?? '')).toMatchObject({
    'nat-addr': 'node-4:1634',
    'data-dir': '/data',
    'full-node': false,
    'swap-endpoint': 'http://chain:8545',
    bootnode: [/^\/dns4\/node-0\//, /^\/dns4\/node-1\//, /^\/dns4\/node-2\//].map((pattern) =>
      expect.stringMatching(pattern),
    ),
  });
});

test('a node starts once the health of the chain is answered with success, also if its name does not resolve before', async () => {
  const { entrypoint, command = [] } = exported().stack.services['node-0'] ?? { entrypoint: [] };
  const [shell = '', flag = '', script = '', ...program] = entrypoint;
  expect([...program, ...command]).toEqual(expect.arrayContaining(['node/main.ts', 'start', '--config']));
  const statuses = [503, 200];
  await using server = createServer((_request, answer) => answer.writeHead(statuses.shift() ?? 200).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(script).toContain("fetch('\\''http://chain:8546/");
  const here = script.replaceAll('$$', '$').replace('chain:8546', `127.0.0.1:${port}`);
  const { stdout } = await promisify(execFile)(shell, [flag, here, 'echo', 'now', 'it starts']);
  expect([stdout, statuses]).toEqual(['now it starts\n', []]);
});

test('the printed wait ends once all services of the stack run, not while it has none', async () => {
  const { next } = exportStack(requestFor(MIXED));
  const wait = next((path) => path).find((line) => line.includes('stack services')) ?? '';
  const services = Number(/grep -qx (\d+)/.exec(wait)?.[1]);
  expect(services).toBe(Object.keys(exported().stack.services).length);
  // Of busybox, `grep` has no long options.
  expect(wait).not.toMatch(/grep --/);
  const folder = temporaryFolder('svcnet-stack-wait');
  const all = Array.from({ length: services }, () => '1/1');
  const answers = [[], ['0/1', ...all.slice(1)], all];
  for (const [at, lines] of answers.entries())
    writeFileSync(join(folder, String(at)), lines.map((line) => `${line}\n`).join(''));
  const docker = `for f in ${folder}/?; do cat $f; rm $f; return; done`;
  await promisify(execFile)('sh', ['-c', `docker() { ${docker}; }; sleep() { :; }; ${wait}`], {
    timeout: 20_000,
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('volumes are removed once no container uses them', () => {
  const { contents } = exported();
  const { next } = exportStack(requestFor(MIXED));
  const removal = next((path) => path).slice(-3);
  expect(removal).toEqual([
    'docker stack rm demo',
    'while docker ps -aq --filter label=com.docker.stack.namespace=demo | grep -q .; do sleep 1; done',
    'docker volume ls -q --filter label=com.docker.stack.namespace=demo | xargs -r docker volume rm',
  ]);
  for (const line of removal) expect(contents.get('stack.yaml')?.content).toContain(`#   ${line}\n`);
});
