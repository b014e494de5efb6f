/**
 * What an upload costs on simulated nodes is what it costs on nodes in real time, with the same seed. On a busy machine
 * receipts come late there, and nodes push again: it runs alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { seededRandom } from '../../formats/random.ts';
import { until } from '../../harness/base/wait.ts';
import { Cluster } from '../../harness/index.ts';
import { parseExposition } from '../../harness/metrics/exposition.ts';

const NODES = 5;
const SIZE = 2 ** 20;
/** Of an upload of that size: its leaves, and three that join them. */
const CHUNKS = 259;
/** Share by which nodes in real time may differ: on a slow machine some chunks are pushed and pulled, or pulled instead. */
const TOLERANCE = 0.05;
/** Nothing is sent for so long. */
const REST_MS = 1000;

const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-compared-'));
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

/** Sum over all nodes. @param labels that a sample must have */
async function total(
  { nodes }: Cluster,
  metric: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const texts = await Promise.all(nodes.map(({ client }) => client.metrics()));
  return texts
    .flatMap((text) => parseExposition(text).samples)
    .filter(({ name }) => name === metric)
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

async function copiesIn(net: Cluster): Promise<number> {
  return (await total(net, 'svc_pushsync_storer')) + (await total(net, 'svc_pullsync_chunks_delivered'));
}

async function bytesIn(net: Cluster): Promise<number> {
  const of = (protocol: string) =>
    total(net, 'svc_libp2p_protocol_bytes_total', { protocol, direction: 'sent' });
  return (await of('pushsync')) + (await of('pullsync'));
}

/**
 * Uploads, and waits until every node has every chunk (at radius 0 all are neighbours) and nodes have stopped offering
 * each other what they have: they do so for a moment after the last copy.
 */
async function uploaded(driver: 'simulated' | 'process') {
  await using net = await Cluster.start({ nodes: NODES, seed: 7, driver, stateDir, name: driver });
  const before = await bytesIn(net);
  const { reference } = await net.node(0).bytes.upload(seededRandom('compared').bytes(SIZE));
  await net.synced(reference);
  const wanted = CHUNKS * (NODES - 1);
  await until(
    'the nodes are not at rest',
    async () => {
      const bytes = await bytesIn(net);
      await net.clock.sleep(REST_MS);
      const copies = await copiesIn(net);
      if (copies < wanted) return { missing: `${copies} of ${wanted} copies` };
      return bytes === (await bytesIn(net)) ? { done: true } : { missing: 'they offer each other chunks' };
    },
    { clock: net.clock, timeoutMs: 50_000 },
  );
  return {
    copies: await copiesIn(net),
    forwarded: await total(net, 'svc_pushsync_forwarder'),
    gossip: await total(net, 'svc_hive_broadcast_peers_count'),
    bytes: (await bytesIn(net)) - before,
  };
}

test('copies and bytes of an upload are nearly those of nodes in real time, hops and gossip the same', async () => {
  const { copies, bytes, ...counts } = await uploaded('simulated');
  const real = await uploaded('process');
  expect(copies).toBe(CHUNKS * (NODES - 1));
  expect(counts).toEqual({ forwarded: 0, gossip: 0 });
  expect(real).toMatchObject(counts);
  expect(Math.abs(real.copies / copies - 1)).toBeLessThan(TOLERANCE);
  expect(Math.abs(real.bytes / bytes - 1)).toBeLessThan(TOLERANCE);
});
