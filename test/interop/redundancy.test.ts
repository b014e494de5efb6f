/**
 * Both sides make the same references, parities and replicas, and read the other's content as long as its level promises it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { tarOf } from '../../harness/base/tree.ts';
import { ClientError } from '../../harness/client/errors.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import {
  expectBytes,
  expectFile,
  expectForm,
  expectTar,
  formOf,
} from '../../harness/inspect/ledger/content.ts';
import type { RedundancyLevel } from '../../node/files/redundancy/redundancy.ts';
import { replicasOf } from '../../node/files/redundancy/replicas.ts';
import { bytesOf, http, sameBytes } from '../cluster/node/kit.ts';
import type { ChunkMap } from '../unit/files/chunk-map.ts';
import { damage, type Group, groupsOf } from '../unit/files/damage.ts';
import { OTHERS, of, ownErrors, startMixed } from './kit.ts';
import { treeFrom, uploadRest } from './trees.ts';

const LEVELS = [1, 2, 3, 4] as const;
/** A Bee asks for each chunk, and for all that could replace it, until all peers have answered. */
const LOST_MS = 300_000;
/** Credit is the public network's. */
const SLOW_MS = 300_000;

/** A run of thirteen leaves. */
const SIZE = 12 * 4096 + 7;
const SIZES: Readonly<Record<(typeof LEVELS)[number], readonly number[]>> = {
  1: [1, 4097, SIZE, 120 * 4096],
  2: [1, 4097, SIZE, 108 * 4096],
  3: [1, 4097, SIZE, 98 * 4096],
  4: [1, 4097, SIZE, 40 * 4096],
};

const CASES = LEVELS.flatMap((level) =>
  [false, true].flatMap((encrypted) =>
    (['ours', 'theirs'] as const).map((maker) => ({ level, encrypted, maker })),
  ),
);

describe.each(OTHERS)('$title', (side) => {
  let [net, rest] = [] as unknown as [Cluster, Cluster];
  const sides = () => ({
    ours: [of('svc', net)[0], of('svc', rest)[0]] as [ClusterNode, ClusterNode],
    theirs: [of(side.flavour, net)[0], of(side.flavour, rest)[0]] as [ClusterNode, ClusterNode],
  });
  const other = (maker: 'ours' | 'theirs') => (maker === 'ours' ? 'theirs' : 'ours');
  beforeAll(async () => {
    [net, rest] = await Promise.all([
      startMixed({ side, own: 2, others: 2, seed: 81 }),
      startMixed({ side, own: 1, others: 1, seed: 82 }),
    ]);
  });
  afterAll(() => Promise.all([net.stop(), rest.stop()]));

  test.each(LEVELS)(
    'level %i: equal bytes have the same reference, whichever node stores them',
    async (level) => {
      for (const size of SIZES[level]) {
        const data = bytesOf(`equal ${level} ${size}`, size);
        const { reference: expected } = await expectBytes(data, { level });
        for (const [name, [maker]] of Object.entries(sides())) {
          const { reference } = await maker.bytes.upload(data, { redundancyLevel: level });
          expect([name, size, reference]).toEqual([name, size, expected]);
        }
      }
    },
    SLOW_MS,
  );

  test.each(LEVELS)(
    'level %i: equal files, archives and forms have the same reference',
    async (level) => {
      const about = { name: 'page.html', contentType: 'text/html; charset=utf-8' };
      const page = bytesOf(`page ${level}`, 9000);
      const tree = [
        { path: 'index.html', data: page },
        { path: 'a/deep/folder/image.png', data: bytesOf(`image ${level}`, 40_000) },
      ];
      const [archive, form] = [await tarOf(tree), formOf(tree)];
      const documents = { indexDocument: 'index.html' };
      const expected = [
        await expectFile(page, about, { level }),
        await expectTar(archive, documents, { level }),
        await expectForm(form, { level }),
      ].map(({ reference }) => reference);
      const options = { redundancyLevel: level };
      for (const [name, [maker]] of Object.entries(sides())) {
        const uploaded = [
          await maker.files.upload(page, { ...options, ...about }),
          await maker.files.uploadTar(archive, { ...options, ...documents }),
          await maker.files.uploadForm(form, options),
        ];
        expect([name, uploaded.map(({ reference }) => reference)]).toEqual([name, expected]);
      }
    },
    SLOW_MS,
  );

  interface Case {
    readonly level: RedundancyLevel;
    readonly encrypted: boolean;
    readonly maker: 'ours' | 'theirs';
  }

  /** The other side must read every chunk. */
  async function made(what: string, { level, encrypted, maker }: Case) {
    const data = bytesOf(`${what} ${level} ${encrypted} ${maker}`, SIZE);
    const options = { deferred: false, encrypt: encrypted, redundancyLevel: level };
    const { reference } = await sides()[maker][0].bytes.upload(data, options);
    const [reader] = sides()[other(maker)];
    return { data, reference, store: await treeFrom(reader, reference, level) };
  }

  /** By the other side's node in the other network. */
  async function recovered(
    { reference, store }: { reference: string; store: ChunkMap },
    { maker }: Case,
  ): Promise<Uint8Array | string> {
    const [, uploader] = sides()[maker];
    const [, reader] = sides()[other(maker)];
    await uploadRest(uploader, store);
    try {
      return await reader.bytes.download(reference, { cache: false, timeoutMs: LOST_MS });
    } catch (error) {
      if (error instanceof ClientError) return error.class;
      throw error;
    }
  }

  test.each(CASES)(
    'level $level, encrypted: $encrypted, made by $maker: every chunk is served, and as many may be missing as promised',
    async (how) => {
      const file = await made('within', how);
      const [group] = groupsOf(fromHex(file.reference), file.store) as [Group];
      if (!how.encrypted) {
        const expected = await expectBytes(file.data, { level: how.level });
        expect([...file.store.chunks.keys()].toSorted()).toEqual(expected.chunks.toSorted());
      }
      damage(group, file.store, group.parities.length, how.level);
      const seen = await recovered(file, how);
      expect(seen instanceof Uint8Array && sameBytes(seen, file.data), String(seen).slice(0, 40)).toBe(true);
    },
    SLOW_MS,
  );

  test.each(CASES)(
    'level $level, encrypted: $encrypted, made by $maker: with one more missing no node serves the whole',
    async (how) => {
      const file = await made('beyond', how);
      const [{ data, parities }] = groupsOf(fromHex(file.reference), file.store) as [Group];
      for (const address of [...parities, ...data.slice(-1)]) file.store.chunks.delete(address);
      expect(await recovered(file, how)).toEqual(expect.any(String));
    },
    SLOW_MS + LOST_MS,
  );

  test.each(CASES)(
    'level $level, encrypted: $encrypted, made by $maker: one replica stands in for the root',
    async (how) => {
      const file = await made('replicas', how);
      const root = file.reference.slice(0, 64);
      const replicas = replicasOf(fromHex(root), how.level);
      expect(replicas).toHaveLength(2 ** how.level);
      for (const { address } of replicas.slice(0, -1)) file.store.chunks.delete(toHex(address));
      file.store.chunks.delete(root);
      const seen = await recovered(file, how);
      expect(seen instanceof Uint8Array && sameBytes(seen, file.data), String(seen).slice(0, 40)).toBe(true);
    },
    SLOW_MS,
  );

  test.each(['ours', 'theirs'] as const)(
    'without replicas %s cannot find a lost root',
    async (maker) => {
      const how = { level: 1, encrypted: false, maker } as const;
      const file = await made('no replicas', how);
      file.store.chunks.delete(file.reference);
      const [, uploader] = sides()[maker];
      const [, reader] = sides()[other(maker)];
      await uploadRest(uploader, file.store);
      const headers = { [`${reader.client.dialect.headerPrefix}redundancy-level`]: '0' };
      expect((await http(reader, `/bytes/${file.reference}`, { headers })).status).toBe(404);
    },
    SLOW_MS,
  );

  test('our nodes have logged no error', async () => {
    for (const cluster of [net, rest]) expect(await ownErrors(cluster)).toEqual([]);
  });
});
