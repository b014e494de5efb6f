import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, expect, test, vi } from 'vitest';
import { BINS } from '../../../formats/chunk/address.ts';
import { stampHash } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { systemClock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createReserveWorker } from '../../../node/neighbourhood/reserve-worker.ts';
import type { Batch } from '../../../node/postage/ports.ts';
import type { LocalStore, PendingPush, ReserveItem } from '../../../node/store/ports.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import {
  CHUNKS_PER_PIN,
  CHUNKS_PER_UPLOAD,
  type Line,
  NUMBERS_PER_LIFE,
  numberedBatch,
  numberedChunk,
  numberedPin,
  numberedStamp,
  openStore,
  RESERVE_PLACES,
} from './workload.ts';

const WRITER = new URL('./writer.ts', import.meta.url).pathname;
const folder = temporaryFolder('svcnet-kill');
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Kills it after that many lines. @returns all lines */
async function live(life: number, lines: number): Promise<Line[]> {
  const child = spawn(process.execPath, [WRITER, folder, String(life)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  const exited = once(child, 'exit');
  const told: Line[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The last line may be cut short.
    if (line.endsWith('}')) told.push(JSON.parse(line) as Line);
    if (told.length === lines) child.kill('SIGKILL');
  }
  const [, signal] = (await exited) as [number | null, string | null];
  running.delete(child);
  expect(signal).toBe('SIGKILL');
  return told;
}

function told<D extends Line['did']>(lines: readonly Line[], did: D): Extract<Line, { did: D }>[] {
  return lines.filter((line): line is Extract<Line, { did: D }> => line.did === did);
}

function pendingOf(store: LocalStore): PendingPush[] {
  return store.uploads.pending(0, 1_000_000);
}

function checkUploads(store: LocalStore, lines: readonly Line[]): void {
  const pending = pendingOf(store);
  const synced = new Set(told(lines, 'synced').map(({ number }) => number));
  const waiting = new Set(pending.map(({ chunk }) => Buffer.from(chunk.data).readUInt32BE(8)));
  for (const { tag, first } of told(lines, 'upload')) {
    const counts = store.tags.get(tag)!;
    expect(counts).toMatchObject({ split: CHUNKS_PER_UPLOAD, seen: 0 });
    const left = pending.filter(({ tagUid }) => tagUid === tag).length;
    // Also if the last report was not printed.
    expect(counts.synced + left).toBe(CHUNKS_PER_UPLOAD);
    for (let number = first; number < first + CHUNKS_PER_UPLOAD; number++) {
      if (synced.has(number)) expect(waiting.has(number)).toBe(false);
    }
  }
  for (const { chunk } of pending) expect(() => chunkFrom(chunk.address, chunk.data)).not.toThrow();
}

function checkUndone(store: LocalStore, lines: readonly Line[]): void {
  const undone = told(lines, 'undone');
  const tags = new Set(undone.map(({ tag }) => tag));
  expect(pendingOf(store).filter(({ tagUid }) => tags.has(tagUid))).toEqual([]);
  expect(undone.filter(({ number }) => store.chunks.has(numberedChunk(number).address))).toEqual([]);
  for (const tag of tags) expect(store.tags.get(tag)).toMatchObject({ split: 0, synced: 0 });
}

function checkTotals(store: LocalStore): void {
  const tags = store.tags.list(0, 1_000_000);
  const sum = (of: (tag: (typeof tags)[number]) => number) => tags.reduce((total, tag) => total + of(tag), 0);
  expect(store.uploads.totals()).toEqual({
    uploaded: sum(({ split, seen }) => split - seen),
    synced: sum(({ synced }) => synced),
    pending: pendingOf(store).length,
  });
  expect(tags.filter(({ split }) => split !== 0 && split !== CHUNKS_PER_UPLOAD)).toEqual([]);
}

function itemsOf({ reserve }: LocalStore): ReserveItem[][] {
  return Array.from({ length: BINS }, (_, bin) => reserve.items(bin, 1n, 1_000_000));
}

function checkBooks(store: LocalStore, lastIds: readonly bigint[]): void {
  const { reserve } = store;
  const items = itemsOf(store);
  for (const [bin, inBin] of items.entries()) {
    expect(reserve.sizeFrom(bin) - reserve.sizeFrom(bin + 1), `bin ${bin}`).toBe(inBin.length);
    const ids = inBin.map(({ binId }) => binId);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => Number(a - b)));
    expect(reserve.lastBinIds()[bin]).toBeGreaterThanOrEqual(ids.at(-1) ?? 0n);
    expect(reserve.lastBinIds()[bin]).toBeGreaterThanOrEqual(lastIds[bin] ?? 0n);
  }
  for (const { address, batchId, stampHash: hash } of items.flat()) {
    const { chunk, stamp } = reserve.load(address, batchId, hash)!;
    expect(Buffer.compare(stampHash(stamp), hash)).toBe(0);
    expect(() => chunkFrom(address, chunk.data)).not.toThrow();
  }
}

async function checkReferences(store: LocalStore): Promise<void> {
  const holders = [
    ...itemsOf(store)
      .flat()
      .map(({ address }) => address),
    ...pendingOf(store).map(({ chunk }) => chunk.address),
  ];
  const { references, chunks } = await store.chunkTotals();
  expect(references).toBe(holders.length + store.cache.size() + store.pins.totals().chunks);
  const distinct = new Set(holders.map(toHex)).size;
  expect(chunks).toBeGreaterThanOrEqual(distinct);
  expect(chunks).toBeLessThanOrEqual(distinct + store.cache.size() + store.pins.totals().chunks);
}

/** Batches that come and go are expired now: nothing of the last one may be left. */
async function checkExpiry(store: LocalStore, lines: readonly Line[]): Promise<void> {
  const { reserve } = store;
  const held = new Set(
    itemsOf(store)
      .flat()
      .map(({ batchId }) => toHex(batchId)),
  );
  expect(told(lines, 'gone')).not.toEqual([]);
  for (const { batch } of told(lines, 'gone')) expect(held.has(toHex(numberedBatch(batch)))).toBe(false);
  const living = toHex(numberedBatch(1));
  const worker = createReserveWorker(
    { wakeUpMs: 900_000, minimumRadius: 0 },
    {
      reserve,
      postage: {
        batches: { get: (id) => (toHex(id) === living ? ({} as Batch) : undefined) },
        awaited: () => false,
        onExpired: () => () => undefined,
      },
      handOver: { release: () => Promise.resolve(0), leftovers: () => [], refusal: undefined },
      topology: { peers: () => [], onChange: () => () => undefined },
      overlay: new Uint8Array(32),
      pullRate: () => 0,
      onSettled: () => undefined,
      clock: systemClock(),
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  worker.start();
  const stays = itemsOf(store)
    .flat()
    .filter(({ batchId }) => toHex(batchId) === living).length;
  await vi.waitUntil(() => reserve.size() === stays, { timeout: 120_000 });
  await worker.stop();
}

function checkReserve(store: LocalStore, lines: readonly Line[]): void {
  const newest = new Map(told(lines, 'reserve').map(({ place, number }) => [place, number]));
  for (const [place, number] of newest) {
    // The reported one, or the next one for its place, not yet reported.
    const held = [number, number + RESERVE_PLACES].filter((candidate) => {
      const stamp = numberedStamp(candidate, place);
      return store.reserve.has(numberedChunk(candidate).address, stamp.batchId, stampHash(stamp));
    });
    expect(held).toHaveLength(1);
    const { address, data } = numberedChunk(held[0]!);
    const stored = store.chunks.get(address)!;
    expect(Buffer.compare(stored.data, data)).toBe(0);
  }
  expect(store.reserve.size()).toBe(newest.size);
}

/** A reported root is complete, or was being unpinned. */
async function checkPins(store: LocalStore, lines: readonly Line[]): Promise<void> {
  const unpinned = new Set(told(lines, 'unpinned').map(({ root }) => root));
  const roots = new Set(told(lines, 'pinned').map(({ root }) => root));
  const gone = [...roots].filter((root) => !store.pins.has(numberedPin(root).reference));
  expect(unpinned.size).toBeGreaterThan(0);
  expect([...unpinned].filter((root) => store.pins.has(numberedPin(root).reference))).toEqual([]);
  // The last one of each life may have been leaving.
  const lives = new Set([...roots].map((root) => Math.floor(root / NUMBERS_PER_LIFE)));
  expect(gone.length - unpinned.size).toBeLessThanOrEqual(lives.size);
  let chunks = 0;
  for (const reference of store.pins.list(undefined, 1_000_000)) {
    const { total, missing, invalid } = await store.pins.check(reference);
    expect([total, missing, invalid]).toEqual([CHUNKS_PER_PIN, 0, 0]);
    chunks += total;
  }
  expect(store.pins.totals().chunks).toBe(chunks);
}

function checkState(store: LocalStore, lines: readonly Line[]): void {
  const last = Math.max(...told(lines, 'state').map(({ value }) => value));
  const [a, b] = ['a', 'b'].map((key) => Buffer.from(store.state('writer').get(key)!).readUInt32BE());
  expect(a).toBe(b);
  expect([last, last + 1]).toContain(a);
}

test('a killed store keeps every promise, rolls back what was unfinished, and continues', async () => {
  const lines: Line[] = [];
  let lastIds: readonly bigint[] = [];
  for (const [life, count] of [400, 1500, 2777].entries()) {
    lines.push(...(await live(life, count)));
    const store = await openStore(folder);
    checkUploads(store, lines);
    checkUndone(store, lines);
    checkTotals(store);
    checkState(store, lines);
    await checkPins(store, lines);
    checkBooks(store, lastIds);
    await checkReferences(store);
    await checkExpiry(store, lines);
    checkReserve(store, lines);
    checkBooks(store, lastIds);
    await checkReferences(store);
    lastIds = store.reserve.lastBinIds();
    await store.close();
  }
});
