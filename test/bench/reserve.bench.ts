import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Chunk } from '../../formats/chunk/chunk.ts';
import { type Stamp, stampIndex } from '../../formats/chunk/stamp.ts';
import { systemClock } from '../../formats/clock.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { silentLogger } from '../../node/env/logger.ts';
import { openLmdbStore } from '../../node/store/lmdb-store.ts';
import type { LocalStoreOptions } from '../../node/store/local-store.ts';
import type { Reserve, ReserveItem } from '../../node/store/ports.ts';
import type { BenchResult } from './result.ts';

export const name = 'reserve: chunks';

const CHUNKS = 4_096;
const ROUNDS = 6;
/** Puts that are open at the same time. */
const GROUP = 128;
/** Entries that a peer is offered at a time. */
const PAGE = 250;
const BINS = 32;

type Step = (batch: number) => void | Promise<void>;

export async function run(): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const open = (path: string, durability: LocalStoreOptions['durability']) =>
    openLmdbStore(
      {
        path: join(folder, path),
        cacheCapacity: 0,
        reserveCapacity: CHUNKS,
        radius: 0,
        durability: durability!,
      },
      { clock: systemClock(), log: silentLogger(), overlay: new Uint8Array(32) },
    );
  const store = await open('store', 'process');
  const durable = await open('durable', 'disk');
  const { reserve } = store;
  const records = store.state('bench');
  const chunks = Array.from({ length: ROUNDS }, (_, round) => newChunks(round));
  const record = new Uint8Array(119);
  let items: ReserveItem[] = [];
  const put = (timestamp: number) => (batch: number) =>
    inGroups((n) => reserve.put(chunks[batch]![n]!, stampOf(n, batch, timestamp)));
  try {
    const steps: (readonly [label: string, step: Step])[] = [
      ['a record of a state, committed', () => inGroups((n) => records.put(String(n), record))],
      ['a chunk that is new', put(1)],
      ['the same chunk stamped again', put(2)],
      ['the same chunk with the same stamp', put(2)],
      ['size of the reserve', (batch) => chunks[batch]!.forEach(() => reserve.size())],
      [
        'listed, 250 at a time',
        () => {
          items = listed(reserve);
        },
      ],
      ['found', () => items.forEach((item) => reserve.has(item.address, item.batchId, item.stampHash))],
      ['loaded', () => items.forEach((item) => reserve.load(item.address, item.batchId, item.stampHash))],
      [
        'a chunk that is new, durability: disk',
        (batch) => inGroups((n) => durable.reserve.put(chunks[batch]![n]!, stampOf(n, batch, 1))),
      ],
      ['evicted', (batch) => evicted(reserve, batch)],
    ];
    const waited = await perSecond(store.reserve, durable.reserve, newChunks(ROUNDS));
    return [...figures(steps, await fastest(steps.map(([, step]) => step))), ...waited];
  } finally {
    await store.close();
    await durable.close();
    await rm(folder, { recursive: true });
  }
}

function figures(steps: readonly (readonly [label: string, step: Step])[], costs: number[]): BenchResult[] {
  const baseline = steps[0]![0];
  return steps.map(([label], i) => ({
    name: label,
    value: costs[i]!,
    unit: 'µs',
    ...(i === 0 ? {} : { ratio: costs[i]! / costs[0]!, baseline }),
  }));
}

/** @returns µs of processor time per chunk and step */
async function fastest(steps: readonly Step[]): Promise<number[]> {
  const costs = steps.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, step] of steps.entries()) {
      const before = process.cpuUsage();
      await step(round);
      const { user, system } = process.cpuUsage(before);
      costs[i] = Math.min(costs[i]!, (user + system) / CHUNKS);
    }
  }
  return costs;
}

/** By the clock: waiting for the disk takes no processor time. */
async function perSecond(plain: Reserve, durable: Reserve, chunks: readonly Chunk[]): Promise<BenchResult[]> {
  const rates: number[] = [];
  for (const reserve of [plain, durable]) {
    const start = performance.now();
    await inGroups((n) => reserve.put(chunks[n]!, stampOf(n, ROUNDS, 1)));
    rates.push(CHUNKS / ((performance.now() - start) / 1000));
  }
  const [process, disk] = rates as [number, number];
  const baseline = 'durability: process';
  return [
    { name: `new chunks, ${baseline}`, value: process, unit: '/s' },
    { name: 'new chunks, durability: disk', value: disk, unit: '/s', ratio: disk / process, baseline },
  ];
}

async function inGroups(write: (n: number) => Promise<void>): Promise<void> {
  for (let first = 0; first < CHUNKS; first += GROUP) {
    await Promise.all(Array.from({ length: GROUP }, (_, i) => write(first + i)));
  }
}

function listed(reserve: Reserve): ReserveItem[] {
  const all: ReserveItem[] = [];
  for (let bin = 0; bin < BINS; bin++) {
    let page: ReserveItem[] = reserve.items(bin, 1n, PAGE);
    for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
      all.push(...page);
      page = reserve.items(bin, last.binId + 1n, PAGE);
    }
  }
  return all;
}

async function evicted(reserve: Reserve, batch: number): Promise<void> {
  const { batchId } = stampOf(0, batch, 1);
  while ((await reserve.evictBatch(batchId)) > 0);
}

function newChunks(round: number): Chunk[] {
  const data = new Uint8Array(4104).fill(round);
  return Array.from({ length: CHUNKS }, (_, n) => {
    const address = keccak256(stampIndex(round, n));
    return { address, data, kind: 'cac', identity: address };
  });
}

function stampOf(n: number, batch: number, timestamp: number): Stamp {
  return {
    batchId: new Uint8Array(32).fill(batch),
    index: stampIndex(0, n),
    timestamp: stampIndex(0, timestamp),
    signature: new Uint8Array(65),
  };
}
