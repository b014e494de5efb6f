/**
 * Content is stored on one node and read on another, with as many chunks missing as its level survives, and with one more.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { systemRandom } from '../../../formats/random.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { randomEncryption } from '../../../node/files/encryption.ts';
import type { RedundancyLevel } from '../../../node/files/redundancy/redundancy.ts';
import { split } from '../../../node/files/splitter.ts';
import { ChunkMap, inParts } from '../../unit/files/chunk-map.ts';
import { damage, type Group, groupsOf } from '../../unit/files/damage.ts';
import { bytesOf, eventuallyIn, http, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
let net: Cluster;
const eventually = eventuallyIn(() => net);
let uploader: ClusterNode;
let reader: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({ driver: 'simulated', nodes: 3, seed: 12, stateDir });
  uploader = net.node(0);
  reader = net.node(2);
});
afterAll(async () => {
  await net.stop();
});

const PARALLEL = 8;

interface Made {
  readonly data: Uint8Array;
  readonly reference: string;
  /** The network gets what a test leaves of it. */
  readonly store: ChunkMap;
}

async function made(options: { size: number; level: RedundancyLevel; encrypted: boolean }): Promise<Made> {
  const { size, level, encrypted } = options;
  const data = bytesOf(JSON.stringify(options), size);
  const store = new ChunkMap();
  const encryption = encrypted ? randomEncryption(systemRandom()) : undefined;
  const { reference } = await split(inParts(data, 65_536), store, { level, encryption });
  return { data, reference: toHex(reference), store };
}

async function uploadRest({ store }: Made): Promise<void> {
  const rest = [...store.chunks.values()];
  const next = async (): Promise<void> => {
    for (let chunk = rest.pop(); chunk !== undefined; chunk = rest.pop())
      await uploader.chunks.upload(chunk.data);
  };
  await Promise.all(Array.from({ length: PARALLEL }, next));
}

const NO_CACHE = { 'svc-cache': 'false' };
const CASES = ([1, 2, 3, 4] as const).flatMap((level) => [
  { level, encrypted: false },
  { level, encrypted: true },
]);

describe.each(CASES)('level $level, encrypted: $encrypted', ({ level, encrypted }) => {
  test('a file can be read from every node', async () => {
    const data = bytesOf(`whole ${level} ${encrypted}`, 100_000);
    const options = { redundancyLevel: level, encrypt: encrypted };
    const { reference, tag } = await uploader.bytes.upload(data, options);
    await net.synced({ node: 0, tag: tag ?? 0 });
    for (const node of net.nodes) {
      expect(sameBytes(await node.bytes.download(reference, { cache: false }), data), node.name).toBe(true);
      const head = await http(node, `/bytes/${reference}`, { method: 'HEAD' });
      expect(head.headers['content-length']).toBe(String(data.length));
    }
  });

  test('as many chunks as promised can be missing, and recovered ones are kept', async () => {
    const file = await made({ size: 12 * 4096 + 7, level, encrypted });
    const [group] = groupsOf(Buffer.from(file.reference, 'hex'), file.store);
    const lost = damage(group as Group, file.store, group?.parities.length ?? 0, level);
    await uploadRest(file);
    const seen = await http(reader, `/bytes/${file.reference}`, { headers: NO_CACHE });
    expect(seen.status).toBe(200);
    expect(sameBytes(seen.body, file.data)).toBe(true);
    const recovered = lost.filter((address) => group?.data.includes(address));
    expect(
      await eventually('the recovered chunks are cached', async () => {
        const held = await Promise.all(recovered.map((address) => reader.chunks.has(address)));
        return held.includes(false) ? `only ${held.filter(Boolean).length} of ${held.length}` : undefined;
      }),
    ).toBe(true);
  });

  test('with one more chunk missing the answer is an error', async () => {
    const file = await made({ size: 11 * 4096 + 3, level, encrypted });
    const [group] = groupsOf(Buffer.from(file.reference, 'hex'), file.store);
    for (const address of [...(group?.parities ?? []), ...(group?.data.slice(-1) ?? [])])
      file.store.chunks.delete(address);
    await uploadRest(file);
    const seen = await http(reader, `/bytes/${file.reference}`, { headers: NO_CACHE });
    expect([seen.status, seen.json['message']]).toEqual([500, 'joiner failed']);
  });

  test('the root can be missing too, while one of its replicas is left', async () => {
    const file = await made({ size: 3 * 4096, level, encrypted });
    const replicas = [...file.store.chunks.values()].filter(({ kind }: Chunk) => kind === 'soc');
    expect(replicas).toHaveLength(2 ** level);
    for (const { address } of replicas.slice(1)) file.store.chunks.delete(toHex(address));
    file.store.chunks.delete(file.reference.slice(0, 64));
    await uploadRest(file);
    const without = await http(reader, `/bytes/${file.reference}`, {
      headers: { ...NO_CACHE, 'svc-redundancy-level': '0' },
    });
    expect(without.status).toBe(404);
    expect(sameBytes(await reader.bytes.download(file.reference, { cache: false }), file.data)).toBe(true);
  });
});

test('a directory with redundancy can be read path by path on every node', async () => {
  const data = bytesOf('page', 30_000);
  const { reference } = await uploader.files.upload(data, {
    name: 'a/page.html',
    contentType: 'text/html',
    redundancyLevel: 2,
    encrypt: true,
  });
  await net.synced(reference);
  for (const node of net.nodes) {
    expect(sameBytes(await node.files.download(reference, 'a/page.html'), data)).toBe(true);
    expect(sameBytes(await node.files.download(reference), data)).toBe(true);
  }
});

test.each([
  ['0', 'false', 500],
  ['0', 'true', 200],
  ['1', 'false', 500],
  ['1', 'true', 200],
  ['2', 'true', 200],
  ['3', 'false', 200],
])(
  'strategy %s with fallback %s answers %i when the first chunk is missing',
  async (strategy, fallback, status) => {
    const file = await made({
      size: 8 * 4096 + Number(strategy),
      level: fallback === 'true' ? 2 : 1,
      encrypted: false,
    });
    const [group] = groupsOf(Buffer.from(file.reference, 'hex'), file.store);
    file.store.chunks.delete(group?.data[0] ?? '');
    await uploadRest(file);
    const seen = await http(net.node(1), `/bytes/${file.reference}`, {
      headers: {
        ...NO_CACHE,
        'svc-redundancy-strategy': strategy,
        'svc-redundancy-fallback-mode': fallback,
        'svc-chunk-retrieval-timeout': '10s',
      },
    });
    expect(seen.status).toBe(status);
    if (status === 200) expect(sameBytes(seen.body, file.data)).toBe(true);
  },
);
