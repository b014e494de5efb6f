/** Needs Docker; packages come from `node_modules`. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../harness/base/machine/clock.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { type Incident, incidentText } from '../../harness/cluster/nodes/membership.ts';
import type { StartProgress } from '../../harness/cluster/start/start-context.ts';
import { DockerDriver } from '../../harness/places/docker/driver.ts';
import { everyKindMeasured } from '../cluster/faults/measured.ts';
import { type OtlpReceiver, otlpReceiver } from '../cluster/node/otlp-receiver.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { breakOut, CONFINED, docker, eventually, leftOf } from './kit.ts';

const MEMORY = 96 * 2 ** 20;
/** Less than uploads need beyond what a node uses at rest. */
const SPARE_BYTES = 8 * 2 ** 20;
const name = `docker-test-${process.pid}`;
const stateDir = temporaryFolder('svcnet-docker');
const progress: StartProgress[] = [];
let net: Cluster;
let receiver: OtlpReceiver;

beforeAll(async () => {
  receiver = await otlpReceiver(await hostAddress());
  net = await Cluster.start({
    name,
    stateDir,
    driver: 'docker',
    otlp: receiver.url,
    seed: 7,
    chain: { gate: true },
    nodes: [{ count: 2 }, { resources: { cpus: 0.75, memory: '96MiB' } }],
    onProgress: (news) => progress.push(news),
  });
});

afterAll(async () => {
  await net?.stop();
  await receiver?.[Symbol.asyncDispose]();
  expect(await leftOf(name)).toEqual([]);
});

/**
 * As containers reach it. An engine that has just been set up does not name it; then it is the first address of the subnet.
 */
async function hostAddress(): Promise<string> {
  const { IPAM } = (await docker.getNetwork('bridge').inspect()) as {
    IPAM: { Config: { Gateway?: string; Subnet: string }[] };
  };
  const [config] = IPAM.Config;
  if (config === undefined) throw new Error('the bridge of containers has no subnet');
  return config.Gateway ?? config.Subnet.replace(/\.0\/\d+$/, '.1');
}

const inspect = (container = '') => docker.getContainer(container).inspect();

test('building the image is a step of the start, before all others', () => {
  expect([...new Set(progress.map(({ step }) => step))]).toEqual([
    'image',
    'chain',
    'nodes',
    'mesh',
    'postage',
  ]);
  expect(progress.findLast(({ step }) => step === 'image')).toMatchObject({
    done: true,
    detail: expect.stringMatching(/^svcnet (built|is up to date)$/) as string,
  });
});

test('nodes in containers send their traces', async () => {
  const { reference } = await net.node(0).bytes.upload(randomBytes(50_000));
  await net.synced(reference);
  await eventually('no trace of two nodes has come', async () => {
    const traces = Map.groupBy(receiver.spans, ({ traceId }) => traceId);
    const shared = [...traces.values()].find(
      (spans) => new Set(spans.map(({ service }) => service)).size > 1,
    );
    return shared === undefined ? `${receiver.spans.length} spans` : undefined;
  });
});

test('JSON documents name the container and no process', () => {
  for (const node of net.toJSON().nodes) {
    expect(node).toMatchObject({
      container: expect.stringMatching(new RegExp(`^svcnet-${name}-[0-9a-f]{8}-${node.name}$`)) as string,
      api: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
      p2p: expect.stringMatching(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\//) as string,
      dataDir: '/data/node',
    });
    expect(node).not.toHaveProperty('pid');
  }
});

test('everything is labelled, and published only on loopback', async () => {
  const chain = `${net.node(0).container}`.replace('node-0', 'chain');
  for (const container of [chain, ...net.nodes.map((node) => node.container)]) {
    const { Config, HostConfig, Mounts } = await inspect(container);
    expect(Config.Labels['svcnet.name']).toBe(name);
    expect(Config.Healthcheck?.Test?.[0]).toBe('CMD');
    const bindings = Object.values(HostConfig.PortBindings as Record<string, { HostIp: string }[]>).flat();
    expect(new Set(bindings.map(({ HostIp }) => HostIp))).toEqual(new Set(['127.0.0.1']));
    expect(bindings).toHaveLength(container === chain ? 2 : 3);
    expect(Mounts.map(({ Type, Destination }) => [Type, Destination])).toEqual([['volume', '/data']]);
  }
  expect(await leftOf(name)).toHaveLength(9);
});

test('a container keeps to its volume: no privileges, no other root, no key of another one', () => {
  const [first] = net.nodes.map(({ container }) => `${container}`);
  const { keys, ...outcome } = breakOut(`${first}`);
  expect(outcome).toEqual({ ...CONFINED, gainsNone: '1' });
  const own = ['libp2p', 'pss', 'swarm'].map((kind) => `/data/node/keys/${kind}.key`);
  expect(keys.toSorted()).toEqual(own);
  const chain = breakOut(`${first}`.replace('node-0', 'chain'));
  expect(chain).toMatchObject({ ...CONFINED, gainsNone: '1', keys: [] });
});

test('the limits of a group apply only to its containers', async () => {
  const limits = await Promise.all(
    net.nodes.map(async ({ container }) => {
      const { NanoCpus, Memory } = (await inspect(container)).HostConfig;
      return [NanoCpus, Memory];
    }),
  );
  expect(limits).toEqual([
    [0, 0],
    [0, 0],
    [750_000_000, MEMORY],
  ]);
});

test('data travels between containers, and nodes reach the chain through its gate', async () => {
  const data = randomBytes(300_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  expect(Buffer.compare(await net.node(1).bytes.download(reference), data)).toBe(0);
  expect(Object.keys(await net.chain.rpcCalls()).toSorted()).toEqual(['node-0', 'node-1', 'node-2']);
});

test('usage is reported by the engine', async () => {
  const used = await net.node(0).stats();
  expect(used.cpuMs).toBeGreaterThan(50);
  expect(used.memoryBytes).toBeGreaterThan(10 * 2 ** 20);
  expect(used.sentBytes).toBeGreaterThan(100_000);
  expect(used.receivedBytes).toBeGreaterThan(1000);
});

describe('a log', () => {
  test('is read from the engine: its end, and later additions', async () => {
    const node = net.node(1);
    const all = await node.logs({ lines: 10_000 });
    expect(all.length).toBeGreaterThan(2);
    expect(await node.logs({ lines: 2 })).toEqual(all.slice(-2));
    expect(await node.output.since(undefined)).toEqual(all);
    expect(await node.output.since(await node.output.end())).toEqual([]);
    expect(await node.loggedErrors()).toEqual([]);
    expect(node.log).toBe(`docker logs ${node.container}`);
  });

  test('is followed beyond the end of its node, by a process that did not start it', async () => {
    const other = await Cluster.attach(name, { stateDir });
    const stop = new AbortController();
    const lines: string[] = [];
    const before = (await other.node(1).logs({ lines: 10_000 })).length;
    const following = (async () => {
      for await (const line of other.logOf('node-1').follow(stop.signal)) lines.push(line);
    })();
    await net.node(1).stop();
    await net.node(1).start();
    await eventually('the second start is not followed', async () => {
      const added = (await net.node(1).logs({ lines: 10_000 })).slice(before);
      return JSON.stringify(lines) === JSON.stringify(added)
        ? undefined
        : `${lines.length} of ${added.length}`;
    });
    stop.abort();
    await following;
    expect(lines.length).toBeGreaterThan(2);
    await other.detach();
  });

  test('is copied into a folder on request', async () => {
    await net.gatherLogs();
    for (const part of ['chain', 'node-0', 'node-2']) {
      expect(readFileSync(join(net.folder, 'logs', `${part}.log`), 'utf8').length).toBeGreaterThan(100);
    }
    expect(readFileSync(join(net.folder, 'logs', 'chain.log'), 'utf8')).toMatch(/^\{"ready":true/m);
  });
});

test('a chain whose container is restarted continues where it was', async () => {
  const account = 'c0'.repeat(20);
  await net.chain.fund(account, { native: 5n });
  const before = await net.chain.height();
  await docker.getContainer(`${net.node(0).container}`.replace('node-0', 'chain')).restart();
  await eventually('the chain does not come back', async () => {
    try {
      // The control endpoint answers last, where it was before.
      await net.chain.mine();
      return (await net.chain.height()) > before ? undefined : 'it has begun anew';
    } catch (error) {
      return String(error);
    }
  });
  expect(await net.chain.nativeBalance(account)).toBe(5n);
  await net.chain.fund(account, { native: 6n });
  expect(await net.chain.nativeBalance(account)).toBeGreaterThan(5n);
});

test('a node is killed, started, paused, resumed and stopped', async () => {
  const node = net.node(1);
  await node.kill();
  expect((await inspect(node.container)).State.ExitCode).toBe(137);
  expect(node.state).toBe('killed');
  await expect(node.pause()).rejects.toThrow('cannot pause node-1: it is killed');
  await node.start();
  expect(node.state).toBe('running');
  await expect(node.start()).rejects.toThrow('it runs already');
  await node.pause();
  expect((await inspect(node.container)).State.Status).toBe('paused');
  expect(node.state).toBe('paused');
  await node.resume();
  expect(node.state).toBe('running');
  await node.pause();
  expect(await node.stop()).toEqual({ forced: false });
  expect(node.state).toBe('stopped');
  await node.start();
  await net.meshed();
  expect(net.capabilities).toEqual(new Set(['kill', 'pause', 'memory']));
});

test('a container has the memory that a fault leaves it, and all of it again once healed', async () => {
  const node = net.node(1);
  // More than it uses: some engines refuse less.
  const { id } = await net.faults.begin({ kind: 'memory', node: node.name, limit: '256MiB' });
  expect((await inspect(node.container)).HostConfig.Memory).toBe(256 * 2 ** 20);
  const [healed] = await net.faults.heal(id);
  expect(healed?.effect).toEqual({ 'limits changed': 1, 'nodes ended for want of memory': 0 });
  expect((await inspect(node.container)).HostConfig.Memory).toBe(totalmem());
  expect((await node.observe()).state).toBe('running');
  everyKindMeasured(net.faults.history, 'memory');
});

test('a node that needs more memory than a fault leaves it is killed, and has its data again once healed', async () => {
  const node = net.node(1);
  const data = randomBytes(200_000);
  const { reference } = await node.bytes.upload(data);
  await net.synced(reference);
  const { memoryBytes = 0 } = await node.stats();
  // Some engines refuse less than what it uses.
  const limit = memoryBytes + SPARE_BYTES;
  const { id, effect } = await net.faults.begin({ kind: 'memory', node: node.name, limit });
  expect(effect['nodes ended for want of memory']).toBe(0);
  await eventually('the node is not killed', async () => {
    // What it uploads when it dies fails.
    await Promise.allSettled(Array.from({ length: 3 }, () => node.bytes.upload(randomBytes(3_000_000))));
    const { state, exit } = await node.observe();
    return state === 'crashed' ? undefined : `it is ${state}, exit ${JSON.stringify(exit)}`;
  });
  expect((await node.observe()).exit).toMatchObject({ signal: 'SIGKILL', outOfMemory: true });
  const [active] = await net.faults.list();
  expect(active).toMatchObject({ id, effect: { 'nodes ended for want of memory': 1 } });
  const [healed] = await net.faults.heal(id);
  expect(healed?.effect).toEqual({ 'limits changed': 1, 'nodes ended for want of memory': 1 });
  expect(node.state).toBe('running');
  expect((await inspect(node.container)).HostConfig.Memory).toBe(totalmem());
  expect(await node.client.chunks.has(reference)).toBe(true);
  expect(Buffer.compare(await node.bytes.download(reference), data)).toBe(0);
  await net.meshed();
});

describe('changes to a container from outside', () => {
  const incidents: Incident[] = [];
  let forget: () => void;
  beforeAll(() => {
    forget = net.membership.onIncident((incident) => incidents.push(incident));
  });
  afterAll(() => forget());

  const happened = (text: string) =>
    eventually(`'${text}' is not noticed`, () => {
      const seen = incidents.map(incidentText);
      return Promise.resolve(seen.includes(text) ? undefined : JSON.stringify(seen));
    });

  test('are noticed and named: a pause, its end, a kill, a start', async () => {
    const container = docker.getContainer(`${net.node(0).container}`);
    await container.pause();
    await happened('node-0 was paused');
    await container.unpause();
    await happened('node-0 was resumed');
    await container.kill();
    await happened('node-0 died (SIGKILL)');
    expect(net.node(0).state).toBe('crashed');
    await container.start();
    await happened('node-0 was started');
    await net.node(0).ready();
  });

  test('a node that has used up its memory is reported', async () => {
    // Another program takes all memory, and makes the node the first to be killed.
    const greedy = `
      require('node:fs').writeFileSync('/proc/1/oom_score_adj', '1000');
      const taken = [];
      setInterval(() => taken.push(Buffer.alloc(2 ** 22, 1)), 20);`;
    const container = docker.getContainer(`${net.node(2).container}`);
    await (await container.exec({ Cmd: ['node', '-e', greedy] })).start({ Detach: true });
    await happened('node-2 died (out of memory (limit 96 MiB))');
  });

  test('the removal of a container is distinguished from its end', async () => {
    await docker.getContainer(`${net.node(2).container}`).remove({ force: true });
    expect((await net.node(2).observe()).exit?.reason).toMatch(/out of memory|was removed/);
    await expect(net.node(2).start()).rejects.toMatchObject({
      code: 'PROCESS_FAILED',
      message: expect.stringContaining('No such container') as string,
    });
  });
});

test('the control endpoint of the chain is on loopback, whichever address the cluster listens on', async () => {
  const driver = new DockerDriver({
    clock: MACHINE_CLOCK,
    token: `${name}-listen`,
    name: `${name}-listen`,
    stopWithParent: false,
    linkFaults: false,
    folder: stateDir,
    listen: '0.0.0.0',
  });
  const options = { port: 0, networkId: 1, accounts: [], gate: true, token: 'a-token-of-a-chain' };
  const { handle } = await driver.start({ kind: 'chain', name: 'chain', options, optionsFile: '', log: '' });
  const bindings = (await inspect(String(handle['container']))).HostConfig.PortBindings as Record<
    string,
    { HostIp: string }[]
  >;
  const addresses = Object.entries(bindings).map(([port, [at]]) => [port, at?.HostIp]);
  expect(Object.fromEntries(addresses)).toEqual({
    '8545/tcp': '0.0.0.0',
    '8546/tcp': '127.0.0.1',
  });
  const { here } = await driver.placeChain({ rpc: '', control: '', gate: '' });
  for (const url of Object.values(here)) expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await driver.dispose({ token: '', parts: [] }, 0);
  expect(await leftOf(`${name}-listen`)).toEqual([]);
});

test('a port taken in the meantime is named, with the part that needed it', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const driver = new DockerDriver({
    clock: MACHINE_CLOCK,
    token: `${name}-port`,
    name: `${name}-port`,
    stopWithParent: false,
    linkFaults: false,
    folder: stateDir,
    listen: '127.0.0.1',
  });
  const options = { port, networkId: 1, accounts: [] };
  const part = { kind: 'chain', name: 'chain', options, optionsFile: '', log: '' } as const;
  await expect(driver.start(part)).rejects.toMatchObject({
    code: 'PORT_IN_USE',
    message: `port ${port} that chain is to be published on is in use`,
  });
  await driver.dispose({ token: '', parts: [] }, 500);
  server.close();
  expect(await leftOf(`${name}-port`)).toEqual([]);
});
