import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ClientError } from '../../../harness/client/errors.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { freeRange } from '../node/kit.ts';
import type { Left } from './cluster-process.ts';

const folder = temporaryFolder('svcnet-embedded');
const stateDir = join(folder, 'state');

const MIB = 2 ** 20;
const TIMES = 10;
/** The first ones compile code and fill caches of the runtime. */
const SETTLED_AFTER = 3;
/** One chunk store, or one node, is more than this. */
const HEAP_GROWTH_MAX = 3 * MIB;

test(`a cluster that is started and stopped ${TIMES} times leaves nothing in its process`, async () => {
  const program = join(import.meta.dirname, 'cluster-process.ts');
  const args = ['--expose-gc', program, join(folder, 'left'), String(TIMES)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const seen = JSON.parse(stdout) as Left[];
  expect(seen).toHaveLength(TIMES + 1);
  const [before] = seen;
  for (const { resources, listeners } of seen) {
    expect({ resources, listeners }).toEqual({ resources: before?.resources, listeners: before?.listeners });
  }
  const heap = seen.map(({ heapBytes }) => heapBytes);
  const growth = (heap[TIMES] ?? Infinity) - (heap[SETTLED_AFTER] ?? 0);
  expect(growth, heap.map((bytes) => (bytes / MIB).toFixed(1)).join(', ')).toBeLessThan(HEAP_GROWTH_MAX);
});

describe('two clusters of one process with the same seed', () => {
  const peersOf = async (net: Cluster) =>
    Promise.all(net.nodes.map(async ({ client }) => (await client.peers()).map(({ address }) => address)));

  test('are the same network twice, without any contact', async () => {
    const start = () => Cluster.start({ driver: 'embedded', nodes: 2, seed: 11, stateDir });
    const [one, other] = await Promise.all([start(), start()]);
    await using first = one;
    await using second = other;
    expect(first.nodes.map(({ overlay }) => overlay)).toEqual(second.nodes.map(({ overlay }) => overlay));
    const apis = [first, second].flatMap(({ nodes }) => nodes.map(({ api }) => api));
    expect(new Set(apis).size).toBe(4);

    const data = new Uint8Array(100_000).map((_, i) => i >> 8);
    const { reference } = await first.node(0).bytes.upload(data);
    await first.synced(reference);
    expect(await first.node(1).bytes.download(reference)).toEqual(data);
    const absent = await second
      .node(1)
      .bytes.download(reference)
      .catch((error: unknown) => error);
    expect(absent).toBeInstanceOf(ClientError);
    expect((absent as ClientError).status).toBe(404);

    const before = await peersOf(second);
    await first.node(1).kill();
    expect(await peersOf(second)).toEqual(before);
    await first.node(0).pause();
    expect((await second.node(0).client.health()).status).toBe('ok');
    expect(second.node(1).state).toBe('running');
    await first.stop();
    expect(await second.meshed()).toEqual({ links: 2, expected: 2 });
    const later = await second.node(0).bytes.upload(data);
    await second.synced(later.reference);
    expect(await second.node(1).bytes.download(later.reference)).toEqual(data);
  });

  test('cannot have the same ports: the second is refused, and the first keeps running', async () => {
    const ports = await freeRange();
    const start = () =>
      Cluster.start({ driver: 'embedded', nodes: 2, seed: 11, ports, batches: false, stateDir });
    await using first = await start();
    await expect(start()).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: expect.stringContaining(
        `port ${ports + 9} of 127.0.0.1 is in use: the RPC endpoint of the chain wants it, process `,
      ) as string,
    });
    expect(first.node(0).api).toBe(`http://127.0.0.1:${ports}`);
    expect(await first.meshed()).toEqual({ links: 2, expected: 2 });
  });
});
