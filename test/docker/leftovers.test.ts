/** Nothing may stay of a cluster, however the process that started it ends. Needs Docker. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { docker, eventually, leftOf } from './kit.ts';

const STARTER = join(import.meta.dirname, 'starter-process.ts');
const CLI = join(import.meta.dirname, '../../harness/cli.ts');
const stateDir = temporaryFolder('svcnet-docker-left');
const starters: ChildProcess[] = [];

afterAll(() => {
  for (const starter of starters) starter.kill('SIGKILL');
});

const nameOf = (what: string) => `docker-left-${process.pid}-${what}`;

async function starter(name: string, what: string, word: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [STARTER, name, stateDir, what], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  starters.push(child);
  let stdout = '';
  for await (const part of child.stdout as AsyncIterable<Buffer>) {
    stdout += part.toString();
    if (stdout.split('\n').includes(word)) return child;
  }
  throw new Error(`the starter of ${name} has ended without '${word}': ${stdout}`);
}

function down(name: string): Record<string, unknown> {
  const { stdout, status } = spawnSync(process.execPath, [CLI, 'down', '--name', name, '--json'], {
    encoding: 'utf8',
    env: { ...process.env, SVCNET_STATE: stateDir },
  });
  expect(status).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

const nothingLeft = (name: string) =>
  eventually('something is left', async () => {
    const left = await leftOf(name);
    return left.length === 0 ? undefined : left.join(', ');
  });

function clusters(): string[] {
  const folder = join(stateDir, 'clusters');
  return existsSync(folder) ? readdirSync(folder) : [];
}

describe('kill -9 of the starter', () => {
  test('leaves a detached cluster, which starts again after its containers were killed, and which down removes completely', async () => {
    const name = nameOf('detached');
    const child = await starter(name, 'detached', 'ready');
    child.kill('SIGKILL');
    expect(await leftOf(name)).toHaveLength(7);
    const before = await Cluster.attach(name, { stateDir });
    const { reference } = await before.node(0).bytes.upload(new Uint8Array(10_000).fill(7));
    await before.synced(reference);
    await before.detach();
    const filters = { label: [`svcnet.name=${name}`] };
    const running = await docker.listContainers({ filters });
    await Promise.all(running.map(({ Id }) => docker.getContainer(Id).kill()));
    const again = await Cluster.startAgain(name, { stateDir });
    expect(again.toJSON()).toMatchObject({
      chain: before.toJSON().chain,
      batches: before.toJSON().batches,
      nodes: before.nodes.map(({ api, p2p, overlay }) => ({ api, p2p, overlay })),
    });
    expect(await again.node(1).bytes.download(reference)).toHaveLength(10_000);
    const later = await again.node(1).bytes.upload(new Uint8Array(10_000).fill(8));
    await again.synced(later.reference);
    await again.detach();
    expect(down(name)).toMatchObject({ clusters: [{ name, stopped: ['node-0', 'node-1'], forced: [] }] });
    expect(await leftOf(name)).toEqual([]);
    expect(clusters()).toEqual([]);
  });

  test('in the middle of a start leaves nothing after down', async () => {
    const name = nameOf('half');
    const child = await starter(name, 'detached', 'container');
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    down(name);
    // What the engine was creating at its client's death appears a moment later, and the next look removes it.
    await eventually('something is left', async () => {
      const left = await leftOf(name);
      if (left.length > 0) down(name);
      return left.length === 0 ? undefined : left.join(', ');
    });
    expect(clusters()).toEqual([]);
  });

  test('also removes an ephemeral cluster', async () => {
    const name = nameOf('ephemeral');
    const child = await starter(name, 'ephemeral', 'ready');
    child.kill('SIGKILL');
    await nothingLeft(name);
    down(name);
    expect(clusters()).toEqual([]);
  });
});

test('a process that ends without stopping its cluster removes it before it is gone', async () => {
  const name = nameOf('exit');
  const child = await starter(name, 'exit', 'ready');
  await new Promise((resolve) => child.once('close', resolve));
  expect(await leftOf(name)).toEqual([]);
  expect(clusters()).toEqual([]);
});
