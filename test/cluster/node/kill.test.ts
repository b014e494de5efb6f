import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import type { Tag } from '../../../harness/client/types.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import { bytesOf, eventually, heldBy, http, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
/** Batch → every address that this file had stamped with it. */
const stamped = new Map<string, Set<string>>();
let net: Cluster;
let uploader: ClusterNode;
let others: readonly ClusterNode[];

beforeAll(async () => {
  net = await Cluster.start({ nodes: 3, seed: 11, stateDir });
  uploader = net.node(0);
  others = net.nodes.slice(1);
});
afterAll(async () => {
  await net.stop();
});

function batch(): string {
  if (uploader.batch === undefined) throw new Error('the uploader has no batch');
  return uploader.batch;
}

/** The addresses are kept for the check of the stamps. */
async function content(name: string, size: number) {
  const data = bytesOf(name, size);
  const { reference, chunks } = await expectBytes(data);
  const known = stamped.get(batch()) ?? new Set<string>();
  for (const chunk of chunks) known.add(chunk);
  stamped.set(batch(), known);
  return { data, reference, chunks };
}

async function restart(node: ClusterNode): Promise<void> {
  await node.start();
  await net.meshed();
}

/** It neither continues nor ends. */
async function* stalling(data: Uint8Array, released: AbortSignal): AsyncGenerator<Uint8Array> {
  yield data;
  await new Promise<void>((resolve) => released.addEventListener('abort', () => resolve(), { once: true }));
}

/** Goes on until its node dies. */
function begun(data: Uint8Array, options: { deferred: boolean }) {
  const released = new AbortController();
  const ended = uploader.bytes.upload(stalling(data, released.signal), options).then(
    () => 'acknowledged',
    (error: { class?: string }) => error.class ?? 'unknown',
  );
  return {
    async end() {
      const outcome = await ended;
      released.abort();
      return outcome;
    },
  };
}

function consistent(tag: Tag): boolean {
  return tag.synced + tag.seen <= tag.split && tag.stored <= tag.synced;
}

async function countersOf(): Promise<Map<number, number>> {
  const { json } = await http(uploader, `/stamps/${batch()}/buckets`);
  const buckets = json['buckets'] as { bucketID: number; collisions: number }[];
  return new Map(buckets.map(({ bucketID, collisions }) => [bucketID, collisions]));
}

/** Every chunk that others hold used an index of its bucket. */
async function expectCounted(held: readonly string[]): Promise<void> {
  const counters = await countersOf();
  const used = new Map<number, number>();
  for (const address of held) {
    const bucket = Number.parseInt(address.slice(0, 4), 16);
    used.set(bucket, (used.get(bucket) ?? 0) + 1);
  }
  const lost = [...used].filter(([bucket, count]) => (counters.get(bucket) ?? 0) < count);
  expect(lost).toEqual([]);
}

test('in the middle of a deferred upload: stored chunks are rolled back, and the same upload then works', async () => {
  const { data, reference, chunks } = await content('deferred, cut', 4 * 2 ** 20);
  const tags = await uploader.tags.list();
  const upload = begun(data, { deferred: true });
  const late = chunks[900] as string;
  await eventually('the upload is not half stored', async () =>
    (await uploader.chunks.has(late)) ? undefined : 'its 900th chunk is not there',
  );
  await uploader.kill();
  expect(await upload.end()).not.toBe('acknowledged');

  await restart(uploader);
  expect(await heldBy(net.nodes, chunks)).toEqual([]);
  const opened = (await uploader.tags.list()).filter(({ uid }) => !tags.some((tag) => tag.uid === uid));
  expect(opened.map(({ split, seen, synced, address }) => ({ split, seen, synced, address }))).toEqual([
    { split: 0, seen: 0, synced: 0, address: '' },
  ]);

  const again = await uploader.bytes.upload(data);
  expect(again.reference).toBe(reference);
  const looks: [synced: number, split: number][] = [];
  const tag = await net.synced(reference, { onProgress: (synced, split) => looks.push([synced, split]) });
  expect(tag).toMatchObject({ split: 1033, seen: 0, synced: 1033 });
  expect(looks.at(-1)).toEqual([1033, 1033]);
  expect(new Set(await heldBy(net.nodes, chunks)).size).toBe(chunks.length);
});

test('in the middle of a direct upload: no stamp index that has left the node is forgotten', async () => {
  const { data, chunks } = await content('direct, cut', 3 * 2 ** 20);
  const upload = begun(data, { deferred: false });
  const early = chunks[400] as string;
  await eventually('the upload has not begun to arrive', async () =>
    (await heldBy(others, [early])).length > 0 ? undefined : 'its 400th chunk is not there',
  );
  await uploader.kill();
  expect(await upload.end()).not.toBe('acknowledged');

  await restart(uploader);
  const held = await heldBy(others, chunks);
  expect(held.length).toBeGreaterThan(0);
  await expectCounted(held);
  const { reference } = await uploader.bytes.upload(data, { deferred: false });
  expect(new Set(await heldBy(others, chunks)).size).toBe(chunks.length);
  expect(sameBytes(await net.node(2).bytes.download(reference), data)).toBe(true);
});

test('just after the answer to a deferred upload: nothing had been pushed, and everything arrives after the start', async () => {
  const { data, reference, chunks } = await content('deferred, acknowledged', 2 * 2 ** 20);
  await Promise.all(others.map((node) => node.pause()));
  const uploaded = await uploader.bytes.upload(data);
  expect(uploaded.reference).toBe(reference);
  await uploader.kill();
  await Promise.all(others.map((node) => node.resume()));
  expect(await heldBy(others, chunks)).toEqual([]);

  await restart(uploader);
  expect(await uploader.tags.get(uploaded.tag as number)).toMatchObject({ split: 517, address: reference });
  expect(await net.synced(reference)).toMatchObject({ split: 517, seen: 0, synced: 517 });
  expect(new Set(await heldBy(net.nodes, chunks)).size).toBe(chunks.length);
  expect(sameBytes(await net.node(1).bytes.download(reference), data)).toBe(true);
});

test('just after the answer to a direct upload: the others have every chunk', async () => {
  const { data, reference, chunks } = await content('direct, acknowledged', 2 * 2 ** 20);
  await uploader.bytes.upload(data, { deferred: false });
  await uploader.kill();
  expect(new Set(await heldBy(others, chunks)).size).toBe(chunks.length);
  expect(sameBytes(await net.node(1).bytes.download(reference), data)).toBe(true);
  await restart(uploader);
  await expectCounted(chunks);
});

test('at any moment, repeatedly: acknowledged uploads are synced, others leave nothing', async () => {
  for (const [round, afterMs] of [5, 40, 80, 160].entries()) {
    const { data, chunks, reference } = await content(`round ${round}`, 2 ** 20);
    const upload = uploader.bytes.upload(data).then(
      ({ tag }) => tag,
      () => undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await uploader.kill();
    const tag = await upload;
    await restart(uploader);
    const tags = await uploader.tags.list();
    expect(tags.filter((each) => !consistent(each))).toEqual([]);
    // The answer may have been lost: the tag shows what was kept.
    const kept = tags.find((each) => each.address === reference);
    if (tag !== undefined) expect(kept?.uid).toBe(tag);
    if (kept !== undefined) {
      const synced = await net.synced({ node: 0, tag: kept.uid });
      expect(synced).toMatchObject({ split: 259, seen: 0, synced: 259 });
    }
    const held = new Set(await heldBy(net.nodes, chunks));
    expect(held.size).toBe(kept === undefined ? 0 : chunks.length);
  }
});

test('a storer in the middle of pushes: the upload is synced without it, and it still has the chunks it accepted', async () => {
  const storer = net.node(2);
  const { data, reference, chunks } = await content('storer', 4 * 2 ** 20);
  await uploader.bytes.upload(data);
  await eventually('the storer has taken nothing', async () =>
    (await heldBy([storer], chunks.slice(0, 64))).length > 8 ? undefined : 'less than nine chunks are there',
  );
  const taken = await heldBy([storer], chunks.slice(0, 64));
  await storer.kill();
  expect(await net.synced(reference)).toMatchObject({ split: 1033, synced: 1033 });

  await storer.start();
  await net.meshed();
  expect(await heldBy([storer], taken)).toHaveLength(taken.length);
  expect(new Set(await heldBy(net.nodes, chunks)).size).toBe(chunks.length);
  expect(sameBytes(await storer.bytes.download(reference), data)).toBe(true);
});

test('no start needed a repair, and no node has logged an error', async () => {
  for (const node of net.nodes) {
    const loud = (await node.logs({ lines: 10_000 }))
      .map((line) => JSON.parse(line) as { level: string | number; msg: string })
      .filter(({ level }) => ['error', 'fatal', 50, 60].includes(level));
    expect(loud, node.name).toEqual([]);
  }
});

describe('after all this', () => {
  test('no two chunks have the same stamp index', async () => {
    await Promise.all(net.nodes.map((node) => node.stop()));
    const owners = new Map<string, string>();
    let stamps = 0;
    for (const node of net.nodes) {
      const store = await openLmdbStore(
        { path: join(node.dataDir, 'store'), cacheCapacity: 1000, reserveCapacity: 1_000_000, radius: 0 },
        { clock: systemClock(), log: silentLogger(), overlay: fromHex(node.overlay) },
      );
      const { reserve } = store;
      const items = reserve.lastBinIds().flatMap((_, bin) => reserve.items(bin, 1n, 1_000_000));
      for (const { address, batchId, stampHash } of items) {
        if (stamped.get(toHex(batchId))?.has(toHex(address)) !== true) continue;
        stamps++;
        const { stamp } = reserve.load(address, batchId, stampHash)!;
        const index = `${toHex(batchId)}/${toHex(stamp.index)}`;
        expect(owners.get(index) ?? toHex(address)).toBe(toHex(address));
        owners.set(index, toHex(address));
      }
      await store.close();
    }
    expect(stamps).toBeGreaterThan(4000);
  });
});
