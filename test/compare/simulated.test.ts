/**
 * An upload must cost the same on simulated nodes and in real time, with the same seed. On a busy machine receipts come late
 * in real time, and nodes push again: it runs alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import { type Random, seededRandom } from '../../formats/random.ts';
import { until } from '../../harness/base/wait.ts';
import { Cluster } from '../../harness/index.ts';
import { parseExposition } from '../../harness/metrics/exposition.ts';

const NODES = 5;
const SIZE = 2 ** 20;
/** Leaves, and three that join them. */
const CHUNKS = 259;
/** For nodes in real time: on a slow machine some chunks are pushed and pulled, or pulled instead. */
const TOLERANCE = 0.05;
/** Nothing is sent for so long. */
const REST_MS = 1000;

const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-compared-'));
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

/** @param labels that a sample must have */
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

function bytesOf(net: Cluster, protocol: string): Promise<number> {
  return total(net, 'svc_libp2p_protocol_bytes_total', { protocol, direction: 'sent' });
}

async function bytesIn(net: Cluster): Promise<number> {
  return (await bytesOf(net, 'pushsync')) + (await bytesOf(net, 'pullsync'));
}

/**
 * Waits until every node has every chunk (at radius 0 all are neighbours) and for a moment longer, while nodes offer each
 * other what they have.
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

/** First bits of the overlays: these links are the only way to a chunk. */
const NEIGHBOURHOODS = ['000', '010', '100', '110', '111'];
const LINKS = [
  ['node-0', 'node-2'],
  ['node-1', 'node-2'],
  ['node-2', 'node-3'],
  ['node-3', 'node-4'],
] as const;
/** Little enough that forwarders, who pay by time alone, may owe all of it. */
const FAR_CHUNKS = 20;
const READS = 4;
/** Enough for cheques. */
const NEAR_CHUNKS = 100;
/** Time settles a few thousandths of the debts, even on a slow machine. */
const REFRESH_RATE = 1000;
/** Others follow time: status, pseudosettle, pingpong. */
const PROTOCOLS = ['pushsync', 'retrieval', 'swap', 'hive'] as const;

/** It begins with these two bits. */
function chunkOf(bits: number, random: Random): Uint8Array {
  for (;;) {
    const { address, data } = makeCac(4096n, random.bytes(4096));
    if ((address[0] ?? 0) >> 6 === bits) return data;
  }
}

async function traded(driver: 'simulated' | 'process'): Promise<Readonly<Record<string, number>>> {
  const options = { 'refresh-rate': REFRESH_RATE, 'minimum-storage-radius': 2 };
  const nodes = [{ count: NODES, neighbourhoods: NEIGHBOURHOODS, options }];
  const topology = { links: LINKS };
  const definition = { seed: 7, driver, nodes, topology, credit: 'low' } as const;
  await using net = await Cluster.start({ ...definition, stateDir, name: `trade-${driver}` });
  const random = seededRandom('traded');
  const upload = async (bits: number) => {
    const { reference } = await net.node(0).chunks.upload(chunkOf(bits, random));
    await net.synced(reference);
    return reference;
  };
  const far: string[] = [];
  for (let n = 0; n < FAR_CHUNKS; n++) far.push(await upload(0b11));
  for (let n = 0; n < NEAR_CHUNKS; n++) await upload(0b10);
  for (const reference of far.slice(0, READS)) await net.node(1).chunks.download(reference);
  await net.settled();
  const bytes = PROTOCOLS.map(async (name) => [`bytes of ${name}`, await bytesOf(net, name)] as const);
  return {
    ...Object.fromEntries(await Promise.all(bytes)),
    'hops of pushes': await total(net, 'svc_pushsync_total_sent'),
    'forwarded pushes': await total(net, 'svc_pushsync_forwarder'),
    'hops of reads': await total(net, 'svc_retrieval_total_retrieved'),
    // Peers that come at one moment travel in one message.
    'gossiped records': await total(net, 'svc_hive_broadcast_peers_peer_count'),
    cheques: await total(net, 'svc_swap_cheques_sent'),
    'paid by cheques': await total(net, 'svc_swap_total_sent'),
  };
}

test('hops, gossip, cheques and bytes per protocol of a load are those of nodes in real time', async () => {
  const simulated = await traded('simulated');
  expect(simulated).toMatchObject({
    'hops of pushes': NEAR_CHUNKS + 2 * FAR_CHUNKS,
    'forwarded pushes': FAR_CHUNKS,
    'hops of reads': 2 * READS,
    'gossiped records': 8,
  });
  expect(simulated['cheques']).toBeGreaterThan(5);
  const real = await traded('process');
  const apart = Object.entries(simulated).filter(
    ([name, value]) => !(Math.abs((real[name] ?? 0) / value - 1) < TOLERANCE),
  );
  expect(apart, JSON.stringify({ simulated, real })).toEqual([]);
});
