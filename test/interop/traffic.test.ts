/**
 * At the public network's credit limits every node uploads and reads; none may complain, break off a stream or block a peer.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { isOurs } from '../../harness/flavours/flavour.ts';
import { type SeededRandom } from '../../harness/run/scenario.ts';
import { errorsInLogs, OTHERS, option } from './kit.ts';

/** `SVCNET_TRAFFIC_MINUTES=10` for a long run. */
const MINUTES = Number(process.env['SVCNET_TRAFFIC_MINUTES'] ?? '1');
const TRAFFIC_MS = MINUTES * 60_000;
/** Credit allows about 14 chunks a second on a link: such files keep links busy without waiting. */
const SIZE_MAX = 120_000;
const READERS = 2;
const GRACE_MS = 300_000;
/** Either implementation logs it at debug. */
const BROKEN_STREAM = /"handle protocol failed"|stream failed/;
/**
 * It says that a chunk has not arrived yet. A Bee logs its own as a failure, and resets the stream when it gets one, which
 * our side then logs.
 */
const ANSWERED =
  /retrieve chunk: (no peer found|storage: not found)|"code":"STREAM_RESET".*\/swarm\/retrieval\//;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    const options = { verbosity: 'debug' } as const;
    net = await Cluster.start({
      seed: 21,
      flavours: side.flavours,
      nodes: [
        { flavour: 'svc', count: 4, options },
        { ...side.group, count: 2, ...(option('verbosity')(side) === undefined && { options }) },
      ],
    });
  });
  afterAll(() => net.stop());

  test(
    `${MINUTES} min of files in all directions arrive byte for byte`,
    async () => {
      const random = seededRandom(`traffic ${net.seed}`);
      const end = Date.now() + TRAFFIC_MS;
      let files = 0;
      for (; Date.now() < end; files++) await exchange(net, random, files);
      expect(files).toBeGreaterThan(0);
    },
    TRAFFIC_MS + GRACE_MS,
  );

  test('no node has blocked another, and all are still connected', async () => {
    for (const node of net.nodes) expect(await node.client.blocklist()).toEqual([]);
    expect(await net.meshed()).toEqual({ links: 30, expected: 30 });
  });

  test('no stream between the two implementations broke, and no log has an error', async () => {
    expect(await errorsInLogs(net)).toEqual([]);
    expect(net.nodes.flatMap((node) => brokenStreams(node, others(net, node)))).toEqual([]);
  });
});

async function exchange(net: Cluster, random: SeededRandom, turn: number): Promise<void> {
  const data = random.bytes(1 + random.below(SIZE_MAX));
  const uploader = net.node(turn % net.nodes.length);
  const { reference } = await uploader.bytes.upload(data, { redundancyLevel: 0 });
  await net.synced(reference);
  const readers = [true, false]
    .map((own) => net.nodes.filter((node) => isOurs(node) === own && node !== uploader))
    .map((nodes) => nodes[turn % nodes.length] as ClusterNode);
  expect(readers).toHaveLength(READERS);
  for (const reader of readers) {
    const read = await reader.bytes.download(reference, { cache: false });
    if (Buffer.compare(read, data) !== 0)
      throw new Error(`${reader.name} served other bytes of ${reference}`);
  }
}

function others({ nodes }: Cluster, node: ClusterNode): ClusterNode[] {
  return nodes.filter(({ flavour }) => flavour !== node.flavour);
}

function brokenStreams(node: ClusterNode, peers: readonly ClusterNode[]): string[] {
  const overlays = peers.map(({ overlay }) => overlay);
  const lines = readFileSync(node.log, 'utf8')
    .split('\n')
    .filter((line) => BROKEN_STREAM.test(line) && !ANSWERED.test(line))
    .filter((line) => overlays.some((overlay) => line.includes(overlay)));
  const kinds = Map.groupBy(lines, (line) => line.replaceAll(/[0-9a-f]{64}|\d{4,}\S*/g, '…'));
  return [...kinds].map(([kind, { length }]) => `${node.name}: ${length} times ${kind}`);
}
