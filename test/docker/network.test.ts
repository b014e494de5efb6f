/** `docker run svcnet network`. Needs Docker. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { NodeClient } from '../../harness/client/node-client.ts';
import type { ClusterDocument } from '../../harness/cluster/cluster-document.ts';
import { deriveNode } from '../../harness/cluster/plan/seed.ts';
import { until } from '../../harness/scenario.ts';
import { buildImage, docker } from './image.ts';
import { IMAGE_MB_MAX, MB } from './kit.ts';

const HEALTHY_TIMEOUT_MS = 180_000;
/** Docker kills the container then: far more than a network needs. */
const STOP_GRACE_S = 30;

let image: string;
const started: string[] = [];

beforeAll(async () => {
  image = await buildImage('network');
});

afterEach(() => {
  for (const id of started.splice(0)) docker('rm', '-fv', id);
});

afterAll(() => {
  docker('rmi', image);
});

function run(flags: readonly string[], command: readonly string[]): string {
  const id = docker('run', '-d', ...flags, image, ...command);
  started.push(id);
  return id;
}

const inspect = (id: string, format: string) => docker('inspect', '--format', format, id);
const logs = (id: string) => spawnSync('docker', ['logs', id], { encoding: 'utf8' });

/** For the message when it does not end. */
const lifeOf = (id: string) =>
  `${spawnSync('docker', ['top', id], { encoding: 'utf8' }).stdout}\n${logs(id).stderr}`;

async function healthy(id: string): Promise<void> {
  await until(
    'the container is not healthy',
    () => {
      const [state, health] = inspect(id, '{{.State.Status}} {{.State.Health.Status}}').split(' ');
      if (state !== 'running') throw new Error(`the container is ${state}: ${logs(id).stderr}`);
      return Promise.resolve(health === 'healthy' ? { done: true } : { missing: `it is ${health}` });
    },
    { timeoutMs: HEALTHY_TIMEOUT_MS },
  );
}

async function ended(id: string): Promise<number> {
  await until(
    'the container has not ended',
    () => {
      const state = inspect(id, '{{.State.Status}}');
      return Promise.resolve(
        state === 'exited' ? { done: true } : { missing: `it is ${state}\n${lifeOf(id)}` },
      );
    },
    { timeoutMs: 120_000 },
  );
  return Number(inspect(id, '{{.State.ExitCode}}'));
}

/** The ports published with `-P`. */
function published(id: string, port: number): string {
  return `http://${docker('port', id, String(port)).split('\n')[0]?.replace('0.0.0.0', '127.0.0.1')}`;
}

function documentOf(id: string): ClusterDocument {
  return JSON.parse(docker('exec', id, 'cat', '/data/network.json')) as ClusterDocument;
}

/** A part of its command line names the program. */
function signal(id: string, name: NodeJS.Signals, ...parts: readonly string[]): void {
  const script = `
    const { existsSync, readdirSync, readFileSync } = require('node:fs');
    for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && name !== String(process.pid))) {
      try {
        const line = readFileSync('/proc/' + pid + '/cmdline', 'utf8');
        if (${JSON.stringify(parts)}.some((part) => line.includes(part))) process.kill(Number(pid), '${name}');
      } catch (error) {
        // One that has ended meanwhile, such as a health check.
        if (existsSync('/proc/' + pid)) throw error;
      }
    }`;
  docker('exec', id, 'node', '-e', script);
}

/** To the chain and to Anvil, its child. */
const signalChain = (id: string, name: NodeJS.Signals) => signal(id, name, 'chain/main.ts', '/anvil\0');

const exposed = (nodes: number) =>
  Array.from({ length: nodes }, (_, i) => ['--expose', String(1633 + 10 * i)]).flat();

test.each([2, 5, 20])(
  '%i nodes are usable once the container is healthy, and share uploads',
  async (nodes) => {
    const id = run(['-P', ...exposed(nodes)], ['network', '--nodes', String(nodes), '--seed', '7']);
    await healthy(id);
    const document = documentOf(id);
    // The only line on standard output.
    expect(JSON.parse(logs(id).stdout)).toEqual(document);
    expect(document.nodes.map(({ overlay }) => overlay)).toEqual(
      Array.from({ length: nodes }, (_, index) => deriveNode({ seed: 7n, index, networkId: 4020 }).overlay),
    );
    expect(document.nodes.map(({ api }) => new URL(api).port)).toEqual(
      Array.from({ length: nodes }, (_, i) => String(1633 + 10 * i)),
    );
    await using first = new NodeClient({ node: 'node-0', api: published(id, 1633) });
    await using last = new NodeClient({ node: 'last', api: published(id, 1633 + 10 * (nodes - 1)) });
    const batch = document.batches[0]?.id as string;
    expect((await first.stamps.list()).map(({ batchID }) => batchID)).toEqual([batch]);
    const data = randomBytes(100_000);
    const { reference } = await first.bytes.upload(data, { batch, deferred: false });
    expect(Buffer.compare(await last.bytes.download(reference), data)).toBe(0);
    const height = await fetch(published(id, 8545), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    });
    expect(await height.json()).toMatchObject({ result: '0x7a69' });
  },
);

test('it stops when asked to before it is usable, without being killed', async () => {
  const early = run([], ['network', '--nodes', '2']);
  await until(
    'it has not begun',
    () => Promise.resolve(logs(early).stderr.includes('chain') ? { done: true } : { missing: 'its chain' }),
    { timeoutMs: 120_000 },
  );
  docker('stop', '-t', String(STOP_GRACE_S), early);
  expect(await ended(early)).toBe(0);
});

test('it becomes usable again after being killed and restarted, and stops when asked to, without being killed', async () => {
  const id = run([], ['network', '--nodes', '2', '--seed', '7']);
  await healthy(id);
  const before = documentOf(id);
  docker('kill', id);
  expect(await ended(id)).toBe(137);
  docker('start', id);
  await healthy(id);
  expect(documentOf(id).batches).toEqual(before.batches);
  docker('stop', '-t', String(STOP_GRACE_S), id);
  expect(await ended(id)).toBe(0);
});

test('it ends with an exit code and the reason when its chain dies', async () => {
  const id = run([], ['network', '--nodes', '2']);
  await healthy(id);
  signalChain(id, 'SIGKILL');
  expect(await ended(id)).toBe(1);
  expect(logs(id).stderr).toMatch(/chain died \(SIGKILL\)[\s\S]*the network is not whole any more/);
});

test('it ends when its chain dies before what the chain has started', async () => {
  const id = run([], ['network', '--nodes', '2']);
  await healthy(id);
  // Anvil's guard stands still: both become children of the container's first process.
  signal(id, 'SIGSTOP', 'anvil-guard');
  signal(id, 'SIGKILL', 'chain/main.ts');
  expect(await ended(id)).toBe(1);
});

test('it runs as an unprivileged user, with a read-only file system, reads variables, is unhealthy while its chain hangs, and recovers', async () => {
  const variables = ['-e', 'SVCNET_NODES=2', '-e', 'SVCNET_SEED=9'];
  const id = run(['--read-only', '--cap-drop', 'ALL', ...variables], ['network']);
  await healthy(id);
  expect(docker('exec', id, 'id', '-u')).not.toBe('0');
  expect(documentOf(id)).toMatchObject({ seed: 9, nodes: [{ name: 'node-0' }, { name: 'node-1' }] });
  signalChain(id, 'SIGSTOP');
  await until(
    'the container is not unhealthy',
    () => {
      const health = inspect(id, '{{.State.Health.Status}}');
      return Promise.resolve(health === 'unhealthy' ? { done: true } : { missing: `it is ${health}` });
    },
    { timeoutMs: HEALTHY_TIMEOUT_MS },
  );
  signalChain(id, 'SIGCONT');
  await healthy(id);
  expect(logs(id).stderr).toMatch(/chain was paused[\s\S]*chain was resumed/);
});

test.each([
  [['--nodes', '0'], /^--nodes: got '0', expected a whole number from 1 to 200/],
  [['--seed', 'x'], /^--seed: got 'x', expected a whole number from 0 to 2\^64 - 1/],
  [['-f', '/nowhere.yaml'], /^-f: no file '\/nowhere.yaml'/],
])('network %j is refused with a reason', (args, reason) => {
  const refused = spawnSync('docker', ['run', '--rm', image, 'network', ...args], { encoding: 'utf8' });
  expect(refused.status).toBe(2);
  expect(refused.stderr).toMatch(reason);
});

test('the image is small', () => {
  expect(Number(inspect(image, '{{.Size}}')) / MB).toBeLessThan(IMAGE_MB_MAX);
});
