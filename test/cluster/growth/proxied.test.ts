import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readJson } from '../../../harness/base/json-file.ts';
import type { ClusterOptions } from '../../../harness/cluster/opening.ts';
import { clusterFolder } from '../../../harness/cluster/state/state.ts';
import { Cluster, type ClusterNode, type TapEvent } from '../../../harness/index.ts';
import type { ProxyOptions } from '../../../harness/places/links/proxy/proxy.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { pingMs } from '../harness/links/ping.ts';
import { eventually } from '../node/kit.ts';
import { portShift } from '../ports.ts';
import { startSvcnet } from '../svcnet.ts';
import { haltAll } from './halt.ts';
import { expectRead, use } from './used.ts';

const opened: Cluster[] = [];
afterEach(async () => {
  for (const net of opened.splice(0).toReversed()) await net.stop();
});

function kept(net: Cluster): Cluster {
  opened.push(net);
  return net;
}

async function start(options: ClusterOptions): Promise<Cluster> {
  const stateDir = temporaryFolder('svcnet-growth');
  return kept(
    await Cluster.start({ nodes: 2, seed: 11, driver: 'process', tap: true, stateDir, ...options }),
  );
}

const namesOf = ({ nodes }: Cluster) => nodes.map(({ name }) => name);
const stateOf = ({ folder }: Cluster) => join(folder, '..', '..');
const portOf = ({ p2p }: ClusterNode) => Number(/\/tcp\/(\d+)/.exec(p2p)?.[1]);

/** Nodes that its proxy stands before. */
function routed(net: Cluster): string[] {
  const { routes } = readJson(clusterFolder(stateOf(net), net.name).linkProxyOptions()) as ProxyOptions;
  return routes.map(({ node }) => node).toSorted();
}

/** @returns `connect`, or why nobody can be dialled there */
async function dialled(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port });
  const [what] = await Promise.race([
    once(socket, 'connect').then(() => ['connect']),
    once(socket, 'close').then(() => ['close']),
  ]).catch(({ code }: NodeJS.ErrnoException) => [code ?? '']);
  socket.destroy();
  return what ?? '';
}

async function seen(net: Cluster, node: string): Promise<TapEvent[]> {
  const events: TapEvent[] = [];
  for await (const event of net.tap({ nodes: [node], kept: true })) events.push(event);
  return events;
}

test('2 nodes become 4 and 2 again behind a tap while they are used, by two commands at once', async () => {
  const net = await start({ name: 'grow', detached: true, linkFaults: true });
  const incidents: unknown[] = [];
  net.membership.onIncident((incident) => incidents.push(incident));
  const used = use(net);
  const adding = [0, 1].map(() => startSvcnet(['add'], { stateDir: stateOf(net) }).finished);
  for (const { code, stderr } of await Promise.all(adding)) expect(code, stderr).toBe(0);
  await net.membership.observe();
  expect(namesOf(net)).toEqual(['node-0', 'node-1', 'node-2', 'node-3']);
  expect(routed(net)).toEqual(namesOf(net));
  await net.meshed();
  const beside = used.acknowledged.size;
  const leaving = net.node(3);
  expect(await dialled(portOf(leaving))).toBe('connect');
  await net.remove(1, { forGood: true });
  await net.remove(3, { forGood: true });
  await used.end();
  expect(beside).toBeGreaterThan(3);
  expect(routed(net)).toEqual(['node-0', 'node-2']);
  expect(await dialled(portOf(leaving))).toBe('ECONNREFUSED');
  await expectRead(net, net.node(2), used);
  await net.settled();
  await net.membership.observe();
  expect(incidents).toEqual([]);
}, 120_000);

test('the tap names a node that has come, and faults of links and messages mean it', async () => {
  const net = await start({ linkFaults: true });
  const slow = await net.faults.begin({ kind: 'link', from: ['all'], latency: '300ms' });
  const [added] = await net.add();
  await net.meshed();
  const events = await seen(net, 'node-2');
  expect(new Set(events.flatMap(({ from, to }) => [from, to]))).toEqual(new Set(namesOf(net)));
  expect(events.some(({ protocol, name }) => protocol === 'handshake' && name === 'ack')).toBe(true);
  expect(events.filter(({ name }) => name === 'undecodable')).toEqual([]);
  expect(await pingMs(net, { from: 0, to: 2 })).toBeGreaterThan(250);
  await net.faults.heal(slow.id);
  const lost = await net.faults.begin({
    kind: 'message',
    from: ['node-2'],
    to: ['node-0'],
    protocol: 'pingpong',
    drop: 1,
    reset: true,
  });
  const ping = (from: ClusterNode, to: ClusterNode) => from.client.pingpong(to.overlay);
  const [first, second] = [net.node(0), net.node(1)];
  await expect(ping(first, added as ClusterNode)).rejects.toThrow();
  await ping(second, added as ClusterNode);
  const [ended] = await net.faults.heal(lost.id);
  expect(ended?.effect['messages dropped']).toBeGreaterThan(0);
  const cut = await net.faults.begin({ kind: 'link', from: ['node-2'], reset: true });
  const [reset] = await net.faults.heal(cut.id);
  expect(reset?.effect['connections reset']).toBeGreaterThan(0);
}, 90_000);

test('an upgraded node keeps its ports behind the proxy, and is seen again', async () => {
  const first = 9_400 + (await portShift(Array.from({ length: 9 }, (_, port) => 9_400 + port)));
  for (const ports of ['free', { first, stride: 3 }] as const) {
    const net = await start({ ports, nodes: 2 });
    await net.add();
    await net.meshed();
    const node = net.node(2);
    const before = [node.api, node.p2p];
    const at = net.clock.now();
    await net.upgrade('node-2', { mode: 'light' });
    expect([node.api, node.p2p]).toEqual(before);
    await net.meshed();
    await eventually('node-2 has not been seen since', async () =>
      (await seen(net, 'node-2')).some((event) => event.at > at && event.name === 'ack')
        ? undefined
        : 'no handshake',
    );
    await net.stop();
  }
}, 120_000);

test('a cluster that has grown starts again, and is saved and continued, with all its nodes behind the proxy', async () => {
  const net = await start({ name: 'grow', detached: true });
  await net.add();
  await net.remove(1, { forGood: true });
  await net.meshed();
  const data = new Uint8Array(20_000).fill(9);
  const { reference } = await net.node(2).bytes.upload(data);
  await net.synced(reference);
  await net.saveSnapshot('grown');
  const stateDir = stateOf(net);
  await haltAll(net);
  const again = kept(await Cluster.startAgain('grow', { stateDir }));
  const copy = kept(await Cluster.start({ snapshot: 'grown', name: 'copy', stateDir }));
  for (const each of [again, copy]) {
    expect(routed(each)).toEqual(['node-0', 'node-2']);
    expect(await each.node(0).bytes.download(reference)).toEqual(data);
    expect((await seen(each, 'node-2')).length).toBeGreaterThan(0);
    const [added] = await each.add();
    expect(added?.name).toBe('node-3');
    expect(routed(each)).toEqual(['node-0', 'node-2', 'node-3']);
  }
}, 120_000);
