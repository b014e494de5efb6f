/** Needs Docker. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { readRecord } from '../../harness/cluster/state/state.ts';
import { archiveOf } from '../../harness/places/docker/archive.ts';
import { pingMs } from '../cluster/harness/links/ping.ts';
import { startSvcnet } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { buildImage, docker as dockerCommand } from './image.ts';
import { docker, eventually, leftOf } from './kit.ts';

const name = `docker-growth-${process.pid}`;
const stateDir = temporaryFolder('svcnet-docker-growth');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    name,
    stateDir,
    detached: true,
    driver: 'docker',
    seed: 7,
    linkFaults: true,
    nodes: 2,
  });
});

afterAll(async () => {
  await net?.stop();
  expect(await leftOf(name)).toEqual([]);
});

const namesOf = ({ nodes }: Cluster) => nodes.map((node) => node.name);
const left = async (node = '') => (await leftOf(name)).filter((what) => what.endsWith(node)).toSorted();

test('2 containers become 4 and 3 while they are used, by two commands at once, and nothing is lost', async () => {
  const acknowledged = new Map<string, Buffer>();
  const over = new AbortController();
  const load = async () => {
    while (!over.signal.aborted) {
      const data = randomBytes(20_000);
      const { reference } = await net.node(0).bytes.upload(data);
      acknowledged.set(reference, data);
      await net.clock.sleep(100);
    }
  };
  const loading = load();
  const adding = [0, 1].map(() => startSvcnet(['add', '--name', name], { stateDir }).finished);
  for (const { code, stderr } of await Promise.all(adding)) expect(code, stderr).toBe(0);
  await net.membership.observe();
  expect(namesOf(net)).toEqual(['node-0', 'node-1', 'node-2', 'node-3']);
  await net.meshed();
  await net.remove(1, { forGood: true });
  over.abort();
  await loading;
  expect(acknowledged.size).toBeGreaterThan(3);
  for (const [reference, data] of acknowledged) {
    await net.synced(reference);
    expect(Buffer.compare(await net.node(3).bytes.download(reference), data)).toBe(0);
  }
  expect(await left('node-1')).toEqual([]);
  expect(readFileSync(join(net.folder, 'logs', 'node-1.log'), 'utf8')).not.toBe('');
  expect(await left('node-2')).toHaveLength(2);
  const ps = await startSvcnet(['ps', '--json', '--name', name], { stateDir }).finished;
  expect((JSON.parse(ps.stdout) as { nodes: { name: string }[] }).nodes.map((node) => node.name)).toEqual(
    namesOf(net),
  );
});

test('faults of links mean a container that has come', async () => {
  const fault = await net.faults.link('node-3', 'node-0', { latency: '300ms' });
  await eventually('no slow ping', async () => {
    const ms = (await pingMs(net, { from: 3, to: 0 })) ?? 0;
    return ms > 290 ? undefined : `${ms} ms`;
  });
  const [ended] = await net.faults.heal(fault.id);
  expect(ended?.effect['bytes delayed']).toBeGreaterThan(0);
});

test('an added node has its own image and limits', async () => {
  const image = await buildImage('growth');
  try {
    const resources = { cpus: 0.5, memory: '128MiB' };
    const [added] = await net.add({ mode: 'light', image, resources });
    const { Config, HostConfig } = await docker.getContainer(added?.container ?? '').inspect();
    expect(Config.Image).toBe(image);
    expect(HostConfig).toMatchObject({ NanoCpus: 0.5e9, Memory: 128 * 2 ** 20 });
    await net.meshed();
    await net.remove(added?.name ?? '', { forGood: true });
    expect(await left(added?.name ?? '')).toEqual([]);
  } finally {
    dockerCommand('rmi', image);
  }
});

test('an addition that fails leaves nothing', async () => {
  const before = await left();
  const image = `svcnet-test-absent-${process.pid}`;
  await expect(net.add({ image })).rejects.toMatchObject({ code: 'IMAGE_FAILED' });
  // Too little for Node.js.
  const resources = { memory: '16MiB' };
  await expect(net.add({ resources }, { timeoutMs: 20_000 })).rejects.toThrow();
  expect(await left()).toEqual(before);
  expect(readRecord(stateDir, name)?.nodes.map((node) => node.name)).toEqual(namesOf(net));
});

test('containers get another image and the one before, one after the other, and keep all but the program', async () => {
  const image = await buildImage('upgrade');
  const kept = async () => {
    const all = await Promise.all(
      net.nodes.map(({ container = '' }) => docker.getContainer(container).inspect()),
    );
    return all.map(({ HostConfig, Mounts, NetworkSettings: { Networks } }) => ({
      ...HostConfig,
      volumes: Mounts.map((mount) => mount.Name),
      networks: Object.keys(Networks),
    }));
  };
  const images = async () => {
    const names = net.nodes.map(({ container = '' }) => container);
    return Promise.all(names.map(async (each) => (await docker.getContainer(each).inspect()).Config.Image));
  };
  try {
    const before = {
      kept: await kept(),
      images: await images(),
      overlays: net.nodes.map(({ overlay }) => overlay),
    };
    const data = randomBytes(20_000);
    const { reference } = await net.node(0).bytes.upload(data);
    await net.synced(reference);
    const args = ['upgrade', '--rolling', '--image', image, '--name', name];
    const { code, stderr } = await startSvcnet(args, { stateDir }).finished;
    expect(code, stderr).toBe(0);
    expect(await images()).toEqual(net.nodes.map(() => image));
    await net.membership.observe();
    const earlierLog = () => readFileSync(join(net.folder, 'logs', 'node-0.log.1'), 'utf8');
    const ofFirst = earlierLog();
    expect(ofFirst).not.toBe('');
    expect(Buffer.compare(await net.node(3).bytes.download(reference, { cache: false }), data)).toBe(0);
    for (const { name: node } of net.nodes) await net.upgrade(node, { flavour: 'svc' });
    expect(await images()).toEqual(before.images);
    expect(await kept()).toEqual(before.kept);
    expect(net.nodes.map(({ overlay }) => overlay)).toEqual(before.overlays);
    expect(Buffer.compare(await net.node(2).bytes.download(reference, { cache: false }), data)).toBe(0);
    expect(earlierLog().startsWith(ofFirst)).toBe(true);
    expect(earlierLog().length).toBeGreaterThan(ofFirst.length);
  } finally {
    dockerCommand('rmi', image);
  }
});

test('a container whose image cannot replace it stays, and one whose image does not run can go back', async () => {
  const node = net.node(3);
  const container = async () => (await docker.getContainer(node.container ?? '').inspect()).Id;
  const before = await container();
  await expect(net.upgrade(3, { image: `svcnet-test-absent-${process.pid}` })).rejects.toMatchObject({
    code: 'IMAGE_FAILED',
  });
  expect([node.state, await container()]).toEqual(['running', before]);
  // Nothing can be mounted where a file is.
  const [unfit, empty] = await Promise.all(
    ['data', 'nothing'].map(async (path) => {
      const named = `svcnet-test-${path}-${process.pid}`;
      execFileSync('docker', ['import', '-', named], {
        input: await archiveOf([{ path, content: '' }]),
        stdio: ['pipe', 'ignore', 'pipe'],
      });
      return named;
    }),
  );
  try {
    await expect(net.upgrade(3, { image: unfit })).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringMatching(/; node-3 is as it was$/) as unknown,
    });
    expect(node.state).toBe('running');
    await expect(net.upgrade(3, { image: empty })).rejects.toMatchObject({ code: 'PROCESS_FAILED' });
    expect(node.state).not.toBe('running');
    await net.upgrade(3, { flavour: 'svc' });
    await net.meshed();
  } finally {
    dockerCommand('rmi', unfit ?? '', empty ?? '');
  }
});

test('a cluster that has grown starts again, and grows on', async () => {
  const numbers = namesOf(net);
  const overlays = net.nodes.map(({ overlay }) => overlay);
  const data = randomBytes(20_000);
  const { reference } = await net.node(3).bytes.upload(data);
  await net.synced(reference);
  const containers = await docker.listContainers({ filters: { label: [`svcnet.name=${name}`] } });
  await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).kill()));
  await net.detach();
  net = await Cluster.startAgain(name, { stateDir });
  expect(namesOf(net)).toEqual(numbers);
  expect(net.nodes.map(({ overlay }) => overlay)).toEqual(overlays);
  expect(Buffer.compare(await net.node(0).bytes.download(reference), data)).toBe(0);
  const [added] = await net.add();
  // Given numbers are not given again.
  expect(added?.name).toBe('node-6');
  await net.meshed();
  expect(Buffer.compare((await added?.bytes.download(reference)) ?? Buffer.of(), data)).toBe(0);
  const fault = await net.faults.partition([['node-0'], [added?.name ?? '']]);
  await expect
    .poll(async () => pingMs(net, { from: 0, to: added?.index ?? 0, withinMs: 1500 }))
    .toBeUndefined();
  await net.faults.heal(fault.id);
});
