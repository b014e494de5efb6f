import { expect, test, vi } from 'vitest';
import { DEPLOYER_KEY } from '../../../../../chain/deployer-key.ts';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { batchAmount, parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../../harness/cluster/plan/definition-input.ts';
import { creditOf } from '../../../../../harness/cluster/plan/facts.ts';

function mistake(input: unknown): string {
  try {
    parseDefinition(input, 'cluster.yaml');
  } catch (error) {
    expect(error).toBeInstanceOf(HarnessError);
    expect((error as HarnessError).code).toBe('DEFINITION_INVALID');
    return (error as HarnessError).message;
  }
  throw new Error('the definition was accepted');
}

test('an empty definition gives five nodes of our own flavour in the fast profile', () => {
  expect(parseDefinition(undefined, 'cluster.yaml')).toEqual({
    machineFaults: false,
    tap: false,
    underlays: ['tcp'],
    odd: [],
    flavours: [],
    nodes: [{ flavour: 'svc', mode: 'full', count: 5, options: {} }],
    chain: {
      engine: 'anvil',
      blockTime: 1000,
      chainId: 31_337,
      networkId: 4020,
      port: 0,
      gate: false,
      storagePrice: 24_000,
    },
    driver: 'process',
    profile: 'fast',
    shareResults: true,
    dialect: 'svc',
    listen: '127.0.0.1',
    topology: 'mesh',
    coldGossip: false,
    linkFaults: false,
    ports: 'free',
    cors: [],
    allowedHosts: [],
    batches: [{ depth: 20, ttl: 86_400_000, immutable: true }],
    swap: { deposit: 500_000_000_000_000_000n },
    funds: { native: 10n ** 19n, tokens: 10n ** 20n },
    prepare: { uploads: [], cheques: [] },
  });
});

test('cheques are on, with their own deposit if one is given, or off', () => {
  const swapOf = (swap: unknown) => parseDefinition({ swap }, 'options').swap;
  expect(swapOf(true)).toEqual({ deposit: 500_000_000_000_000_000n });
  expect(swapOf({})).toEqual({ deposit: 500_000_000_000_000_000n });
  expect(swapOf({ deposit: '1000000000000000000000' })).toEqual({ deposit: 10n ** 21n });
  expect(swapOf({ deposit: 0 })).toEqual({ deposit: 0n });
  expect(swapOf(false)).toBe(false);
});

test('credit is high for tests, the network’s in production, beside a Bee and for cheques, or as requested', () => {
  const of = (input: object) => creditOf(parseDefinition(input, 'options'));
  expect(of({})).toBe('high');
  expect(of({ profile: 'production' })).toBe('network');
  expect(of({ nodes: [{ flavour: 'bee', binary: './bee' }] })).toBe('network');
  expect(of({ prepare: { cheques: [{ from: 'node-0', to: 'node-1' }] } })).toBe('network');
  expect(of({ credit: 'low' })).toBe('low');
  expect(mistake({ credit: 'low', nodes: [{ flavour: 'bee', binary: './bee' }] })).toBe(
    "cluster.yaml: credit: got 'low', expected network: a Bee refuses other limits",
  );
});

test.each(['-5', 'abc', 1.5, 5e29])('%s is not a deposit', (deposit) => {
  const given = typeof deposit === 'string' ? `'${deposit}'` : String(deposit);
  expect(mistake({ swap: { deposit } })).toBe(
    `cluster.yaml: swap.deposit: got ${given}, expected a whole number of token units, as text when above 2^53`,
  );
});

test('a number of nodes and a list of groups describe the same cluster', () => {
  const short = parseDefinition({ nodes: 3 }, 'options');
  const long = parseDefinition({ nodes: [{ flavour: 'svc', count: 3 }] }, 'options');
  expect(short).toEqual(long);
});

test.each([
  [42, 42n],
  ['18446744073709551615', 18_446_744_073_709_551_615n],
  [7n, 7n],
])('the seed %s is read exactly', (given, seed) => {
  expect(parseDefinition({ seed: given }, 'options').seed).toBe(seed);
});

test.each([-1, 1.5, '18446744073709551616', 'abc', '0x10'])('%s is not a seed', (seed) => {
  expect(mistake({ seed })).toContain('expected a whole number from 0 to 2^64 - 1');
});

test.each([
  ['an unknown key with its nearest match', { sead: 1 }, "unknown key 'sead', did you mean 'seed'?"],
  [
    'an unknown key inside a map',
    { chain: { blokTime: '1s' } },
    "unknown key 'chain.blokTime', did you mean 'blockTime'?",
  ],
  [
    'an unknown key inside a group',
    { nodes: [{ flavor: 'svc' }] },
    "unknown key 'nodes[0].flavor', did you mean 'flavour'?",
  ],
  [
    'an unknown word',
    { driver: 'proces' },
    "driver: got 'proces', expected one of process, embedded, docker, simulated, did you mean 'process'?",
  ],
  [
    'a value of the wrong type',
    { nodes: [{ count: 'x' }] },
    "nodes[0].count: got 'x', expected a whole number from 1 to 1000",
  ],
  ['a value out of range', { nodes: 0 }, 'nodes: got 0, expected a whole number from 1 to 1000'],
  [
    'a number in words',
    { nodes: 'three' },
    "nodes: got 'three', expected a whole number from 1 to 1000, or a list of at least one group",
  ],
  ['an empty list', { nodes: [] }, 'nodes: got [], expected at least one group'],
  ['a group that is none', { nodes: [4] }, 'nodes[0]: got 4, expected a map with flavour, mode, count'],
  [
    'more nodes in all groups than there may be',
    { nodes: [{ count: 150 }, { count: 51 }] },
    'nodes: got 201 in all groups, expected at most 200, or 1000 with driver simulated',
  ],
  [
    'more simulated nodes than there may be',
    { driver: 'simulated', nodes: [{ count: 999 }, { count: 2 }] },
    'nodes: got 1001 in all groups, expected at most 1000',
  ],
  [
    'a cluster of light nodes alone',
    { nodes: [{ mode: 'light', count: 2 }] },
    'nodes: got 2 light nodes, expected at least one of mode full: only full nodes store what others upload',
  ],
  [
    'a cluster of boot and light nodes',
    { nodes: [{ mode: 'boot' }, { mode: 'light' }] },
    'nodes: got 1 boot node and 1 light node, expected at least one of mode full',
  ],
  [
    'a node option that there is not',
    { nodes: [{}, { options: { 'cache-capcity': 5 } }] },
    "nodes[1].options: a node knows no option 'cache-capcity', did you mean 'cache-capacity'?",
  ],
  [
    'a word for a number of a node option',
    { nodes: [{ options: { 'cache-capacity': 'lots' } }] },
    "nodes[0].options.cache-capacity: got 'lots', expected a whole number from 0 to 4294967295",
  ],
  [
    'a node option out of range',
    { nodes: [{ options: { 'minimum-storage-radius': 32 } }] },
    'nodes[0].options.minimum-storage-radius: got 32, expected a whole number from 0 to 31',
  ],
  [
    'a node option without its unit',
    { nodes: [{ options: { 'warmup-time': 5 } }] },
    'nodes[0].options.warmup-time: got 5, expected a duration such as 500ms, 15s or 1m30s',
  ],
  [
    'a list for a single node option',
    { nodes: [{ options: { verbosity: ['debug'] } }] },
    'nodes[0].options.verbosity: got ["debug"], expected one of silent, error',
  ],
  [
    'one wrong item of a list',
    { nodes: [{ options: { 'cors-allowed-origins': ['*', 'here'] } }] },
    "nodes[0].options.cors-allowed-origins: got 'here', expected an origin, for example",
  ],
  [
    'a duration without a unit',
    { chain: { blockTime: 1 } },
    'chain.blockTime: got 1, expected a duration such as 500ms',
  ],
  [
    'a block time that our nodes refuse',
    { chain: { blockTime: '61m' } },
    "chain.blockTime: got '61m', expected a duration such as 500ms, 15s or 1m30s, at most 1h",
  ],
  [
    'the id of a public chain',
    { chain: { chainId: 100 } },
    'chain.chainId: got 100, expected an id that no public chain has',
  ],
  ['a word for cheques', { swap: 'maybe' }, "swap: got 'maybe', expected true, false, or a map with deposit"],
  [
    'a host name with a port',
    { allowedHosts: ['node:1633'] },
    "allowedHosts[0]: got 'node:1633', expected a host name without a port",
  ],
  ['an origin that is none', { cors: 'here' }, "cors: got 'here', expected an origin, for example"],
  ['one wrong origin of a list', { cors: ['*', 4] }, 'cors[1]: got 4, expected an origin, for example'],
  ['a receiver of traces that is none', { otlp: 'here' }, "otlp: got 'here', expected host:port, or an http"],
  ['a receiver of another kind', { otlp: 'udp://a:1' }, "otlp: got 'udp://a:1', expected host:port"],
  ['two origins in one text', { cors: '*,*' }, "cors: got '*,*', expected an origin, for example"],
  [
    'a range that ends behind the last port',
    { ports: 65_000, nodes: 55 },
    'ports: got 65000, expected at most 64993: the range of 55 nodes ends at 65542',
  ],
  [
    'a port of the chain that a node has',
    { ports: 17_000, chain: { port: 17_011 } },
    'chain.port: got 17011, expected another port than that of the p2p listener of node-1',
  ],
  [
    'bad machines that are containers',
    { driver: 'docker', machineFaults: true },
    'machineFaults: got true with driver docker, expected driver process or embedded',
  ],
  ['a word for batches', { batches: 'many' }, "batches: got 'many', expected false, a map with depth"],
  ['a port of the system', { ports: 80 }, "ports: got 80, expected 'free', the first port of a fixed range"],
  [
    'a batch that is too small',
    { batches: { depth: 3 } },
    'batches.depth: got 3, expected a whole number from 17 to 40',
  ],
  ['a list instead of a map', [], 'document: got [], expected a map'],
  [
    'an option that the testbed sets',
    { nodes: [{ options: { 'api-addr': '0.0.0.0:1633' } }] },
    "nodes[0].options: 'api-addr' is set by the testbed",
  ],
])('%s is refused by name', (_what, input, words) => {
  const message = mistake(input);
  expect(message).toContain(`cluster.yaml: ${words}`);
});

const ANYTHING = [null, true, -1, 1.5, 'x', [], {}, [null], [{}], { x: 1 }];

const KEYS = [
  'preset',
  'name',
  'seed',
  'nodes',
  'chain',
  'driver',
  'profile',
  'ports',
  'cors',
  'allowedHosts',
  'otlp',
  'batches',
  'swap',
  'prepare',
  'credit',
];

const INSIDE = {
  nodes: ['flavour', 'mode', 'count', 'binary', 'options'],
  chain: ['blockTime', 'chainId', 'networkId', 'port', 'gate'],
  batches: ['depth', 'ttl', 'immutable'],
  swap: ['deposit'],
  prepare: ['uploads', 'cheques', 'height'],
};

function mistakesOf(input: unknown): string {
  try {
    parseDefinition(input, 'options');
    return '';
  } catch (error) {
    return (error as HarnessError).message;
  }
}

test('every mistake states in words what was expected', () => {
  const inputs = [
    ...KEYS.flatMap((key) => ANYTHING.map((value) => ({ [key]: value }))),
    ...Object.entries(INSIDE).flatMap(([key, inner]) =>
      inner.flatMap((name) =>
        ANYTHING.map((value) => ({ [key]: key === 'nodes' ? [{ [name]: value }] : { [name]: value } })),
      ),
    ),
    ...ANYTHING.map((value) => ({ nodes: [{ options: { verbosity: value } }] })),
  ];
  const messages = inputs.map((input) => [JSON.stringify(input), mistakesOf(input)]);
  expect(messages.filter(([, text]) => /Invalid|undefined/.test(text ?? ''))).toEqual([]);
});

test('options of our own nodes are typed, and those of a Bee are passed on', () => {
  const typed: DefinitionInput = {
    nodes: [
      {
        options: {
          'cache-capacity': 5,
          'warmup-time': '1s',
          'cors-allowed-origins': ['*'],
          verbosity: 'debug',
        },
      },
      { flavour: 'bee', binary: '/opt/bee', options: { whatever: 'it knows' } },
    ],
  };
  expect(parseDefinition(typed, 'options').nodes).toHaveLength(2);
  // @ts-expect-error there is no such option
  const misspelt: DefinitionInput = { nodes: [{ options: { 'cache-capcity': 5 } }] };
  expect(mistakesOf(misspelt)).toContain("no option 'cache-capcity'");
});

test('contradictions are reported alongside mistakes in other keys', () => {
  const message = mistake({
    sead: 1,
    swap: 'x',
    nodes: [{ mode: 'light', options: { 'cache-capacity': -1 } }],
  });
  expect(message.split('\n').map((line) => line.replace(/^cluster.yaml: /, '').slice(0, 40))).toEqual([
    "swap: got 'x', expected true, false, or ",
    "unknown key 'sead', did you mean 'seed'?",
    'nodes[0].options.cache-capacity: got -1,',
    'nodes: got 1 light node, expected at lea',
  ]);
});

test('all mistakes of a document are reported at once', () => {
  expect(mistake({ sead: 1, driver: 'x', nodes: 'many' }).split('\n')).toHaveLength(3);
});

test('a batch for a day costs the price of all blocks of a day', () => {
  expect(batchAmount(86_400_000, { blockTimeMs: 1000, storagePrice: 24_000n })).toBe(24_000n * 86_400n);
  expect(batchAmount(86_400_000, { blockTimeMs: 5000, storagePrice: 30_000n })).toBe(30_000n * 17_280n);
});

test.each([
  [
    'a bee without a program',
    { nodes: [{ flavour: 'bee' }] },
    'nodes[0].binary: flavour bee needs the path of its program: binary, --bee-binary or SVCNET_BEE_BINARY',
  ],
  [
    'an unknown mode',
    { nodes: [{ flavour: 'bee', binary: '/opt/bee', mode: 'ligth' }] },
    "nodes[0].mode: got 'ligth', expected one of full, light, boot, did you mean 'light'?",
  ],
  [
    'an option of a bee that the testbed sets',
    { nodes: [{ flavour: 'bee', binary: '/opt/bee', options: { 'network-id': 1 } }] },
    "nodes[0].options: 'network-id' is set by the testbed and cannot be chosen",
  ],
  [
    'a block time that a bee does not know',
    { chain: { blockTime: '500ms' }, nodes: [{ flavour: 'bee', binary: '/opt/bee' }] },
    'chain.blockTime: got 500ms, expected whole seconds: a Bee knows no others',
  ],
  [
    'a program in a container',
    { driver: 'docker', nodes: [{ flavour: 'bee', binary: '/opt/bee' }] },
    "nodes[0].binary: got '/opt/bee' with driver docker, expected none: a container cannot run a program of this machine; name an image instead",
  ],
  [
    'a bee in a container without an image',
    { driver: 'docker', nodes: [{}, { flavour: 'bee' }] },
    'nodes[1].image: flavour bee needs the image of its program with driver docker',
  ],
  [
    'an image without containers',
    { nodes: [{ image: 'mine' }] },
    "nodes[0].image: got 'mine' with driver process, expected none: only driver docker has images",
  ],
  [
    'limits without containers',
    { driver: 'embedded', nodes: [{ resources: { cpus: 1 } }] },
    'nodes[0].resources: expected none with driver embedded: only containers have limits (driver docker)',
  ],
])('%s is named', (_, input, message) => {
  vi.stubEnv('SVCNET_BEE_BINARY', '');
  try {
    expect(mistake(input)).toContain(`cluster.yaml: ${message}`);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('a price too large for the oracle is refused', () => {
  expect(mistake({ chain: { storagePrice: 2 ** 22 } })).toContain(
    'chain.storagePrice: got 4194304, expected a whole number from 24000 to 4194303',
  );
});

test.each([
  [['11'.repeat(32)], 'nodes[0].keys: got 1, expected 2: one for each node'],
  [
    ['11'.repeat(32), `0x${'11'.repeat(32)}`],
    'nodes[0].keys[1]: got the key of nodes[0].keys[0] (…1111), expected one of its own',
  ],
  [
    ['11'.repeat(32), DEPLOYER_KEY],
    'nodes[0].keys[1]: got the key of the account that deploys the contracts (…ff80), expected one of its own',
  ],
  [
    ['11'.repeat(32), '0'.repeat(64)],
    'expected a private key: above zero and below the order of the secp256k1 group',
  ],
  [['11'.repeat(32), 'f'.repeat(64)], 'expected a private key: above zero and below'],
])('keys %j are not a list of private keys for two nodes', (keys, text) => {
  expect(mistake({ nodes: [{ count: 2, keys }] })).toContain(text);
});

test('a chain in the process is for nodes of this machine: the image has Anvil', () => {
  expect(mistake({ driver: 'docker', chain: { engine: 'in-process' } })).toContain(
    "chain.engine: got 'in-process' with driver docker, expected anvil, or driver process or embedded",
  );
  expect(mistake({ chain: { engine: 'geth' } })).toContain('expected one of anvil, in-process');
});

test('a key is used only once in the whole cluster', () => {
  const keys = ['11'.repeat(32)];
  expect(mistake({ nodes: [{ keys }, {}, { keys }] })).toBe(
    'cluster.yaml: nodes[2].keys[0]: got the key of nodes[0].keys[0] (…1111), expected one of its own',
  );
});

test.each([
  [
    [{ count: 2, neighbourhoods: ['0'] }],
    'nodes[0].neighbourhoods: got 1, expected 2: one for each node, or one text for all',
  ],
  [
    [{ keys: ['11'.repeat(32)], neighbourhoods: '01' }],
    'nodes[0].neighbourhoods: got it beside keys, expected one of them: an overlay follows from the key',
  ],
  [
    [{ count: 4, neighbourhoods: '0'.repeat(16) }],
    'nodes: neighbourhoods of so many bits take about 262144 keys to find, expected at most 200000 for all nodes: each bit less halves them',
  ],
])('neighbourhoods that nodes cannot be in are refused: %#', (nodes, text) => {
  expect(mistake({ nodes })).toBe(`cluster.yaml: ${text}`);
});

test('refuses an impossible topology, and one with nodes that cannot be given their peers', () => {
  expect(mistake({ nodes: 2, topology: 'ring' })).toBe(
    'cluster.yaml: topology: ring: got 2 nodes, expected at least 3',
  );
  expect(mistake({ nodes: [{ count: 3 }, { flavour: 'bee', binary: './bee' }], topology: 'star' })).toBe(
    'cluster.yaml: topology: got nodes of flavour bee beside it, expected mesh: they cannot be told whom to connect to',
  );
});

test('of a hundred thousand mistakes the first twenty are told, and how many there are', () => {
  const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`sed${i}`, 1]));
  const lines = (input: unknown) => mistake(input).split('\n');
  const unknown = lines({ ...keys, seed: 1 });
  expect(unknown).toHaveLength(21);
  expect(unknown[0]).toMatch(/^cluster\.yaml: unknown key 'sed0', did you mean 'seed'\? \(known: preset, /);
  expect(unknown[20]).toBe('cluster.yaml: and 99,980 more mistakes');
  const foreign = Object.entries(keys).map(([key]) => ({ [key]: 1 }));
  expect(lines({ nodes: foreign })).toEqual([
    expect.stringMatching(/^cluster\.yaml: nodes: got \[.*, expected a list of groups, at most 1000$/),
  ]);
  expect(lines({ nodes: foreign.slice(0, 1000) })[20]).toBe('cluster.yaml: and 980 more mistakes');
  expect(lines({ ['k'.repeat(1_000_000)]: 1 })).toHaveLength(1);
});

const many = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test.each([
  [{ nodes: many(1001, {}) }, 'expected a list of groups, at most 1000'],
  [{ nodes: [{ keys: many(1001, '1'.repeat(64)) }] }, 'expected a list of private keys, at most 1000'],
  [{ nodes: [{ neighbourhoods: many(1001, '0') }] }, 'or a list of them, one for each node, at most 1000'],
  [
    { nodes: [{ options: Object.fromEntries(many(201, 1).map((one, i) => [`o${i}`, one])) }] },
    'at most 200 node',
  ],
  [{ nodes: [{ options: { bootnode: many(1001, '') } }] }, 'expected a list of texts, at most 1000'],
  [{ batches: many(101, {}) }, 'expected a list of maps with depth, ttl and immutable, at most 100'],
  [{ topology: { links: many(19_901, ['node-0', 'node-1']) } }, 'a list of pairs of nodes, at most 19900'],
  [{ prepare: { uploads: many(1001, { node: 'node-0', size: '1' }) } }, 'a list of uploads, at most 1000'],
  [
    { prepare: { cheques: many(10_001, { from: 'node-0', to: 'node-1' }) } },
    'a list of cheques, at most 10000',
  ],
  [{ cors: many(101, '*') }, 'a list of origins, at most 100'],
  [{ allowedHosts: many(101, 'a.example') }, 'a list of host names, at most 100'],
])('no list is without a bound: %#', (input, expected) => {
  expect(mistake(input)).toContain(expected);
});
