import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WRONG_ANSWERS } from '../../../chain/gate/wrong-answers.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { Fault, FaultRequest } from '../../../harness/cluster/faults/fault.ts';
import { hadEffect } from '../../../harness/cluster/faults/fault.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startSvcnet } from '../svcnet.ts';
import { everyKindMeasured } from './measured.ts';

const soon = { timeout: 120_000, interval: 50 };
const folder = temporaryFolder('svcnet-machine-faults');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    driver: 'embedded',
    nodes: [{ count: 3, options: { 'cache-capacity': 0 } }],
    machineFaults: true,
    chain: { blockTime: '200ms' },
    seed: 51,
    // Its nodes can be started by the processes of these tests.
    detached: true,
    stateDir: join(folder, 'state'),
  });
});
afterEach(async () => {
  await net.faults.heal();
  for (const node of net.nodes) if (!node.running) await node.start();
});
afterAll(() => net.stop());

let uploads = 0;

async function upload(name = 'node-1'): Promise<string> {
  const data = new TextEncoder().encode(`upload ${uploads++} `.repeat(2_000));
  const node = net.node(name);
  return (await node.bytes.upload(data, { batch: node.batch as string })).reference;
}

async function begun(request: FaultRequest): Promise<{ effect: () => Promise<Fault['effect']> }> {
  const fault = await net.faults.begin(request);
  return {
    effect: async () => {
      const active = (await net.faults.list()).find(({ id, at }) => id === fault.id && at === fault.at);
      return (active ?? net.faults.history.find(({ at }) => at === fault.at) ?? fault).effect;
    },
  };
}

describe('a node', () => {
  test.each([
    ['kill', { 'nodes killed': 1 }],
    ['pause', { 'nodes paused': 1 }],
    ['stop', { 'nodes stopped': 1 }],
  ])('is affected by %s, and runs again when it is healed', async (kind, effect) => {
    expect((await net.faults.begin({ kind, node: 'node-2' })).effect).toEqual(effect);
    expect(net.node(2).running).toBe(false);
    await net.faults.heal();
    expect(net.node(2).running).toBe(true);
  });

  test('restarts without its data, and gets it back from its neighbours', async () => {
    const reference = await upload();
    const { effect } = await net.faults.begin({ kind: 'restart', node: 'node-2', wipe: true });
    expect(effect).toMatchObject({ 'nodes that came back': 1, 'nodes that lost all data': 1 });
    await expect.poll(() => net.node(2).chunks.has(reference), soon).toBe(true);
  });

  test('and all others restart one after another, and leave and come back', async () => {
    const rolled = await net.faults.begin({ kind: 'rolling-restart' });
    expect(rolled.effect).toMatchObject({ 'nodes that left': 3, 'nodes that came back': 3 });
    const request = { kind: 'churn', nodes: ['node-1', 'node-2'], rounds: 2, down: 10 };
    expect((await net.faults.begin(request)).effect).toMatchObject({ 'nodes that came back': 4 });
  });

  test('whose chunks have changed on disk notices it, and serves the correct data', async () => {
    const reference = await upload();
    await net.synced(reference);
    const before = await net.node(0).bytes.download(reference);
    const fault = await begun({ kind: 'flip-bits', node: 'node-1', chunks: 100_000 });
    await net.meshed();
    expect(await net.node(1).bytes.download(reference)).toEqual(before);
    expect((await fault.effect())['bits flipped']).toBeGreaterThan(10);
    expect((await fault.effect())['damaged chunks noticed']).toBeGreaterThan(1);
  });
});

test.each([
  ['SIGINT', ['restart', 'node-2', '--down', '1m', '--wipe'], 'is undone, but the data of node-2 is gone'],
  ['SIGTERM', ['rolling-restart', 'node-2,node-1', '--down', '1m'], 'is undone'],
  ['SIGINT', ['churn', 'node-2', '--down', '1m'], 'is undone'],
] as const)('%s brings back the node taken away by %j', async (signal, words, left) => {
  const run = svcnet('fault', ...words, '--name', net.name);
  await expect
    .poll(
      () =>
        net
          .node(2)
          .observe()
          .then(({ state }) => state),
      soon,
    )
    .not.toBe('running');
  // Before it waits, it might still be asked to stop.
  await expect.poll(() => effectNow().then((effect) => effect['nodes that left']), soon).toBe(1);
  run.child.kill(signal);
  const { code, stderr } = await run.finished;
  expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining(left) as string });
  expect((await net.node(2).observe()).state).toBe('running');
  expect(await net.faults.list()).toEqual([]);
});

test('heal brings back a node taken away by a killed process', async () => {
  const run = svcnet('fault', 'restart', 'node-2', '--down', '1m', '--name', net.name);
  await expect.poll(() => effectNow().then((effect) => effect['nodes that left']), soon).toBe(1);
  run.child.kill('SIGKILL');
  await run.finished;
  expect((await net.node(2).observe()).state).toBe('stopped');
  await net.faults.heal();
  expect((await net.node(2).observe()).state).toBe('running');
});

test('a refused fault does not bring back a node taken away by someone else', async () => {
  await net.node(2).kill();
  await expect(net.faults.begin({ kind: 'kill', node: 'node-2' })).rejects.toThrow('it is killed');
  await expect(net.faults.begin({ kind: 'restart', node: 'node-2' })).rejects.toThrow('it is killed');
  expect((await net.node(2).observe()).state).toBe('killed');
});

test('a cluster that ends with its process refuses a restart of a node from outside', async () => {
  const stateDir = join(folder, 'state');
  await using own = await Cluster.start({ driver: 'embedded', nodes: 1, batches: false, stateDir });
  const { code, stderr } = await svcnet('fault', 'restart', 'node-0', '--name', own.name).finished;
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('lives and dies with process') as string,
  });
  expect((await own.node(0).observe()).state).toBe('running');
});

async function effectNow(): Promise<Fault['effect']> {
  return (await net.faults.list())[0]?.effect ?? {};
}

const svcnet = (...args: string[]) => startSvcnet(args, { stateDir: join(folder, 'state') });

async function storesAgain(): Promise<void> {
  const tried = () =>
    upload().then(
      () => 'stored',
      () => 'refused',
    );
  await expect.poll(tried, soon).toBe('stored');
}

describe('the disk of a node', () => {
  test('that is full allows reads but no writes, until there is space again', async () => {
    const reference = await upload();
    const fault = await begun({ kind: 'disk-full', node: 'node-1' });
    await expect(upload()).rejects.toThrow(/507|disk is full/);
    expect((await net.node(1).bytes.download(reference)).length).toBeGreaterThan(0);
    expect(hadEffect({ effect: await fault.effect() })).toBe(true);
    await net.faults.heal();
    await storesAgain();
  });

  test.each([
    ['disk-read-only', {}],
    ['disk-failing', { percent: 100 }],
  ])('with %s refuses writes', async (kind, more) => {
    const fault = await begun({ kind, node: 'node-1', ...more });
    await expect(upload()).rejects.toThrow();
    expect((await fault.effect())['writes refused']).toBeGreaterThan(0);
    await net.faults.heal();
    await storesAgain();
  });

  test('that is slow delays writes, and loses none', async () => {
    const fault = await begun({ kind: 'disk-slow', node: 'node-1', by: '20ms' });
    const reference = await upload();
    expect((await fault.effect())['writes delayed']).toBeGreaterThan(0);
    expect((await net.node(1).bytes.download(reference)).length).toBeGreaterThan(0);
  });

  test('stays broken over a restart of the node', async () => {
    const fault = await begun({ kind: 'disk-slow', node: 'node-1', by: 5 });
    await net.node(1).kill();
    const before = (await fault.effect())['writes delayed'] ?? 0;
    await net.node(1).start();
    await upload();
    expect((await fault.effect())['writes delayed']).toBeGreaterThan(before);
  });
});

test('a clock is wrong until it is healed', async () => {
  const fault = await begun({ kind: 'clock', node: 'node-1', offset: '1h', drift: 500 });
  await upload();
  expect((await fault.effect())['clock reads shifted']).toBeGreaterThan(0);
});

describe('the chain', () => {
  test('stands still, and the withheld blocks are counted', async () => {
    const fault = await begun({ kind: 'chain-stall' });
    await expect.poll(async () => (await fault.effect())['blocks withheld'], soon).toBeGreaterThan(1);
    expect(await net.chain.pace()).toMatchObject({ paused: true });
    await net.faults.heal();
    const height = await net.chain.height();
    await expect.poll(() => net.chain.height(), soon).toBeGreaterThan(height);
  });

  test('can be slow', async () => {
    const fault = await begun({ kind: 'chain-slow', blockTime: '5s' });
    expect(await net.chain.pace()).toMatchObject({ blockTimeMs: 5000, paused: false });
    await expect.poll(async () => (await fault.effect())['blocks late'], soon).toBeGreaterThan(1);
  });

  test('is reorganised, including transactions in the replaced blocks', async () => {
    const bought = net.node(1).stamps.buy({ amount: 1_000_000_000n, depth: 18 });
    const { effect } = await net.faults.begin({ kind: 'chain-reorg', blocks: 2, loaded: true });
    // A block that arrives in the meantime is replaced too, and was not seen before.
    expect(effect['blocks replaced']).toBeGreaterThan(0);
    expect(effect['transactions undone']).toBeGreaterThan(0);
    // Undone transactions are sent again.
    await bought;
  });

  test.each([
    ['rpc-down', {}, 'requests cut off'],
    ['rpc-errors', { percent: 100 }, 'requests refused'],
    ['rpc-slow', { by: '50ms' }, 'answers delayed'],
    ['rpc-lag', { blocks: 5 }, 'answers of the past'],
    ['rpc-frozen', {}, 'answers of the past'],
    ['rpc-wrong', { what: 'number' }, 'wrong answers'],
    ['rpc-wrong', { what: 'other' }, 'wrong answers'],
  ])('looks different through %s %j', async (kind, more, counter) => {
    const fault = await begun({ kind, node: 'node-1', ...more });
    await expect.poll(async () => (await fault.effect())[counter], soon).toBeGreaterThan(1);
    await net.faults.heal();
    await upload();
  });

  test('shows no money to a node that gets wrong balances', async () => {
    const balance = async () => (await net.node(1).wallet.balances()).nativeBalance;
    const before = await balance();
    const fault = await begun({ kind: 'rpc-wrong', node: 'node-1', what: 'balance' });
    await expect.poll(balance, soon).toBe(0n);
    expect((await fault.effect())['wrong answers']).toBeGreaterThan(0);
    await net.faults.heal();
    await expect.poll(balance, soon).toBe(before);
  });

  test('shows no events to a node that gets wrong logs: it does not learn of a batch, and the others do', async () => {
    const knows = async (node: number, id: string) =>
      (await net.node(node).stamps.network()).some(({ batchID }) => batchID === id);
    const fault = await begun({ kind: 'rpc-wrong', node: 'node-1', what: 'logs' });
    const { batchID: id } = await net.node(0).stamps.buy({ amount: 1_000_000_000n, depth: 18 });
    await expect.poll(() => knows(2, id), soon).toBe(true);
    await expect.poll(async () => (await fault.effect())['wrong answers'], soon).toBeGreaterThan(0);
    expect(await knows(1, id)).toBe(false);
  });

  test('is slow and refuses calls at the same time: two faults of one node both take effect', async () => {
    const slow = await begun({ kind: 'rpc-slow', node: 'node-2', by: 10 });
    const refusing = await begun({ kind: 'rpc-errors', percent: 50 });
    await expect.poll(async () => (await slow.effect())['answers delayed'], soon).toBeGreaterThan(1);
    await expect.poll(async () => (await refusing.effect())['requests refused'], soon).toBeGreaterThan(1);
    const [first] = await net.faults.list();
    await net.faults.heal(first?.id);
    const before = (await refusing.effect())['requests refused'] ?? 0;
    await expect
      .poll(async () => (await refusing.effect())['requests refused'], soon)
      .toBeGreaterThan(before);
  });
});

test('every kind of fault of these layers has had an effect, and so has every wrong answer', () => {
  everyKindMeasured(net.faults.history, 'machine', 'disk', 'clock', 'chain');
  const told = net.faults.history
    .filter(({ kind }) => kind === 'rpc-wrong')
    .map(({ request }) => request['what']);
  expect(new Set(told)).toEqual(new Set(WRONG_ANSWERS));
});
