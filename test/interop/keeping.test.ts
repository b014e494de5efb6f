/**
 * A node keeps content of the other implementation: pins, tags of uploads that the other side stores, chunks over one
 * connection, and stewardship of what the network has lost.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { tarOf } from '../../harness/base/tree.ts';
import { ClientError } from '../../harness/client/errors.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../harness/inspect/ledger/content.ts';
import { bytesOf, sameBytes } from '../cluster/node/kit.ts';
import { eventually, forget, OTHERS, of, ownErrors, startMixed } from './kit.ts';

/** Nodes are stopped and started again. */
const RESTARTS_MS = 400_000;
const SIZE = 40 * 4096 + 1;
const STREAMED = 200;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 84 });
  });
  afterAll(() => net.stop());

  const sides = [
    ['ours', () => of('svc', net) as [ClusterNode, ClusterNode], () => of(side.flavour, net)],
    ['theirs', () => of(side.flavour, net) as [ClusterNode, ClusterNode], () => of('svc', net)],
  ] as const;

  test.each(sides)('a tag of %s counts the chunks that the others store', async (name, nodes) => {
    const [uploader] = nodes();
    const data = bytesOf(`tag ${name}`, SIZE);
    const { chunks } = await expectBytes(data);
    const { uid } = await uploader.tags.create();
    const { reference } = await uploader.bytes.upload(data, { tag: uid, redundancyLevel: 0 });
    await net.synced({ node: uploader.name, tag: uid });
    const tag = await uploader.tags.get(uid);
    expect(tag).toMatchObject({ split: chunks.length, seen: 0, synced: chunks.length, address: reference });
    const again = await uploader.tags.create();
    await uploader.bytes.upload(data, { tag: again.uid, redundancyLevel: 0 });
    await net.synced({ node: uploader.name, tag: again.uid });
    const { split, seen, synced } = await uploader.tags.get(again.uid);
    expect([split, seen + synced]).toEqual([chunks.length, chunks.length]);
  });

  test.each(sides)(
    'chunks streamed to %s are acknowledged one by one, and can be read by the others',
    async (name, nodes, readers) => {
      const [uploader] = nodes();
      const chunksOf = (kind: string) =>
        Array.from({ length: STREAMED }, (_, i) => makeCac(900n, bytesOf(`${kind} ${name} ${i}`, 900)));
      const { uid } = await uploader.tags.create();
      const [direct, tagged] = [chunksOf('direct'), chunksOf('tagged')];
      const dataOf = (chunks: typeof direct) => chunks.map(({ data }) => data);
      expect(await uploader.chunks.stream(dataOf(direct))).toBe(STREAMED);
      expect(await uploader.chunks.stream(dataOf(tagged), { tag: uid })).toBe(STREAMED);
      await net.synced({ node: uploader.name, tag: uid });
      // Without a tag a Bee drops what it acknowledged and has not pushed when the connection ends.
      const kept = uploader.flavour === 'svc' ? [...direct, ...tagged] : tagged;
      for (const reader of readers())
        for (const { address, data } of kept) {
          const seen = await eventually(
            `${reader.name} does not read ${toHex(address)}`,
            () => reader.chunks.download(toHex(address), { cache: false }).catch(notThereYet),
            (chunk) => chunk !== undefined,
          );
          expect(sameBytes(seen as Uint8Array, data)).toBe(true);
        }
    },
    RESTARTS_MS,
  );

  test.each(sides)(
    'content of the others pinned by %s is served without them, and restored when they have lost it',
    async (name, nodes, makers) => {
      const [keeper, companion] = nodes();
      const [maker] = makers() as [ClusterNode];
      const data = bytesOf(`pinned ${name}`, SIZE);
      const tree = [
        { path: 'a.bin', data },
        { path: 'b/c.txt', data: bytesOf(`text ${name}`, 5000) },
      ];
      const archive = await tarOf(tree);
      const direct = { deferred: false };
      const plain = await maker.bytes.upload(data, { ...direct, redundancyLevel: 0 });
      const site = await maker.files.uploadTar(archive, { ...direct, encrypt: true, redundancyLevel: 2 });
      const references = [plain.reference, site.reference];
      for (const reference of references) {
        expect(await keeper.pins.add(reference)).toBe(true);
        expect(await keeper.pins.add(reference)).toBe(false);
        expect(await keeper.pins.check(reference)).toMatchObject({ missing: 0, invalid: 0 });
      }
      expect((await keeper.pins.check(plain.reference)).total).toBe(
        new Set((await expectBytes(data)).chunks).size,
      );
      expect((await keeper.pins.list()).toSorted()).toEqual(references.toSorted());

      const others = net.nodes.filter((node) => node !== keeper);
      for (const node of others) {
        await node.stop();
        forget(node);
      }
      expect(sameBytes(await keeper.bytes.download(plain.reference), data)).toBe(true);
      for (const { path, data: part } of tree)
        expect(sameBytes(await keeper.files.download(site.reference, path), part)).toBe(true);
      for (const node of others) await node.start();
      await net.meshed();
      for (const reference of references)
        await keeper.stewardship.reupload(reference, { batch: keeper.batch ?? '' });
      for (const node of [maker, companion]) {
        for (const reference of references)
          expect([node.name, await node.stewardship.isRetrievable(reference)]).toEqual([node.name, true]);
        expect(sameBytes(await node.bytes.download(plain.reference, { cache: false }), data)).toBe(true);
        for (const { path, data: part } of tree)
          expect(sameBytes(await node.files.download(site.reference, path), part)).toBe(true);
      }
      for (const reference of references) await keeper.pins.delete(reference);
      expect(await keeper.pins.list()).toEqual([]);
    },
    RESTARTS_MS,
  );

  test.each(sides)(
    'content that no node has is reported as not retrievable by %s',
    async (name, nodes) => {
      const { reference } = await expectBytes(bytesOf(`nowhere ${name}`, 5000));
      const [asked] = nodes();
      expect(await asked.stewardship.isRetrievable(reference)).toBe(false);
    },
    RESTARTS_MS,
  );

  test('our nodes have logged no error', async () => {
    expect(await ownErrors(net)).toEqual([]);
  });
});

/** Without the chunk: 404, or 500 from a Bee whose search was cut short. */
function notThereYet(error: unknown): undefined {
  if (error instanceof ClientError && (error.status === 404 || error.status === 500)) return undefined;
  throw error;
}
