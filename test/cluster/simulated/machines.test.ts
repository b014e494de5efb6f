import { expect, test } from 'vitest';
import { Cluster, type ClusterNode } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const stateDir = temporaryFolder('svcnet-simulated-machines');

function start(): Promise<Cluster> {
  return Cluster.start({ nodes: 3, seed: 7, driver: 'simulated', machineFaults: true, stateDir });
}

async function upload({ clock }: Cluster, node: ClusterNode): Promise<string> {
  const before = clock.monotonic();
  const work = node.bytes.upload(new Uint8Array(20_000).fill(before), { deferred: true });
  const how = await work.then(
    () => 'stored',
    (error: unknown) => String((error as { status?: number }).status),
  );
  return `${how} in ${clock.monotonic() - before} ms`;
}

test.each([
  ['disk-full', {}, /^507 in /, 'writes refused'],
  ['disk-read-only', {}, /^400 in /, 'writes refused'],
  ['disk-failing', { percent: 100 }, /^400 in /, 'writes refused'],
  ['disk-slow', { by: '3s' }, /^stored in 9\d{3} ms$/, 'writes delayed'],
])('%s: a node whose disk fails says so, until it is healed', async (kind, more, seen, counted) => {
  const run = async () => {
    await using net = await start();
    const [, node] = net.nodes as [ClusterNode, ClusterNode];
    const healthy = await upload(net, node);
    await net.faults.begin({ kind, node: node.name, ...more });
    const broken = await upload(net, node);
    await net.node(0).bytes.upload(new Uint8Array(100));
    await node.kill();
    const [fault] = await net.faults.heal();
    await node.start();
    await net.meshed();
    return { healthy, broken, effect: fault?.effect, healed: await upload(net, node), digest: net.digest };
  };
  const first = await run();
  expect(first.healthy).toMatch(/^stored in \d\d? ms$/);
  expect(first.broken).toMatch(seen);
  expect(first.effect?.[counted]).toBeGreaterThan(0);
  expect(first.healed).toMatch(/^stored in \d\d? ms$/);
  expect(await run()).toEqual(first);
});

test("a clock that is wrong is its own node's alone, and durations stay right", async () => {
  await using net = await start();
  /** Minutes that each is behind. */
  const minutes = async () => {
    const tags = await Promise.all(net.nodes.map(({ client }) => client.tags.create()));
    return tags.map(({ startedAt: at }) => Math.ceil((net.clock.now() - Date.parse(at)) / 60_000));
  };
  expect(await minutes()).toEqual([1, 1, 1]);
  await net.faults.begin({ kind: 'clock', node: 'node-1', offset: '-330s', drift: 1_000_000 });
  expect(await minutes()).toEqual([1, 6, 1]);
  await net.clock.sleep(120_000);
  expect(await minutes()).toEqual([1, 4, 1]);
  const [fault] = await net.faults.list();
  expect(fault?.effect['clock reads shifted']).toBeGreaterThan(0);
  await net.faults.heal();
  expect(await minutes()).toEqual([1, 1, 1]);
});
