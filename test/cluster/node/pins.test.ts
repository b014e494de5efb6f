import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import { bytesOf, eventuallyIn, heldBy, http, sameBytes, stateFolder } from './kit.ts';

const CACHE = 30;
const SIZE = 60 * 4096 + 1;

const stateDir = stateFolder();
let net: Cluster;
const eventually = eventuallyIn(() => net);
let uploader: ClusterNode;
let keeper: ClusterNode;

interface Content {
  readonly data: Uint8Array;
  readonly reference: string;
  readonly chunks: readonly string[];
}
let pinned: Content;
let loose: Content;

async function uploaded(name: string): Promise<Content> {
  const data = bytesOf(name, SIZE);
  const { reference, tag } = await uploader.bytes.upload(data);
  await net.synced({ node: 0, tag: tag ?? 0 });
  return { data, reference, chunks: (await expectBytes(data)).chunks };
}

beforeAll(async () => {
  net = await Cluster.start({
    nodes: [{ count: 2 }, { count: 1, mode: 'light', options: { 'cache-capacity': CACHE } }],
    driver: 'simulated',
    seed: 31,
    stateDir,
  });
  uploader = net.node(0);
  keeper = net.node(2);
  pinned = await uploaded('pinned');
  loose = await uploaded('loose');
});
afterAll(async () => {
  await net.stop();
});

const fullNodes = () => [net.node(0), net.node(1)];

test('chunks sent over one connection are acknowledged and can be read on another node', async () => {
  const chunks = Array.from({ length: 300 }, (_, i) => makeCac(1000n, bytesOf(`streamed ${i}`, 1000)));
  expect(await uploader.chunks.stream(chunks.map(({ data }) => data))).toBe(300);
  const reader = net.node(1);
  for (const { address, data } of chunks) {
    expect(
      await eventually('the chunk is pushed', async () => {
        const { status } = await http(reader, `/chunks/${toHex(address)}`, {
          headers: { 'svc-cache': 'false' },
        });
        return status === 200 ? undefined : `status ${status}`;
      }),
    ).toBe(true);
    expect(sameBytes(await reader.chunks.download(toHex(address), { cache: false }), data)).toBe(true);
  }
});

test('with a tag they are counted, and are pushed when the connection ends', async () => {
  const chunks = Array.from({ length: 100 }, (_, i) => makeCac(100n, bytesOf(`tagged ${i}`, 100)).data);
  const { uid } = await uploader.tags.create();
  expect(await uploader.chunks.stream([...chunks, ...chunks.slice(0, 5)], { tag: uid })).toBe(105);
  await eventually('the tag is complete', async () => {
    const { split, seen, synced } = await uploader.tags.get(uid);
    return split === 105 && seen === 5 && synced === 100 ? undefined : `${split} ${seen} ${synced}`;
  });
});

test('a stream with an unknown batch is refused like an upload', async () => {
  const stream = uploader.chunks.stream([new Uint8Array(10)], { batch: 'ab'.repeat(32) });
  await expect(stream).rejects.toMatchObject({ class: 'stamp.unknown', status: 404 });
});

test('pinned content outlives the cache', async () => {
  expect(await keeper.pins.add(pinned.reference)).toBe(true);
  expect(await keeper.pins.add(pinned.reference)).toBe(false);
  expect(sameBytes(await keeper.bytes.download(loose.reference), loose.data)).toBe(true);
  const other = await uploaded('other');
  await keeper.bytes.download(other.reference);
  await eventually('the cache has forgotten', async () => {
    const held = await heldBy([keeper], loose.chunks);
    return held.length < loose.chunks.length - CACHE / 2 ? undefined : `${held.length} chunks held`;
  });
  expect(await heldBy([keeper], pinned.chunks)).toHaveLength(pinned.chunks.length);
  expect(await keeper.pins.check(pinned.reference)).toEqual({
    reference: pinned.reference,
    total: new Set(pinned.chunks).size,
    missing: 0,
    invalid: 0,
  });
});

test('pinned content survives a restart, and is served when no other node runs', async () => {
  await keeper.kill();
  for (const node of fullNodes()) await node.kill();
  await keeper.start();
  expect(await keeper.pins.list()).toEqual([pinned.reference]);
  expect(sameBytes(await keeper.bytes.download(pinned.reference), pinned.data)).toBe(true);
  expect((await http(keeper, `/bytes/${loose.reference}`)).status).not.toBe(200);
  expect(await keeper.stewardship.isRetrievable(pinned.reference)).toBe(false);
});

test('content lost by the network is reported as lost, and restored by the node that has it', async () => {
  for (const node of fullNodes()) {
    await node.wipe();
    await node.start();
  }
  await net.meshed();
  expect(await keeper.stewardship.isRetrievable(pinned.reference)).toBe(false);
  const withoutBatch = await http(keeper, `/stewardship/${pinned.reference}`, { method: 'PUT' });
  expect([withoutBatch.status, withoutBatch.json['message']]).toEqual([
    404,
    'unable to find old batch for reference, provide new batch id',
  ]);
  const lost = await http(keeper, `/stewardship/${loose.reference}`, {
    method: 'PUT',
    headers: { 'svc-postage-batch-id': keeper.batch ?? '' },
  });
  expect([lost.status, lost.json['message']]).toEqual([500, 're-upload failed']);

  await keeper.stewardship.reupload(pinned.reference, { batch: keeper.batch ?? '' });
  expect(
    await eventually('the content is retrievable', async () =>
      (await keeper.stewardship.isRetrievable(pinned.reference)) ? undefined : 'not retrievable',
    ),
  ).toBe(true);
  for (const node of fullNodes())
    expect(sameBytes(await node.bytes.download(pinned.reference, { cache: false }), pinned.data)).toBe(true);
  await keeper.stewardship.reupload(pinned.reference);
});

test('unpinned content is removed', async () => {
  await keeper.pins.delete(pinned.reference);
  expect(await keeper.pins.list()).toEqual([]);
  expect((await heldBy([keeper], pinned.chunks)).length).toBeLessThanOrEqual(CACHE);
});
