import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ENGINE_NAMES } from '../../../chain/engine/engine.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import type { ClusterOptions } from '../../../harness/cluster/opening.ts';
import { buyBatch } from '../../../harness/cluster/purchase.ts';
import { listSnapshots } from '../../../harness/cluster/snapshots/snapshot.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startSvcnet, svcnetHere } from '../svcnet.ts';

const data = (size: number, fill: number) => new Uint8Array(size).fill(fill);

const stateDir = temporaryFolder('svcnet-snapshots');
const started: Cluster[] = [];
afterEach(async () => {
  for (const cluster of started.splice(0)) await cluster.stop();
});

async function start(options: ClusterOptions): Promise<Cluster> {
  const cluster = await Cluster.start({ stateDir, ...options });
  started.push(cluster);
  return cluster;
}

async function has(cluster: Cluster, node: number, reference: string): Promise<boolean> {
  const [outcome] = await Promise.allSettled([cluster.node(node).bytes.download(reference)]);
  return outcome.status === 'fulfilled';
}

const recordFile = (name: string) => join(stateDir, 'snapshots', name, 'snapshot.json');

describe.each([
  ['process', 'disk'],
  ['embedded', 'disk'],
  ['embedded', 'memory'],
] as const)('of the %s driver with its stores on %s', (driver, store) => {
  const name = `${driver}-${store}`;

  test('a saved network continues with its data, batches, identities and height, twice side by side', async () => {
    const original = await start({ driver, store, nodes: 3, seed: 11, batches: { depth: 18 } });
    const before = data(40_000, 1);
    const { reference, tag } = await original.node(0).bytes.upload(before);
    await original.synced({ node: 0, tag: tag as number });
    const bought = original.batches.map(({ id }) => id);
    await original.chain.mine(30);
    const record = await original.saveSnapshot(name);
    expect(record.height).toBeGreaterThanOrEqual(30);
    // The saved cluster is unchanged.
    expect(original.nodes.every((node) => node.running)).toBe(true);
    expect(await original.node(2).bytes.download(reference)).toEqual(before);

    const [one, two] = await Promise.all([start({ snapshot: name }), start({ snapshot: name })]);
    for (const copy of [one, two]) {
      expect(copy.nodes.map(({ overlay }) => overlay)).toEqual(original.nodes.map(({ overlay }) => overlay));
      expect(copy.batches.map(({ id }) => id)).toEqual(bought);
      expect(copy.seed).toBe(11n);
      expect(await copy.chain.height()).toBeGreaterThanOrEqual(record.height);
      for (const node of copy.nodes) expect(await node.bytes.download(reference)).toEqual(before);
      expect(await copy.meshed()).toMatchObject({ links: 6 });
    }
    const endpoints = [original, one, two].flatMap(({ nodes, chain }) => [
      chain.rpc,
      ...nodes.flatMap(({ api, p2p }) => [api, p2p]),
    ]);
    expect(new Set(endpoints).size).toBe(endpoints.length);

    // The overlays are the same, but there is no connection: the others never see what one stores.
    const after = data(9000, 2);
    const upload = await one.node(1).bytes.upload(after, { deferred: false });
    for (const node of one.nodes) expect(await node.bytes.download(upload.reference)).toEqual(after);
    expect(await has(two, 0, upload.reference)).toBe(false);
    expect(await has(original, 2, upload.reference)).toBe(false);
  });
});

test('a prepared network keeps uploads, keys and dialect, and is not prepared again', async () => {
  const key = '8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba';
  const original = await start({
    driver: 'embedded',
    dialect: 'swarm',
    nodes: [{ count: 1, keys: [key] }, { count: 2 }],
    chain: { blockTime: '5s' },
    prepare: { uploads: [{ node: 'node-0', size: '20000' }], cheques: [{ from: 'node-1', to: 'node-2' }] },
  });
  const [from, to] = [original.node(1), original.node(2)];
  const { sent } = await from.chequebook.cheque(to.overlay);
  await original.saveSnapshot('prepared');

  const steps: string[] = [];
  const copy = await start({ snapshot: 'prepared', onProgress: ({ step }) => void steps.push(step) });
  expect(steps).not.toContain('state');
  expect(copy.prepared).toEqual(original.prepared);
  expect(copy.node(2).dialect).toBe('swarm');
  expect(copy.node(0).privateKey).toBe(key);
  expect(copy.chain.blockTimeMs).toBe(5000);
  const [upload] = copy.prepared.uploads;
  expect(await copy.node(2).bytes.download(upload?.reference ?? '')).toHaveLength(20_000);
  const cheque = await copy.node(1).chequebook.cheque(copy.node(2).overlay);
  expect(cheque.sent).toEqual(sent);
});

test.each(ENGINE_NAMES)(
  'a batch that a node got later is also its default in the copy, whose chain is computed by %s as well',
  async (engine) => {
    const original = await start({ driver: 'embedded', nodes: 1, batches: false, chain: { engine } });
    const [node] = original.nodes as [ClusterNode];
    const request = { amount: 100_000_000n, depth: 17 };
    const id = await buyBatch(original, node, request, AbortSignal.timeout(60_000));
    await original.adopt({ id, node: node.name, depth: request.depth });
    const { hash } = await original.chain.call<{ hash: string }>('eth_getBlockByNumber', ['0x5', false]);
    await original.saveSnapshot(`bought-${engine}`);
    const copy = await start({ snapshot: `bought-${engine}` });
    expect(await copy.chain.call('eth_getBlockByNumber', ['0x5', false])).toMatchObject({ hash });
    const client = await copy.chain.call<string>('web3_clientVersion');
    expect(client).toMatch(engine === 'anvil' ? /^anvil/ : /^edr/);
    expect(copy.node(0).batch).toBe(id);
    await copy.node(0).bytes.upload(data(5000, 3));
  },
);

describe('a snapshot', () => {
  let net: Cluster;
  beforeAll(async () => {
    net = await Cluster.start({ stateDir, driver: 'embedded', nodes: 2, seed: 12, name: 'saved' });
    await net.saveSnapshot('base');
  });
  afterAll(() => net.stop());

  test('is replaced only on request', async () => {
    await expect(net.saveSnapshot('base')).rejects.toMatchObject({
      code: 'SNAPSHOT_EXISTS',
      hint: expect.stringContaining('--force') as string,
    });
    const before = readFileSync(recordFile('base'), 'utf8');
    await net.saveSnapshot('base', { force: true });
    expect(readFileSync(recordFile('base'), 'utf8')).not.toBe(before);
    expect(listSnapshots(stateDir).filter(({ record }) => record.name === 'base')).toHaveLength(1);
  });

  test('keeps stopped and paused nodes in their state', async () => {
    await net.node(1).pause();
    await net.saveSnapshot('quiet');
    expect(net.nodes.map(({ state }) => state)).toEqual(['running', 'paused']);
    await net.node(1).resume();
    await net.node(1).stop();
    await net.saveSnapshot('quiet', { force: true });
    expect(net.nodes.map(({ state }) => state)).toEqual(['running', 'stopped']);
    await net.node(1).start();
  });

  test('leaves nothing when interrupted, and the nodes run again', async () => {
    const interruption = new AbortController();
    const saving = net.saveSnapshot('half', {
      signal: interruption.signal,
      onProgress: (text) => {
        if (text.startsWith('copying')) interruption.abort(new Error('enough'));
      },
    });
    await expect(saving).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(existsSync(join(stateDir, 'snapshots', 'half'))).toBe(false);
    expect(readdirSync(join(stateDir, 'snapshots')).filter((name) => name.startsWith('.'))).toEqual([]);
    await net.ready();
    await net.meshed();
  });

  test('leaves nothing when it fails while the nodes are stopped, and the nodes run again', async () => {
    const other = await start({ driver: 'embedded', nodes: 2, seed: 13, name: 'failing' });
    const saving = other.saveSnapshot('failing', {
      onProgress: (text) => {
        if (text.startsWith('copying')) throw new Error('no more progress');
      },
    });
    await expect(saving).rejects.toThrow('no more progress');
    expect(listSnapshots(stateDir).map(({ record }) => record.name)).not.toContain('failing');
    await other.ready();
    await other.meshed();
  });

  test('needs a name that is valid for a folder', async () => {
    await expect(net.saveSnapshot('Not A Name')).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining("got 'Not A Name', expected at most 40 lower-case letters") as string,
    });
  });

  test.each([
    ['format', 99, 'its format is 99'],
    ['version', '0.0.1', 'it was saved by svcnet 0.0.1'],
    ['anvil', '9.9.9', 'its chain is that of Anvil 9.9.9'],
  ])('of another %s is refused with the reason', async (key, value, reason) => {
    const file = recordFile('base');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(text) as object), [key]: value }));
    try {
      await expect(start({ snapshot: 'base' })).rejects.toMatchObject({
        code: 'SNAPSHOT_REFUSED',
        message: expect.stringContaining(reason) as string,
      });
    } finally {
      writeFileSync(file, text);
    }
  });

  test('that does not exist is refused with the nearest name', async () => {
    await expect(start({ snapshot: 'bas' })).rejects.toMatchObject({
      code: 'SNAPSHOT_NOT_FOUND',
      message: expect.stringContaining("no snapshot 'bas', did you mean 'base'?") as string,
    });
  });

  test('has its own definition, and refuses other settings', async () => {
    await expect(start({ snapshot: 'base', nodes: 3 })).rejects.toMatchObject({
      code: 'USAGE',
      message: 'nodes: a snapshot has its own; only name and ports can be given beside it',
    });
  });
});

const svcnet = (...args: string[]) => svcnetHere(args, { stateDir });

describe('on the command line', () => {
  test('is saved, listed, started on other ports, and removed', async () => {
    expect((await svcnet('up', '-n', '2', '--driver', 'embedded', '--name', 'one')).code).toBe(0);
    try {
      const saved = await svcnet('snapshot', 'save', 'two-nodes', '--name', 'one', '--json');
      expect(saved).toMatchObject({ code: 0 });
      expect(JSON.parse(saved.stdout)).toMatchObject({
        name: 'two-nodes',
        cluster: 'one',
        nodes: 2,
        unusable: null,
      });
      const listed = JSON.parse((await svcnet('snapshot', 'ls', '--json')).stdout) as {
        snapshots: { name: string }[];
      };
      expect(listed.snapshots.map(({ name }) => name)).toContain('two-nodes');

      const up = await svcnet('up', '--snapshot', 'two-nodes', '--name', 'two', '--json');
      expect(up.code).toBe(0);
      expect((JSON.parse(up.stdout) as { nodes: unknown[] }).nodes).toHaveLength(2);

      const wrong = await svcnet('up', '--snapshot', 'two-nodes', '--seed', '5');
      expect(wrong).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--seed: cannot be combined with --snapshot') as string,
      });
      const unknown = await svcnet('up', '--snapshot', 'two-node');
      expect(unknown.stderr).toContain("no snapshot 'two-node', did you mean 'two-nodes'?");
    } finally {
      await svcnet('down', '--name', 'one');
      await svcnet('down', '--name', 'two');
    }
    expect(await svcnet('snapshot', 'rm', 'two-nodes')).toMatchObject({ code: 0 });
    expect((await svcnet('snapshot', 'rm', 'two-nodes')).code).toBe(2);
  });

  test('a killed save leaves nothing that is listed, and the next one tidies up', async () => {
    expect((await svcnet('up', '-n', '2', '--name', 'cut')).code).toBe(0);
    try {
      const { child, output, finished } = startSvcnet(['snapshot', 'save', 'cut', '--name', 'cut'], {
        stateDir,
      });
      await until(
        'the save has not begun',
        () =>
          Promise.resolve(output.stderr.includes('copying') ? { done: true } : { missing: output.stderr }),
        { timeoutMs: 60_000 },
      );
      child.kill('SIGKILL');
      await finished;
      expect(listSnapshots(stateDir).map(({ record }) => record.name)).not.toContain('cut');
      for (const node of ['node-0', 'node-1']) await svcnet('start', node, '--name', 'cut');
      expect((await svcnet('snapshot', 'save', 'cut', '--name', 'cut')).code).toBe(0);
      expect(readdirSync(join(stateDir, 'snapshots')).filter((name) => name.startsWith('.'))).toEqual([]);
    } finally {
      await svcnet('down', '--name', 'cut');
    }
  });
});
