import { expect, test } from 'vitest';
import { toHex } from '../../../../../formats/crypto/hex.ts';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../../harness/cluster/plan/definition-input.ts';
import { type ClusterPlan, placeNodes, planCluster } from '../../../../../harness/cluster/plan/plan.ts';
import { deriveNode } from '../../../../../harness/cluster/plan/seed.ts';
import type { NodePlan } from '../../../../../harness/flavours/flavour.ts';
import { svcFlavour } from '../../../../../harness/flavours/svc.ts';
import { CONTRACTS } from './contracts.ts';

function planOf(input: DefinitionInput): ClusterPlan {
  return planCluster(parseDefinition(input, 'options'), 7n);
}

const FACTS = {
  contracts: CONTRACTS,
  startBlock: 3,
  rpcOf: (node: string) => `http://chain/${node}`,
  chequebookOf: ({ name }: { name: string }) => (name === 'node-0' ? '0xaa' : undefined),
};

/** Each node has its own ports. */
function placed(input: DefinitionInput): NodePlan[] {
  const plan = planOf(input);
  const places = plan.nodes.map(({ name }, index) => ({
    ports: { api: 1000 + index, p2p: 2000 + index, debug: 3000 + index },
    reached: { host: '10.0.0.9', port: 2000 + index },
    listen: '0.0.0.0',
    dataDir: `/data/${name}`,
  }));
  return placeNodes(plan, places, FACTS).map((node) => node.plan);
}

function optionsOf(node: NodePlan): Record<string, unknown> {
  return JSON.parse(svcFlavour.files(node).find(({ path }) => path === 'config.yaml')?.content ?? '');
}

const bootnodeHosts = ({ network }: NodePlan) =>
  network.bootnodes.map((underlay) => Number(/\/tcp\/20(\d\d)\//.exec(underlay)?.[1]));

test('groups become a flat list of nodes in order, each with the keys of its index', () => {
  const { nodes } = planOf({
    nodes: [
      { count: 2, options: { verbosity: 'debug' } },
      { flavour: 'bee', mode: 'light', binary: '/bee' },
    ],
  });
  expect(nodes).toEqual(
    [
      { flavour: 'svc', mode: 'full', dialect: 'svc', binary: undefined, options: { verbosity: 'debug' } },
      { flavour: 'svc', mode: 'full', dialect: 'svc', binary: undefined, options: { verbosity: 'debug' } },
      { flavour: 'bee', mode: 'light', dialect: 'swarm', binary: '/bee', options: {} },
    ].map((node, index) => ({
      ...node,
      index,
      name: `node-${index}`,
      identity: deriveNode({ seed: 7n, index, networkId: 4020 }),
    })),
  );
});

test('our own nodes speak the dialect of the definition, a Bee its own', () => {
  const nodes: DefinitionInput['nodes'] = [{}, { flavour: 'bee', binary: '/bee' }];
  const dialects = (input: DefinitionInput) => placed(input).map(({ dialect }) => dialect);
  expect(dialects({ nodes })).toEqual(['svc', 'swarm']);
  expect(dialects({ nodes, dialect: 'swarm' })).toEqual(['swarm', 'swarm']);
  const [node] = placed({ dialect: 'swarm', nodes: 1 });
  expect(node && svcFlavour.embedded(node).options).toMatchObject({ 'api-dialect': 'swarm' });
});

test('accounts of a group have the keys that it names; everything else is still derived from the seed', () => {
  const keys = ['0x' + 'AB'.repeat(32), '11'.repeat(32)];
  const given = planOf({ nodes: [{}, { count: 2, keys }] });
  const derived = planOf({ nodes: 3 });
  const [first, second, third] = given.nodes.map(({ identity }) => identity);
  const [before, , last] = derived.nodes.map(({ identity }) => identity);
  expect(first).toEqual(before);
  expect([second, third].map((one) => toHex(one?.keys.swarm ?? new Uint8Array()))).toEqual([
    'ab'.repeat(32),
    '11'.repeat(32),
  ]);
  // As every wallet shows it, for a private key of repeated 0x11.
  expect(third?.ethereum).toBe('19e7e376e7c213b7e7e7e46cc70a5dd086daff2a');
  expect(third?.overlay).not.toBe(last?.overlay);
  expect([third?.peerId, third?.keys.pss, third?.keys.libp2p]).toEqual([
    last?.peerId,
    last?.keys.pss,
    last?.keys.libp2p,
  ]);
  expect(given.chain.accounts[2]?.address).toBe(`0x${third?.ethereum}`);
  expect(given.chain.batches[2]?.owner).toBe(`0x${third?.ethereum}`);
});

test('overlays of a group are mined into its neighbourhoods, one for all or one each', () => {
  const { nodes } = planOf({
    nodes: [{ count: 2, neighbourhoods: '01' }, { count: 2, neighbourhoods: ['100', '111'] }, {}],
  });
  const firstBits = nodes.map(({ identity }) =>
    Number.parseInt(identity.overlay.slice(0, 2), 16).toString(2).padStart(8, '0').slice(0, 3),
  );
  expect(firstBits.slice(0, 4)).toEqual([
    expect.stringMatching(/^01/),
    expect.stringMatching(/^01/),
    '100',
    '111',
  ]);
  expect(nodes[4]?.identity).toEqual(deriveNode({ seed: 7n, index: 4, networkId: 4020 }));
  expect(new Set(nodes.map(({ identity }) => identity.overlay)).size).toBe(5);
});

test('the same definition and seed give the same plan', () => {
  expect(planOf({ nodes: 3 })).toEqual(planOf({ nodes: 3 }));
});

test('nodes of a topology know the addresses of their peers, and no bootnodes', () => {
  const nodes = placed({ nodes: 4, topology: 'star' });
  const portsOf = (underlays: readonly string[] | undefined) =>
    underlays?.map((underlay) => Number(/\/tcp\/20(\d\d)\//.exec(underlay)?.[1]));
  expect(nodes.map(({ network }) => portsOf(network.onlyPeers))).toEqual([[1, 2, 3], [0], [0], [0]]);
  expect(nodes.map(bootnodeHosts)).toEqual([[], [], [], []]);
  expect(svcFlavour.embedded(nodes[1] as NodePlan).options['only-peers']).toEqual(
    nodes[1]?.network.onlyPeers,
  );
  expect(placed({ nodes: 2 }).map(({ network }) => network.onlyPeers)).toEqual([undefined, undefined]);
});

test('a placed node listens where its place says and knows its network', () => {
  const [first] = placed({ nodes: 2, credit: 'low', swap: { deposit: 5 } });
  expect(first).toMatchObject({
    name: 'node-0',
    ports: { api: 1000, p2p: 2000, debug: 3000 },
    listen: '0.0.0.0',
    dataDir: '/data/node-0',
    chequebook: '0xaa',
    profile: 'fast',
    network: {
      networkId: 4020,
      rpc: 'http://chain/node-0',
      contracts: CONTRACTS,
      startBlock: 3,
      blockTimeMs: 1000,
      credit: 'low',
      swap: { deposit: 5n },
    },
  });
});

test('the allowed origins of the cluster apply to its nodes, unless a group names others', () => {
  const cors = 'http://localhost:3000';
  const nodes = placed({ cors, nodes: [{}, { options: { 'cors-allowed-origins': '*' } }] });
  const configs = nodes.map((node) =>
    JSON.parse(svcFlavour.files(node).find(({ path }) => path === 'config.yaml')?.content ?? ''),
  );
  expect(configs).toMatchObject([{ 'cors-allowed-origins': [cors] }, { 'cors-allowed-origins': '*' }]);
});

test('a node answers to the names of its place, of the cluster and of its group', () => {
  const group = { options: { 'allowed-hosts': 'group.example,other.example' } };
  const plan = planOf({ allowedHosts: ['cluster.example'], nodes: [{}, group] });
  const places = plan.nodes.map(({ name }) => ({
    ports: { api: 1, p2p: 2, debug: 3 },
    reached: { host: name, port: 2 },
    hosts: [name],
    listen: '127.0.0.1',
    dataDir: '/data',
  }));
  const hosts = placeNodes(plan, places, FACTS).map(({ plan: node }) => optionsOf(node)['allowed-hosts']);
  expect(hosts).toEqual([
    ['node-0', 'cluster.example'],
    ['node-1', 'cluster.example', 'group.example,other.example'],
  ]);
});

test('a node that other machines can reach has api-open set', () => {
  const [node] = placed({ nodes: 1 });
  if (node === undefined) throw new Error('there is no node');
  const opened = (listen: string) => optionsOf({ ...node, listen })['api-open'];
  expect(['0.0.0.0', '192.168.0.3', '127.0.0.1', '127.0.0.9'].map(opened)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('all nodes send their traces where the cluster says, unless a group specifies otherwise', () => {
  const nodes = placed({
    otlp: 'http://collector:4318',
    nodes: [{}, { options: { 'tracing-enable': false } }],
  });
  const configs = nodes.map((node) =>
    JSON.parse(svcFlavour.files(node).find(({ path }) => path === 'config.yaml')?.content ?? ''),
  );
  const endpoint = { 'tracing-endpoint': 'http://collector:4318' };
  expect(configs).toMatchObject([
    { 'tracing-enable': true, ...endpoint },
    { 'tracing-enable': false, ...endpoint },
  ]);
});

test('the first three full nodes are the bootnodes of all others', () => {
  const nodes = placed({ nodes: [{ mode: 'light' }, { count: 4 }] });
  expect(nodes.map(bootnodeHosts)).toEqual([
    [1, 2, 3],
    [2, 3],
    [1, 3],
    [1, 2],
    [1, 2, 3],
  ]);
  expect(nodes.every(({ network }) => !network.dedicatedBootnodes)).toBe(true);
});

test('boot nodes, if any, are the bootnodes', () => {
  const nodes = placed({ nodes: [{ count: 2 }, { mode: 'boot' }] });
  expect(nodes.map(bootnodeHosts)).toEqual([[2], [2], []]);
  expect(nodes.every(({ network }) => network.dedicatedBootnodes)).toBe(true);
});

test('a boot Bee is also a bootnode, a full one is not', () => {
  const bee = { flavour: 'bee', binary: '/bee' } as const;
  expect(placed({ nodes: [{ ...bee, mode: 'boot' }, bee, {}] }).map(bootnodeHosts)).toEqual([[], [0], [0]]);
  expect(placed({ nodes: [bee, {}] }).map(bootnodeHosts)).toEqual([[1], []]);
});

test('every node needs a place', () => {
  const plan = planOf({ nodes: 2 });
  expect(() => placeNodes(plan, [], FACTS)).toThrow('no place for node-0: 0 are given');
});
