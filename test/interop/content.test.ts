import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { seededRandom } from '../../formats/random.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../harness/inspect/ledger/content.ts';
import { PlacementWatch } from '../../harness/inspect/ledger/placement.ts';
import { until } from '../../harness/scenario.ts';
import { atMost } from '../../node/env/turns/at-most.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  describeOthers,
  errorsInLogs,
  eventually,
  expectMixedPasses,
  forget,
  mode,
  OTHERS,
  of,
  startMixed,
} from './kit.ts';

const CHUNKS = 500;
const MEBIBYTES = Number(process.env['SVCNET_MEBIBYTES'] ?? 16);
const LARGE = MEBIBYTES * 2 ** 20;
/** Credit is the public network's: some seventy chunks a second with five peers. */
const LARGE_TIMEOUT_MS = 1_200_000;
/** A fresh node pulls hundreds of chunks a second; a look at all takes a minute on a loaded machine. */
const STALLED_MS = 300_000;
/** There are 9,000 chunks, and of 64 MiB 34,000. */
const PLACED_TIMEOUT_MS = 1_200_000;
const AT_ONCE = 8;

function chunksOf(stream: string, count: number): { address: string; data: Uint8Array }[] {
  const random = seededRandom('interop', stream);
  return Array.from({ length: count }, () => {
    const payload = random.bytes(1 + random.below(4096));
    const { address, data } = makeCac(BigInt(payload.length), payload);
    return { address: toHex(address), data };
  });
}

/** However long that takes while more and more arrive. */
async function placed(chunks: readonly string[], nodes: readonly ClusterNode[]): Promise<void> {
  const full = nodes.filter(({ mode, running }) => running && mode === 'full');
  const watch = new PlacementWatch(chunks, full);
  for (let before = -1; watch.placed.length > before; ) {
    before = watch.placed.length;
    const seen = await until('chunks are not where they belong', (signal) => watch.probe(signal), {
      timeoutMs: STALLED_MS,
    }).catch((error: unknown) => error as Error);
    if (!(seen instanceof Error)) return;
    if (watch.placed.length === before) throw seen;
  }
}

const digest = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let ours: ClusterNode;
  let theirs: ClusterNode;
  /** Everything that was uploaded so far. */
  const known: string[] = [];
  beforeAll(async () => {
    net = await startMixed({ side, seed: 21 });
    [ours, theirs] = [of('svc', net)[0] as ClusterNode, of(side.flavour, net)[0] as ClusterNode];
  });
  afterAll(() => net.stop());

  test('peers exchange their status, in both directions', async () => {
    for (const node of net.nodes) {
      const records = await eventually(
        `${node.name} has no status of some peer`,
        () => node.client.peerStatuses(),
        (seen) => seen.length === net.nodes.length - 1 && seen.every((peer) => peer.requestFailed !== true),
      );
      const others = net.nodes.filter((other) => other !== node).map(({ overlay }) => overlay);
      expect(records.map(({ overlay }) => overlay).toSorted()).toEqual(others.toSorted());
      for (const { connectedPeers, storageRadius } of records) {
        expect({ connectedPeers, storageRadius }).toEqual({ connectedPeers: 5, storageRadius: 0 });
      }
    }
  });

  test('chunks uploaded on either side can be read from every node, and are stored by every node responsible', async () => {
    for (const uploader of [ours, theirs]) {
      const chunks = chunksOf(uploader.flavour, CHUNKS);
      await atMost(
        AT_ONCE,
        chunks.map(({ address, data }) => async () => {
          expect((await uploader.chunks.upload(data)).reference).toBe(address);
        }),
      );
      const readers = net.nodes.filter((node) => node !== uploader);
      for (const reader of readers) {
        await atMost(
          AT_ONCE,
          chunks.map(({ address, data }) => async () => {
            const seen = await reader.chunks.download(address);
            expect(`${reader.name} ${address} ${digest(seen)}`).toBe(
              `${reader.name} ${address} ${digest(data)}`,
            );
          }),
        );
      }
      const addresses = chunks.map(({ address }) => address);
      await placed(addresses, net.nodes);
      known.push(...addresses);
    }
  });

  test(
    `${MEBIBYTES} MiB are transferred in each direction, byte for byte`,
    async () => {
      const uploads = [ours, theirs].map(async (uploader) => {
        const data = seededRandom('interop', `large ${uploader.flavour}`).bytes(LARGE);
        const expected = await expectBytes(data);
        const { reference } = await uploader.bytes.upload(data, { redundancyLevel: 0 });
        expect(reference).toBe(expected.reference);
        await net.synced(reference, { timeoutMs: LARGE_TIMEOUT_MS });
        known.push(...expected.chunks);
        return { uploader, reference, data };
      });
      for (const { uploader, reference, data } of await Promise.all(uploads)) {
        for (const reader of net.nodes.filter(({ flavour }) => flavour !== uploader.flavour)) {
          const seen = await reader.bytes.download(reference, { timeoutMs: LARGE_TIMEOUT_MS });
          expect(`${reader.name} ${digest(seen)}`).toBe(`${reader.name} ${digest(data)}`);
        }
      }
    },
    2 * LARGE_TIMEOUT_MS,
  );

  test(
    'a node that joins late has the same reserve as all others, of either kind',
    async () => {
      await placed(known, net.nodes);
      for (const late of [of(side.flavour, net).at(-1), of('svc', net).at(-1)]) {
        if (late === undefined) throw new Error('a mixed cluster has both');
        await late.stop();
        forget(late);
        await late.start();
        expect((await late.client.addresses()).overlay).toBe(late.overlay);
        await net.meshed();
        await placed(known, [late]);
        // The known chunks that it holds must be its whole reserve.
        const reserves = () =>
          Promise.all(net.nodes.map(async ({ client }) => (await client.status()).reserveSize));
        await eventually('reserves differ', reserves, (sizes) =>
          sizes.every((size) => size === new Set(known).size),
        );
      }
    },
    3 * PLACED_TIMEOUT_MS,
  );

  test('no log has an error, and no node refuses a peer', async () => {
    expect(await errorsInLogs(net)).toEqual([]);
    for (const node of net.nodes) expect(await node.client.blocklist()).toEqual([]);
  });
});

describeOthers(mode('light'), 'a light $title', (side) => {
  test('uploads through our nodes and reads what they store', async () => {
    await using net = await startMixed({ side, own: 3, others: 0, lightOthers: 1, seed: 22 });
    const light = net.nodes.find(({ mode }) => mode === 'light') as ClusterNode;
    const ours = net.node(0);
    expect((await light.client.node()).mode).toBe('light');
    for (const [from, to] of [
      [light, ours],
      [ours, light],
    ] as const) {
      const data = seededRandom('interop', `light ${from.name}`).bytes(50_000);
      const { reference } = await from.bytes.upload(data, { redundancyLevel: 0 });
      await net.synced(reference);
      expect(digest(await to.bytes.download(reference))).toBe(digest(data));
    }
    const { chunks } = await expectBytes(seededRandom('interop', `light ${light.name}`).bytes(50_000));
    await placed(chunks, net.nodes);
    expect(await errorsInLogs(net)).toEqual([]);
  });
});

const LIGHT = OTHERS.filter((side) => mode('light')(side) === undefined);
/** Two of each program, and all that can be light together, with light nodes of either kind. */
const CLUSTERS = [
  ...OTHERS.map(({ name, group, flavours }) => ({
    name,
    flavours,
    nodes: [{ count: 4 }, { ...group, count: 2 }],
  })),
  {
    name: `${LIGHT.map(({ name }) => name).join(', ')} and light nodes`,
    flavours: [...new Map(LIGHT.flatMap(({ flavours }) => flavours).map((one) => [one.name, one])).values()],
    nodes: [
      { count: 3 },
      { mode: 'light' as const },
      ...LIGHT.flatMap(({ group }) => [group, { ...group, mode: 'light' as const }]),
    ],
  },
];

describe.each(CLUSTERS)('the scenario mixed with $name', ({ nodes, flavours }) => {
  const folder = temporaryFolder('svcnet-interop');
  test('passes', async () => {
    await expectMixedPasses({
      nodes,
      definition: { flavours },
      sizes: '1,4096,4097,1MiB',
      seed: 23n,
      folder,
    });
  });
});
