import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { HarnessError } from '../../../harness/base/errors.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterDocument } from '../../../harness/cluster/cluster-document.ts';
import { deriveNode } from '../../../harness/cluster/plan/seed.ts';
import { readRecord } from '../../../harness/cluster/state/state.ts';
import type { ScenarioResult } from '../../../harness/report/result.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { defineScenario, type Scenario } from '../../../harness/run/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { svcnetHere } from '../svcnet.ts';

/** On a loaded machine each command takes long to start. */
const SCENARIO_MS = 300_000;
const SEED = 771n;

const folder = temporaryFolder('svcnet-attached');
const stateDir = join(folder, 'ours');
let theirs: Cluster;
let strangers: Cluster;
beforeAll(async () => {
  const definition = { driver: 'embedded', stateDir: join(folder, 'theirs') } as const;
  theirs = await Cluster.start({ ...definition, nodes: 4, seed: SEED });
  strangers = await Cluster.start({ ...definition, nodes: 1, seed: 772n, batches: false });
});
afterAll(() => Promise.all([theirs?.stop(), strangers?.stop()]));

const endpointsOf = ({ nodes }: Cluster) => nodes.map(({ api, debug }) => ({ api, debug }));

const svcnet = (...args: string[]) => svcnetHere(args, { stateDir });

async function run(
  name: string,
  scenario: string | Scenario,
  set: Readonly<Record<string, string>> = {},
): Promise<ScenarioResult> {
  const { scenarios } = await runScenarios({
    planned: planScenarios(
      [typeof scenario === 'string' ? await loadScenario(scenario) : scenario],
      new Map(Object.entries(set)),
    ),
    attachTo: name,
    seed: 5n,
    stateDir,
    report: join(folder, 'report'),
    name,
    command: '',
    signal: new AbortController().signal,
  });
  return scenarios[0] as ScenarioResult;
}

async function mistakesOf(network: Parameters<typeof Cluster.attachNetwork>[0]): Promise<string[]> {
  try {
    await (await Cluster.attachNetwork(network, { stateDir, name: 'wrong' })).stop();
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'NETWORK_INVALID') return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('from the command line', { timeout: SCENARIO_MS }, () => {
  const file = join(folder, 'field-net.yaml');
  beforeAll(() => {
    const nodes = endpointsOf(theirs).map(({ api, debug }) => `  - { api: ${api}, debug: ${debug} }`);
    const key = toHex(deriveNode({ seed: SEED, index: 0, networkId: theirs.chain.networkId }).keys.swarm);
    nodes[0] = `  - { api: ${theirs.node(0).api}, key: 0x${key} }`;
    writeFileSync(file, `chain: { rpc: ${theirs.chain.rpc} }\nnodes:\n${nodes.join('\n')}\n`);
  });

  test('a network becomes a cluster whose nodes are described by their own answers', async () => {
    const { code, stdout } = await svcnet('attach', '-f', file, '--json');
    expect(code).toBe(0);
    const document = JSON.parse(stdout) as ClusterDocument;
    expect(document).toMatchObject({ name: 'field-net', driver: 'attached', seed: null });
    expect(document.chain).toEqual({
      rpc: theirs.chain.rpc,
      chainId: theirs.chain.chainId,
      contracts: { ...theirs.chain.contracts },
    });
    expect(
      document.nodes.map(({ overlay, ethereum, p2p, flavour, mode }) => [
        overlay,
        ethereum,
        p2p,
        flavour,
        mode,
      ]),
    ).toEqual(theirs.nodes.map(({ overlay, ethereum, p2p }) => [overlay, ethereum, p2p, 'svc', 'full']));
    expect(document.nodes.map(({ pid, dataDir, log }) => [pid, dataDir, log])).toEqual(
      theirs.nodes.map(() => [null, null, null]),
    );
    expect(document.batches).toEqual(theirs.batches);
  });

  test('the endpoint of a provider is used whole, and shown without what opens it', async () => {
    const rpc = theirs.chain.rpc.replace('//', '//me:hush-1@').concat('/v3/hush-2-0123456789?key=hush-3');
    const secret = join(folder, 'provider.yaml');
    writeFileSync(secret, `chain: { rpc: '${rpc}' }\nnodes: [{ api: ${theirs.node(0).api} }]\n`);
    const attached = await svcnet('attach', '-f', secret);
    expect(attached.stderr).toBe('');
    expect(attached.stdout).toContain(`chain ${theirs.chain.rpc}/v3/…`);
    const name = ['--name', 'provider'];
    const others = await Promise.all([
      svcnet('ps', '--json', ...name),
      svcnet('status', '--json', ...name),
      svcnet('keys', ...name),
    ]);
    for (const { stdout, stderr } of [attached, ...others]) expect(stdout + stderr).not.toContain('hush');
    expect((await svcnet('env', ...name)).stdout).toContain(`SVCNET_CHAIN_RPC='${rpc}'`);
    expect((await svcnet('down', ...name)).code).toBe(0);
  });

  test('a name can be used only once', async () => {
    const { code, stderr } = await svcnet('attach', '-f', file);
    expect(code).toBe(2);
    expect(stderr).toContain("a cluster named 'field-net' is running already");
  });

  test('it can be inspected like any other cluster', async () => {
    expect((await svcnet('ps')).stdout).toMatch(/field-net +attached · chain/);
    const healthy = { problems: [], nodes: [{ peers: 3 }, { peers: 3 }, { peers: 3 }, { peers: 3 }] };
    // A loaded node may not answer within a command's second.
    const status = async () => JSON.parse((await svcnet('status', '--json')).stdout) as typeof healthy;
    await expect.poll(status, { timeout: SCENARIO_MS / 2 }).toMatchObject(healthy);
    expect((await svcnet('env')).stdout).toContain(`export SVCNET_BATCH_2=${theirs.node(2).batch}`);
    const keys = JSON.parse((await svcnet('keys', '--json')).stdout) as {
      accounts: { name: string; address: string }[];
    };
    expect(keys.accounts.map(({ name, address }) => [name, address])).toEqual([
      ['node-0', `0x${theirs.node(0).ethereum}`],
    ]);
  });

  test.each([
    [['stop', 'node-0'], 'cannot stop node-0: it was not started here'],
    [['start', 'node-0'], 'cannot start node-0: it was not started here'],
    [['kill', 'node-0'], 'cannot kill node-0: it was not started here'],
    [['add'], "cannot add nodes to cluster 'field-net': it was not started here"],
    [['logs', 'node-0'], 'cannot read the log of node-0: it was not started here'],
    [['logs', 'chain'], 'cannot read the log of chain: it was not started here'],
    [['fund', 'node-0'], 'this chain has no control endpoint: accounts cannot be funded'],
  ])('%j is refused with the reason', async (command, reason) => {
    const { code, stderr } = await svcnet(...command);
    expect(code).toBe(2);
    expect(stderr).toContain(`error: ${reason}`);
  });

  test('down forgets the network and stops nothing', async () => {
    const { code, stdout } = await svcnet('down', '--all');
    expect(code).toBe(0);
    expect(stdout).toContain('forgot field-net: its 4 nodes keep running');
    expect(readdirSync(join(stateDir, 'clusters'))).toEqual([]);
    for (const node of theirs.nodes) expect((await node.client.health()).status).toBe('ok');
  });
});

describe('scenarios on a network without control endpoint', () => {
  let net: Cluster;
  beforeAll(async () => {
    net = await Cluster.attachNetwork(
      { name: 'whole', chain: { rpc: theirs.chain.rpc }, nodes: endpointsOf(theirs) },
      { stateDir },
    );
  });
  afterAll(() => net?.stop());

  test.each([
    ['smoke', { size: '300000', dir: 'scenarios' }],
    ['upload', { sizes: '4096,64KiB', count: '2' }],
    ['retrieval', { sizes: '4096,64KiB', count: '2' }],
    ['pss', { count: '1' }],
    ['settlements', { size: '200000', 'expect-settlements': 'false' }],
  ])('%s passes', async (scenario, set) => {
    const { error, assertions, result } = await run('whole', scenario, set);
    expect(error).toBeUndefined();
    expect(assertions.filter(({ passed }) => !passed)).toEqual([]);
    expect(result).toBe('passed');
  });

  test('the total of tokens is not checked with unknown accounts, and the report says so', async () => {
    const { result, unchecked } = await run('whole', 'settlements', { 'dry-run': 'true' });
    expect(result).toBe('passed');
    expect(unchecked).toEqual(['tokens on the chain: not every account of an attached network is known']);
  });

  test.each([
    ['stake', /^needs the control endpoint of the chain/],
    ['radius-growth', /^needs nodes that svcnet has started/],
  ])('%s is refused before it starts', async (scenario, reason) => {
    const { result, skipReason, assertions } = await run('whole', scenario);
    expect(result).toBe('skipped');
    expect(skipReason).toMatch(reason);
    expect(assertions).toEqual([]);
  });

  test('it is meshed once every node has a peer', async () => {
    expect(await net.meshed()).toEqual({ links: 12, expected: 12 });
  });
});

test('chunks may be missing in a part of a network: unlisted nodes may hold them', async () => {
  const nodes = endpointsOf(theirs).slice(0, 2);
  await using net = await Cluster.attachNetwork(
    { name: 'part', chain: { rpc: theirs.chain.rpc }, nodes },
    { stateDir },
  );
  const unlisted = await net.unlistedPeers(new AbortController().signal);
  expect([...unlisted].sort()).toEqual(
    theirs.nodes
      .slice(2)
      .map(({ overlay }) => overlay)
      .sort(),
  );
  expect((await run('part', 'gsoc')).skipReason).toMatch(/does not list/);
});

test('with a control endpoint the chain mines and funds', async () => {
  const { control = '', token, rpc } = readRecord(join(folder, 'theirs'), theirs.name)?.chain ?? {};
  await using net = await Cluster.attachNetwork(
    { name: 'controlled', chain: { rpc: rpc ?? '', control, token }, nodes: endpointsOf(theirs) },
    { stateDir },
  );
  expect(net.chain.steady).toBe(false);
  const account = 'ab'.repeat(20);
  await net.chain.fund(account, { native: 7n, tokens: 5n });
  expect([await net.chain.nativeBalance(account), await net.chain.tokenBalance(account)]).toEqual([7n, 5n]);
  const height = await net.chain.height();
  await net.chain.mine(3);
  expect(await net.chain.height()).toBeGreaterThanOrEqual(height + 3);
});

test('a control endpoint whose token is missing is named, with what is missing', async () => {
  const { control = '', rpc } = readRecord(join(folder, 'theirs'), theirs.name)?.chain ?? {};
  const chain = { rpc: rpc ?? '', control };
  const attached = Cluster.attachNetwork({ chain, nodes: endpointsOf(theirs) }, { stateDir });
  await expect(attached).rejects.toThrow(
    /token of the chain is missing.*\(set chain\.token or chain\.tokenFile/,
  );
});

test('without a control endpoint no block is mined, and the message says what is missing', async () => {
  await using net = await Cluster.attachNetwork(
    { name: 'uncontrolled', chain: { rpc: theirs.chain.rpc }, nodes: endpointsOf(theirs) },
    { stateDir },
  );
  const { code, stderr } = await svcnet('mine', '--name', net.name);
  expect(code).toBe(2);
  expect(stderr).toContain('this chain has no control endpoint: blocks cannot be mined on demand');
});

test('the list of clusters shows which networks answer and which do not', async () => {
  const ended = await Cluster.start({
    driver: 'embedded',
    stateDir: join(folder, 'theirs'),
    nodes: 1,
    batches: false,
  });
  const [there, gone] = [endpointsOf(theirs), endpointsOf(ended)];
  await using first = await Cluster.attachNetwork(
    { name: 'there', chain: { rpc: theirs.chain.rpc }, nodes: there },
    { stateDir },
  );
  await using second = await Cluster.attachNetwork(
    { name: 'gone', chain: { rpc: ended.chain.rpc }, nodes: gone },
    { stateDir },
  );
  await ended.stop();
  const { clusters } = JSON.parse((await svcnet('ps', '--json')).stdout) as {
    clusters: { name: string; state: string }[];
  };
  const states = new Map(clusters.map(({ name, state }) => [name, state]));
  expect([states.get(first.name), states.get(second.name)]).toEqual(['running', 'silent']);
});

test('a node without a batch gets one, which becomes its default', async () => {
  const nodes = endpointsOf(strangers);
  await using net = await Cluster.attachNetwork(
    { name: 'poor', chain: { rpc: strangers.chain.rpc }, nodes },
    { stateDir },
  );
  expect(net.node(0).batch).toBeUndefined();
  const { code, stdout } = await svcnet('stamp', '--name', 'poor', '--ttl', '1h', '--depth', '17', '--json');
  expect(code).toBe(0);
  const { id, amount } = JSON.parse(stdout) as { id: string; amount: string };
  expect(Number(amount) % 24_000).toBe(0);
  const again = await Cluster.attach('poor', { stateDir });
  expect(again.node(0).batch).toBe(id);
  await again.detach();
});

describe('an invalid network is refused with the reason, and nothing is attached', () => {
  afterAll(() => {
    expect(existsSync(join(stateDir, 'clusters', 'wrong'))).toBe(false);
  });

  test('endpoints that do not answer, are not nodes, or are the same node', async () => {
    const [first] = theirs.nodes;
    const { port } = new URL(first?.api ?? '');
    const mistakes = await mistakesOf({
      chain: { rpc: theirs.chain.rpc },
      nodes: [
        { api: 'http://127.0.0.1:9' },
        { api: theirs.chain.rpc },
        { api: `http://127.0.0.1:${port}` },
        { api: `http://localhost:${port}`, name: 'twin' },
      ],
    });
    expect(mistakes).toEqual([
      expect.stringMatching(
        /^network: nodes\[0\]: node-0 at http:\/\/127\.0\.0\.1:9: GET \/node: connect ECONNREFUSED/,
      ),
      expect.stringMatching(/^network: nodes\[1\]: node-1 at .*: answers, but is not a storage node/),
      expect.stringMatching(
        /^network: nodes\[3\]: twin at .* is the same node as node-2 \(overlay [0-9a-f]{64}\)$/,
      ),
    ]);
  });

  test('nodes of another network, even when its chain has the same id and contracts', async () => {
    const mistakes = await mistakesOf({
      chain: { rpc: theirs.chain.rpc },
      nodes: [...endpointsOf(theirs).slice(0, 1), ...endpointsOf(strangers)],
    });
    expect(mistakes).toEqual([
      expect.stringMatching(
        /^network: nodes\[1\]: node-1 is not on the chain at http:.*: its account 0x[0-9a-f]{40} is empty there$/,
      ),
    ]);
  });

  test('an endpoint that is not a chain, no endpoint, and missing contracts', async () => {
    const [first] = endpointsOf(theirs);
    const nodes = first === undefined ? [] : [first];
    expect(await mistakesOf({ chain: { rpc: theirs.node(0).api }, nodes })).toEqual([
      expect.stringMatching(/^network: chain\.rpc: http:.* is not a JSON-RPC endpoint of a chain: eth_/),
    ]);
    expect(await mistakesOf({ nodes })).toEqual([
      'network: chain.rpc: got nothing, expected the JSON-RPC endpoint of chain 31337, which node-0 uses',
    ]);
    const token = `0x${'99'.repeat(20)}`;
    const id = '77'.repeat(32);
    const batches = [{ id, node: 'node-0' }];
    const chain = { rpc: theirs.chain.rpc, control: theirs.node(0).api, contracts: { token } };
    expect(await mistakesOf({ chain, nodes, batches })).toEqual([
      expect.stringMatching(/^network: chain\.control: http:/),
      `network: chain.contracts.token: no contract at ${token}`,
      expect.stringMatching(
        /^network: batches\[0\]\.id: node-0 has no usable batch (77){32} \(it has [0-9a-f, ]+\)$/,
      ),
    ]);
  });
});

test('a node that stops answering ends a run and is named', async () => {
  const nodes = endpointsOf(theirs);
  const chain = { rpc: theirs.chain.rpc };
  await using net = await Cluster.attachNetwork({ name: 'lossy', chain, nodes }, { stateDir });
  const waiting = defineScenario({
    name: 'waiting',
    group: 'functional',
    about: 'Pauses a node behind the back of its cluster, and waits for the end.',
    parameters: {},
    needs: { nodes: 4 },
    cluster: { nodes: 4 },
    timeoutMs: 60_000,
    async run({ signal }) {
      await theirs.node(3).pause();
      await once(signal, 'abort');
    },
  });
  try {
    const { result, error, incidents } = await run(net.name, waiting);
    expect(result).toBe('error');
    expect(error).toMatch(/^node-3 stopped answering \(no answer within 4 s\)/);
    expect(incidents).toMatchObject([{ part: 'node-3', what: 'stopped answering' }]);
    const { stdout } = await svcnet('status', '--name', 'lossy', '--json');
    const { problems } = JSON.parse(stdout) as { problems: string[] };
    expect(problems).toContain('node-3 does not answer');
  } finally {
    await theirs.node(3).resume();
  }
});
