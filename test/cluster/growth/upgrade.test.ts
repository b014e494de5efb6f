import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { pickFreePorts } from '../../../harness/base/machine/ports.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { FlavourInput } from '../../../harness/flavours/declared/input.ts';
import { EmbeddedDriver } from '../../../harness/places/embedded/driver.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { writeProgram } from '../program.ts';
import { svcnetHere } from '../svcnet.ts';
import { haltAll } from './halt.ts';

const MAIN = fileURLToPath(new URL('../../../node/main.ts', import.meta.url));

/** It reads and writes the very same data directory. */
function ownProgram(folder: string, name: string): FlavourInput {
  const program = join(folder, name);
  writeProgram(program, MAIN);
  return {
    name,
    program,
    dialect: 'svc',
    args: ['start', '--config', '{data-dir}/config.yaml'],
    keys: {
      swarm: { path: 'keys/swarm.key' },
      pss: { path: 'keys/pss.key' },
      libp2p: { path: 'keys/libp2p.key', type: 'ed25519' },
    },
    config: {
      path: 'config.yaml',
      format: 'json',
      values: {
        'data-dir': '{data-dir}',
        password: '{password}',
        'api-addr': '{listen}:{api-port}',
        'p2p-addr': '{listen}:{p2p-port}',
        'swap-endpoint': '{rpc}',
        'swap-enable': '{swap-enable}',
        'full-node': '{full-node}',
        'network-id': '{network-id}',
        bootnode: '{bootnodes}',
        'allow-private-cidrs': true,
        'block-time': 1,
        'warmup-time': '200ms',
        'usable-blocks': 1,
        'chain-tail-blocks': 0,
        'chain-batch-factor': 1,
        'chain-poll-interval': '100ms',
        'payment-threshold': 13_500_000_000,
        'refresh-rate': 4_500_000_000,
        'token-address': '{token-address}',
        'postage-stamp-address': '{postage-stamp-address}',
        'postage-stamp-start-block': '{start-block}',
        'staking-address': '{staking-address}',
        'redistribution-address': '{redistribution-address}',
        'swap-factory-address': '{chequebook-factory-address}',
        'price-oracle-address': '{price-oracle-address}',
      },
    },
    modes: ['full', 'light'],
    stored: ['store'],
    publicConstants: false,
  };
}

test('a node goes on under another program and back again, with all that it had', async () => {
  const folder = temporaryFolder('svcnet-upgrade');
  const nodes = [{ count: 3, options: { 'cache-capacity': 77 } }];
  await using net = await Cluster.start({ nodes, seed: 5, stateDir: join(folder, 'state') });
  const node = net.node(1);
  const { overlay, api, p2p } = node;
  const data = new Uint8Array(randomBytes(40_000));
  const { reference } = await node.bytes.upload(data, { deferred: false });

  await net.upgrade('node-1', { flavour: ownProgram(folder, 'later') });
  expect(node).toMatchObject({ flavour: 'later', running: true, api, p2p });
  expect(await node.client.addresses()).toMatchObject({ overlay });
  await net.meshed();
  expect(await node.bytes.download(reference)).toEqual(data);
  const more = await net.node(0).bytes.upload(data.subarray(1), { deferred: false });
  expect(await node.bytes.download(more.reference)).toEqual(data.subarray(1));

  await net.upgrade(1, { flavour: 'svc' });
  expect(node).toMatchObject({ flavour: 'svc', running: true, declared: undefined });
  expect(readFileSync(join(node.dataDir, 'config.yaml'), 'utf8')).toContain('"cache-capacity": 77');
  await net.meshed();
  expect(await node.bytes.download(more.reference)).toEqual(data.subarray(1));
  await net.settled();

  await net.upgrade(1, { options: { 'cache-capacity': 78 } });
  await net.upgrade(1, { flavour: 'later' });
  await net.upgrade(1, { flavour: 'svc' });
  expect(readFileSync(join(node.dataDir, 'config.yaml'), 'utf8')).toContain('"cache-capacity": 78');
});

test('a node of ours goes on under a changed program of ours with its options, and back under the own one', async () => {
  const folder = temporaryFolder('svcnet-upgrade');
  const changed = join(folder, 'changed');
  writeProgram(changed, MAIN);
  const nodes = [{ count: 2, options: { 'cache-capacity': 77 } }];
  await using net = await Cluster.start({ nodes, seed: 5, stateDir: join(folder, 'state') });
  const node = net.node(1);
  const { reference } = await node.bytes.upload(new Uint8Array(5000), { deferred: false });
  const configured = () => readFileSync(join(node.dataDir, 'config.yaml'), 'utf8');
  const before = configured();

  await net.upgrade('node-1', { binary: changed });
  expect([node.flavour, node.binary]).toEqual(['svc', changed]);
  expect(configured()).toBe(before);
  await net.meshed();
  expect(await node.bytes.download(reference)).toHaveLength(5000);

  await net.upgrade('node-1', { flavour: 'svc' });
  expect([node.flavour, node.binary]).toEqual(['svc', undefined]);
  expect(configured()).toBe(before);
});

test('all of them, one after the other, while uploads go on; a later node knows the new ones', async () => {
  const stateDir = temporaryFolder('svcnet-rolling');
  await using net = await Cluster.start({ nodes: 4, seed: 6, stateDir });
  const other = await Cluster.attach(net.name, { stateDir });
  const later = ownProgram(stateDir, 'later');
  const stored: { readonly reference: string; readonly data: Uint8Array }[] = [];
  const over = new AbortController();
  const uploading = (async () => {
    while (!over.signal.aborted) {
      const data = new Uint8Array(randomBytes(9000));
      const { reference } = await net.node(0).bytes.upload(data, { deferred: false });
      stored.push({ reference, data });
    }
  })();
  for (const { name } of net.nodes.slice(1)) {
    await net.upgrade(name, { flavour: later });
    await net.meshed();
  }
  over.abort();
  await uploading;
  expect(stored.length).toBeGreaterThan(3);
  await other.membership.observe();
  expect(other.nodes.map(({ flavour }) => flavour)).toEqual(['svc', 'later', 'later', 'later']);
  const [added] = await net.add({ flavour: 'later' });
  expect(added).toMatchObject({ name: 'node-4', flavour: 'later' });
  await net.meshed();
  for (const { reference, data } of stored) {
    expect(await added?.bytes.download(reference)).toEqual(data);
  }
  await other.detach();
});

test('a mode is changed; what would leave the network without what it needs is refused', async () => {
  await using net = await Cluster.start({
    nodes: 2,
    seed: 7,
    driver: 'embedded',
    stateDir: temporaryFolder('svcnet-mode'),
  });
  const [first, second] = net.nodes;
  await net.upgrade('node-1', { mode: 'light' });
  expect(second).toMatchObject({ mode: 'light', running: true });
  expect(await second?.client.node()).toMatchObject({ mode: 'light' });
  await expect(net.upgrade('node-0', { mode: 'light' })).rejects.toThrow('node-0 is the last full node');
  await expect(net.upgrade('node-0', { flavour: 'dishonest' })).rejects.toThrow('is settled at its start');
  await expect(net.upgrade('node-0', { flavour: 'bea' })).rejects.toThrow("got 'bea', expected one of svc");
  await expect(net.add({ flavour: 'bea' })).rejects.toThrow("got 'bea', expected one of svc");
  await expect(net.upgrade('node-0', { options: { 'cache-capcity': 5 } })).rejects.toThrow(
    "did you mean 'cache-capacity'?",
  );
  expect(first).toMatchObject({ mode: 'full', running: true });
  await net.upgrade('node-1', { mode: 'full', options: { 'cache-capacity': 5 } });
  expect(await second?.client.node()).toMatchObject({ mode: 'full' });
});

/** While the node is stopped, before its files change. */
function whileUpgrading(work: () => Promise<void>): Disposable {
  const spy = vi.spyOn(EmbeddedDriver.prototype, 'create').mockImplementationOnce(async function (
    this: EmbeddedDriver,
    ...args
  ) {
    spy.mockRestore();
    await work();
    await this.create(...args);
  });
  return { [Symbol.dispose]: () => spy.mockRestore() };
}

test('while a node is upgraded, nobody else starts, upgrades, changes, removes or saves it', async () => {
  const stateDir = temporaryFolder('svcnet-turn');
  await using net = await Cluster.start({ nodes: 3, seed: 9, driver: 'embedded', stateDir });
  const other = await Cluster.attach(net.name, { stateDir });
  const refused: unknown[] = [];
  using _meanwhile = whileUpgrading(async () => {
    expect((await other.node(1).observe()).state).toBe('stopped');
    const asked = [
      other.node(1).start(),
      other.upgrade(1, { mode: 'full' }),
      other.node(1).wipe(),
      other.remove(1, { forGood: true }),
      other.saveSnapshot('meanwhile'),
    ];
    for (const outcome of await Promise.allSettled(asked)) {
      refused.push(outcome.status === 'rejected' ? String(outcome.reason) : outcome.status);
    }
    await other.node(2).stop();
    await other.node(2).start();
  });
  await net.upgrade(1, { mode: 'light' });
  expect(refused).toHaveLength(5);
  for (const reason of refused) expect(reason).toContain('node-1 is being upgraded by process');
  expect(net.nodes.map(({ mode, running }) => [mode, running])).toEqual([
    ['full', true],
    ['light', true],
    ['full', true],
  ]);
  await other.node(1).stop();
  await other.node(1).start();
  await other.detach();
});

test('of two upgrades at once that each leave one full node, one is undone', async () => {
  const stateDir = temporaryFolder('svcnet-both');
  await using net = await Cluster.start({ nodes: 2, seed: 10, driver: 'embedded', stateDir });
  const outcomes = await Promise.allSettled([
    net.upgrade(0, { mode: 'light' }),
    net.upgrade(1, { mode: 'light' }),
  ]);
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  expect(refused).toEqual([expect.stringContaining('is the last full node')]);
  expect(net.nodes.map(({ mode }) => mode).toSorted()).toEqual(['full', 'light']);
  for (const node of net.nodes) {
    expect(node.running).toBe(true);
    expect(await node.client.node()).toMatchObject({ mode: node.mode });
  }
});

test('an upgrade leaves nothing of a cluster that is removed meanwhile, or of a node', async () => {
  const stateDir = temporaryFolder('svcnet-removed');
  await using net = await Cluster.start({ nodes: 2, seed: 11, driver: 'embedded', stateDir });
  const other = await Cluster.attach(net.name, { stateDir });
  const [removed, upgraded] = await Promise.allSettled([
    other.remove(1, { forGood: true }),
    net.upgrade(1, { mode: 'light' }),
  ]);
  expect(removed.status).not.toBe(upgraded.status);
  expect(existsSync(join(net.folder, 'nodes', 'node-1'))).toBe(upgraded.status === 'fulfilled');
  using _meanwhile = whileUpgrading(() => net.stop());
  await expect(other.upgrade(0, { mode: 'full', options: { 'cache-capacity': 5 } })).rejects.toMatchObject({
    code: 'CLUSTER_GONE',
  });
  expect(existsSync(net.folder)).toBe(false);
  await other.detach();
});

test('a node whose files cannot be written goes on as it was', async () => {
  const stateDir = temporaryFolder('svcnet-unwritten');
  await using net = await Cluster.start({ nodes: 2, seed: 12, stateDir });
  const own = ownProgram(stateDir, 'other');
  const files = { ...own, stored: [], keys: { ...own.keys, pss: { path: 'store' } } };
  const { api, pid } = net.node(1);
  await expect(net.upgrade(1, { flavour: files })).rejects.toMatchObject({
    code: 'STATE_INVALID',
    message: expect.stringMatching(/node-1\/store is not a regular file.*node-1 is as it was/) as unknown,
  });
  expect(net.node(1)).toMatchObject({ flavour: 'svc', running: true, api });
  expect(net.node(1).pid).not.toBe(pid);
  await net.meshed();
});

test('a node keeps its ports of a fixed range, or the one that has them is named', async () => {
  const stateDir = temporaryFolder('svcnet-range');
  const [first = 0] = await pickFreePorts(1);
  await using net = await Cluster.start({
    nodes: 2,
    seed: 13,
    driver: 'embedded',
    ports: { first, stride: 3 },
    stateDir,
  });
  const node = net.node(1);
  const { api } = node;
  await node.stop();
  const other = createServer().listen(first + 3, '127.0.0.1');
  await once(other, 'listening');
  await expect(net.upgrade(1, { mode: 'light' })).rejects.toMatchObject({
    code: 'PORT_IN_USE',
    message: expect.stringMatching(/the API of node-1 wants it.*; node-1 is as it was$/) as unknown,
  });
  expect(node).toMatchObject({ mode: 'full', state: 'stopped' });
  other.close();
  await once(other, 'close');
  await net.upgrade(1, { mode: 'light' });
  expect(node).toMatchObject({ mode: 'light', running: true, api });
});

test('a program that does not start leaves the node stopped, and says how it ended', async () => {
  const stateDir = temporaryFolder('svcnet-broken');
  await using net = await Cluster.start({ nodes: 2, seed: 8, stateDir });
  const broken = ownProgram(stateDir, 'broken');
  writeFileSync(broken.program, '#!/bin/sh\necho "store: format 9 is not known" >&2\nexit 3\n');
  await expect(net.upgrade('node-1', { flavour: broken })).rejects.toMatchObject({
    code: 'PROCESS_FAILED',
    hint: expect.stringContaining('format 9 is not known') as unknown,
  });
  expect(net.node(1).running).toBe(false);
  const mute = ownProgram(stateDir, 'mute');
  writeFileSync(mute.program, '#!/bin/sh\necho "store: being converted"\nexec sleep 60\n');
  await expect(net.upgrade('node-1', { flavour: mute }, { timeoutMs: 1500 })).rejects.toMatchObject({
    code: 'WAIT_TIMEOUT',
    hint: expect.stringContaining('store: being converted') as unknown,
  });
  expect(net.node(1)).toMatchObject({ flavour: 'mute', state: 'stopped' });
  await net.upgrade('node-1', { flavour: 'svc' });
  await net.meshed();
});

interface UpgradedNode {
  readonly flavour: string;
  readonly mode: string;
  readonly api: string;
  readonly pid: number;
}

test('svcnet upgrade changes a cluster that stays, which then starts again as it is', async () => {
  const stateDir = temporaryFolder('svcnet-upgrade-cli');
  const svcnet = (...args: string[]) => svcnetHere([...args, '--name', 'up'], { stateDir });
  expect(await svcnet('up', '-n', '3')).toMatchObject({ code: 0 });
  try {
    expect(await svcnet('upgrade', 'node-2', '--mode', 'light')).toMatchObject({ code: 0 });
    const nodesNow = async () =>
      (JSON.parse((await svcnet('ps', '--json')).stdout) as { nodes: UpgradedNode[] }).nodes;
    expect(await svcnet('stop', 'node-1')).toMatchObject({ code: 0 });
    const before = await nodesNow();
    const file = join(stateDir, 'later.flavour.yaml');
    writeFileSync(file, JSON.stringify(ownProgram(stateDir, 'later')));
    const rolled = await svcnet('upgrade', '--rolling', '--flavour', file, '--json');
    expect(JSON.parse(rolled.stdout)).toMatchObject({ upgraded: ['node-0', 'node-2'], skipped: ['node-1'] });
    const after = await nodesNow();
    expect(after.map(({ flavour }) => flavour)).toEqual(['later', 'svc', 'later']);
    expect(after.map(({ api }) => api)).toEqual(before.map(({ api }) => api));
    expect(after[0]?.pid).not.toBe(before[0]?.pid);
    expect(after[2]?.pid).not.toBe(before[2]?.pid);
    expect(await svcnet('start', 'node-1')).toMatchObject({ code: 0 });
    for (const [args, message] of [
      [['upgrade', 'node-2'], 'expected what to change'],
      [['upgrade', '--mode', 'light'], 'expected either the name of a node or --rolling'],
      [['upgrade', 'node-1', '--mode', 'lite'], "got 'lite'"],
      [['upgrade', 'node-1', '--binary', './bee'], 'binary: there is no file '],
      [['upgrade', 'node-1', '--flavour', './none.yaml'], "no file './none.yaml'"],
    ] as const) {
      const { code, stderr } = await svcnet(...args);
      expect(code, args.join(' ')).toBe(2);
      expect(stderr).toContain(message);
    }
    const cluster = await Cluster.attach('up', { stateDir });
    await haltAll(cluster);
    await cluster.detach();
    expect(await svcnet('start')).toMatchObject({ code: 0 });
    expect((await nodesNow()).map(({ flavour, mode }) => [flavour, mode])).toEqual([
      ['later', 'full'],
      ['svc', 'full'],
      ['later', 'light'],
    ]);
  } finally {
    await svcnet('down');
  }
});

test('rolling-upgrade takes processes to another program under load, and back', async () => {
  const folder = temporaryFolder('svcnet-rolling-upgrade');
  const stateDir = join(folder, 'state');
  const file = join(folder, 'later.flavour.yaml');
  writeFileSync(file, JSON.stringify(ownProgram(folder, 'later')));
  const line = `run rolling-upgrade -n 3 --seed 4 --json --set sample=20 --set load=5 --set min-available=0.5 --set flavour=${file}`;
  const { code, stdout, stderr } = await svcnetHere(line.split(' '), { stateDir });
  const { scenarios } = JSON.parse(stdout) as {
    scenarios: readonly { readonly figures: readonly { readonly of?: string }[] }[];
  };
  expect(scenarios[0]).toMatchObject({ result: 'passed', ledger: { missing: 0 } });
  const programs = scenarios[0]?.figures.map(({ of }) => of);
  expect(programs).toEqual([expect.stringMatching('^later '), expect.stringMatching('^svc ')]);
  expect(code, stderr).toBe(0);
});

test('rolling-upgrade to another program of ours is refused where nodes share a process', async () => {
  const stateDir = temporaryFolder('svcnet-rolling-upgrade');
  const line = 'run rolling-upgrade -n 3 --driver embedded --set binary=./other';
  const { code, stdout } = await svcnetHere(line.split(' '), { stateDir });
  expect(stdout).toContain('the nodes of this cluster reach each other in the memory of one process');
  expect(code).toBe(2);
});
