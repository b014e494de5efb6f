import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { requestDirectly } from '../../../harness/base/direct.ts';
import { readRecord } from '../../../harness/cluster/state/state.ts';
import { Cluster, type ClusterOptions } from '../../../harness/index.ts';
import { readEmbedded } from '../../../harness/places/embedded/node-file.ts';
import { regionOf, roundTripMs } from '../../../harness/places/links/regions.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { defineScenario } from '../../../harness/run/scenario.ts';

const HOUR_MS = 3_600_000;
const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-simulated-'));
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

function start(options: ClusterOptions = {}): Promise<Cluster> {
  return Cluster.start({ nodes: 4, seed: 7, driver: 'simulated', stateDir, ...options });
}

function content(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * at) >> 7);
}

/** @returns digests on the way */
async function live(seed: number): Promise<readonly (string | undefined)[]> {
  await using net = await start({ seed });
  const digests = [net.digest];
  const data = content(100_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  digests.push(net.digest);
  await net.node(1).kill();
  await net.clock.sleep(60_000);
  await net.node(1).start();
  expect(Buffer.compare(Buffer.from(await net.node(1).bytes.download(reference)), Buffer.from(data))).toBe(0);
  digests.push(net.digest);
  return digests;
}

test('a run of a seed is the same to the last frame, and that of another seed is another', async () => {
  const first = await live(7);
  expect(await live(7)).toEqual(first);
  expect(new Set(first).size).toBe(first.length);
  expect(await live(8)).not.toEqual(first);
});

test('odd nodes are another run of the seed, each with options of its own, and given options stay', async () => {
  const odd = ['frame-pieces', 'payment-minimum', 'salud-pause'] as const;
  const options = { 'payment-minimum': 1234 };
  const plain = await start({ nodes: [{ count: 4, options }], batches: false });
  const { digest } = plain;
  await plain.stop();
  await using net = await start({ nodes: [{ count: 4, options }], batches: false, odd });
  expect(net.digest).not.toBe(digest);
  const own = net.nodes.map(({ dataDir }) => readEmbedded(dataDir).options);
  expect(own.map((one) => one['payment-minimum'])).toEqual([1234, 1234, 1234, 1234]);
  expect(new Set(own.map((one) => one['salud-pause'])).size).toBeGreaterThan(1);
});

test('a cluster began at a time of its own, and ps knows when that was', async () => {
  const before = Date.now();
  await using net = await start({ nodes: 1, batches: false });
  expect(net.startedAt).toBeLessThanOrEqual(net.clock.now());
  expect(net.clock.now() - net.startedAt).toBeLessThan(HOUR_MS);
  expect((await Cluster.attach(net.name, { stateDir })).startedAt).toBe(net.startedAt);
  const createdAt = readRecord(stateDir, net.name)?.createdAt;
  expect(createdAt).toBeGreaterThanOrEqual(before);
  expect(createdAt).toBeLessThanOrEqual(Date.now());
});

test('scenarios run on a cluster that the test started, in its time, and leave it running', async () => {
  const run = async () => {
    await using net = await start({ name: 'given' });
    const before = net.clock.monotonic();
    const planned = planScenarios([await loadScenario('pause')], new Map([['hold', '2s']]));
    const { driver, scenarios } = await runScenarios({
      planned,
      attachTo: net.name,
      seed: 7n,
      stateDir,
      report: join(stateDir, 'given'),
      name: 'given',
      command: 'none',
      signal: new AbortController().signal,
    });
    expect({ driver, scenarios }).toMatchObject({ driver: 'simulated', scenarios: [{ result: 'passed' }] });
    const [{ durationMs } = { durationMs: 0 }] = scenarios;
    expect(durationMs).toBeGreaterThan(2000);
    expect(durationMs).toBeLessThanOrEqual(net.clock.monotonic() - before);
    expect((await net.node(0).client.health()).status).toBe('ok');
    return net.digest;
  };
  expect(await run()).toBe(await run());
});

test('a failed run on a network that was there before names the nodes that had no peers', async () => {
  await using net = await start({ name: 'lonely', batches: false });
  const { client } = net.node(0);
  await net.faults.begin({ kind: 'isolate', node: 'node-0' });
  for (const { address } of await client.peers()) await client.disconnect(address);
  const broken = defineScenario({
    name: 'broken',
    group: 'chaos',
    about: 'Fails.',
    parameters: {},
    needs: { nodes: 2 },
    cluster: { nodes: 2 },
    timeoutMs: 60_000,
    run: () => Promise.reject(new Error('not found')),
  });
  const { scenarios } = await runScenarios({
    planned: planScenarios([broken], new Map()),
    attachTo: net.name,
    seed: 7n,
    stateDir,
    report: join(stateDir, 'lonely'),
    name: 'lonely',
    command: 'none',
    signal: new AbortController().signal,
  });
  expect(scenarios).toMatchObject([{ result: 'error' }]);
  const why = 'when the scenario began, node-0 had no peers: what was uploaded there was on no other node';
  expect(scenarios[0]?.error?.split('\n').at(-1)).toBe(why);
});

test('a ping takes two round trips between the regions of two nodes: headers of its stream, then itself', async () => {
  const regions = {
    shares: { here: 1, there: 1, elsewhere: 1 },
    roundTripMs: {
      here: { here: 4, there: 36, elsewhere: 180 },
      there: { there: 8, elsewhere: 250 },
      elsewhere: { elsewhere: 22 },
    },
  };
  const run = async (seed: number) => {
    await using net = await start({ seed, network: { regions } });
    const places = net.nodes.map(({ name }) => regionOf(regions, String(seed), name));
    const taken: string[] = [];
    for (const [index, node] of net.nodes.entries()) {
      if (index === 0) continue;
      const { overlay } = await node.client.addresses();
      taken.push(await net.node(0).client.pingpong(overlay));
      const ms = roundTripMs(regions, places[0] ?? '', places[index] ?? '');
      expect(taken.at(-1)).toBe(`${2 * (ms ?? Number.NaN)}ms`);
    }
    return { places, taken, digest: net.digest };
  };
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect((await run(8)).places).not.toEqual(first.places);
});

test('two simulations of one process do not disturb each other', async () => {
  const [alone] = await live(7);
  const both = await Promise.all([start(), start()]);
  expect(both.map(({ digest }) => digest)).toEqual([alone, alone]);
  await Promise.all(both.map((net) => net.stop()));
});

test('what a node has stored is seen without asking it, also while it does not run', async () => {
  await using net = await start();
  const { reference } = await net.node(0).bytes.upload(content(1000), { deferred: false });
  const seen = () => Promise.all(net.nodes.map((node) => node.holds(reference)));
  const asked = await Promise.all(net.nodes.map((node) => node.chunks.has(reference)));
  expect(await seen()).toEqual(asked);
  expect(asked).toContain(true);
  const before = [net.clock.monotonic(), net.digest];
  await seen();
  expect([net.clock.monotonic(), net.digest]).toEqual(before);
  const holder = net.node(asked.indexOf(true));
  await holder.kill();
  expect(await seen()).toEqual(asked);
  await holder.damage(1000);
  expect(await holder.holds(reference)).toBe(false);
});

test('the last frames are at hand, oldest first', async () => {
  await using net = await start();
  await net.node(0).client.pingpong(net.node(1).overlay);
  await net.clock.sleep(1);
  const frames = net.lastFrames;
  expect(frames.length).toBeGreaterThan(10);
  expect(frames.at(-1)).toMatch(/^\d+ ms node-\d -> node-\d \w+/);
  const times = frames.map((line) => Number.parseInt(line, 10));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(frames.some((line) => line.includes('pingpong'))).toBe(true);
});

test('a client uploads tens of megabytes in a virtual second', async () => {
  await using net = await start();
  const before = net.clock.monotonic();
  await net.node(0).bytes.upload(content(4_000_000));
  expect(net.clock.monotonic() - before).toBeLessThan(400);
});

test('time passes only while someone waits for it', async () => {
  await using net = await start();
  const { body } = await requestDirectly(`${net.node(0).api}/health`);
  await body.dump();
  const before = net.clock.monotonic();
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  expect(net.clock.monotonic()).toBe(before);
  const height = await net.chain.height();
  await net.clock.sleep(HOUR_MS / 60);
  expect(net.clock.monotonic() - before).toBeGreaterThanOrEqual(HOUR_MS / 60);
  expect((await net.chain.height()) - height).toBeGreaterThanOrEqual(59);
});

test('messages arrive over a WebSocket', async () => {
  await using net = await start();
  const listening = await net.node(2).client.messages.listen('simulated');
  const { pssPublicKey: recipient, overlay } = await net.node(2).client.addresses();
  await net.node(0).client.messages.send('simulated', [overlay.slice(0, 2)], 'hello', { recipient });
  await net.clock.sleep(10_000);
  expect(listening.texts).toEqual(['hello']);
  listening.close();
});

test('nodes that are cut off from each other find each other again', async () => {
  await using net = await start();
  await net.faults.isolate('node-3');
  await net.clock.sleep(5000);
  await net.faults.heal();
  await net.meshed();
});

test('is not saved: no driver could start it again', async () => {
  await using net = await start();
  await expect(net.saveSnapshot('one')).rejects.toMatchObject({ code: 'SNAPSHOT_REFUSED' });
});

test('its nodes take no port of this machine', async () => {
  const claims = mkdtempSync(join(stateDir, 'claims-'));
  vi.stubEnv('XDG_RUNTIME_DIR', claims);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using _net = await start();
  expect(readdirSync(claims)).toEqual([]);
});

test('nothing of it is left when it has stopped', async () => {
  const net = await start();
  const { api } = net.node(0);
  await net.stop();
  await expect(requestDirectly(`${api}/health`)).rejects.toThrow();
});

test.for([
  [
    { detached: true },
    /^driver: got simulated for a cluster that outlives its process, expected process or embedded/,
  ],
  [
    { nodes: [{ count: 1 }, { flavour: 'dishonest', dishonest: ['silent', 'handshake-garbage'] }] },
    /nodes\[1\]\.dishonest: got handshake-garbage with driver simulated, expected other behaviours/,
  ],
  [{ store: 'disk' }, /store: got 'disk' with driver simulated, expected memory or none/],
  [{ ports: 16_330 }, /ports: got 16330 with driver simulated, expected none/],
  [{ chain: { port: 8545 } }, /chain\.port: got 8545 with driver simulated, expected none/],
  [
    { nodes: [{ flavour: 'bee', binary: '/bin/true' }] },
    /nodes\[0\]\.flavour: got bee with driver simulated, expected svc/,
  ],
] as [ClusterOptions, RegExp][])('refuses %j', async ([options, message]) => {
  await expect(start(options)).rejects.toThrow(message);
});
