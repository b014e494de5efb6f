/** Both backends must reach the state that the written rules give. */
import { setImmediate } from 'node:timers/promises';
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { BINS, proximityOrder } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { HandOver } from '../../../node/neighbourhood/hand-over.ts';
import { createReserveWorker, type ReserveWorker } from '../../../node/neighbourhood/reserve-worker.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import type { Batch } from '../../../node/postage/ports.ts';
import type { Reserve, ReserveEntry } from '../../../node/store/ports.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { addressIn, BACKENDS, type Bench, OVERLAY, stamp } from '../store/stores.ts';

const WAKE_UP_MS = 900_000;
const BATCHES = [1, 2, 3];
/** Nothing in the reserve has a stamp of it. */
const UPLOAD_STAMP = stamp({ batch: 9 });
const TURNS_MAX = 2000;

type Operation =
  | { readonly do: 'put'; readonly chunk: Chunk; readonly stamp: Stamp }
  /** Holds a chunk outside of the reserve. */
  | { readonly do: 'upload'; readonly chunk: Chunk }
  | { readonly do: 'expire'; readonly batch: number }
  | { readonly do: 'look'; readonly pullRate: number }
  /** Bins below this one have a peer. */
  | { readonly do: 'connect'; readonly covered: number }
  | { readonly do: 'restart'; readonly capacity: number; readonly minimumRadius: number };

const chunks = fc
  .record({ bin: fc.constantFrom(0, 1, 2, 3, 5, 31), number: fc.nat(3), content: fc.nat(2) })
  .map(({ bin, number, content }): Chunk => {
    const address = addressIn(bin, number);
    // Only single-owner chunks have several contents per address.
    return number % 2 === 0
      ? { address, data: new Uint8Array(8), kind: 'cac', identity: address }
      : {
          address,
          data: new Uint8Array(8).fill(content),
          kind: 'soc',
          identity: new Uint8Array(32).fill(bin),
        };
  });
const stamps = fc
  .record({ batch: fc.constantFrom(...BATCHES), index: fc.nat(9), timestamp: fc.nat(3) })
  .map(stamp);
const capacities = fc.integer({ min: 1, max: 12 });
const operations: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ do: fc.constant('put'), chunk: chunks, stamp: stamps }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('upload'), chunk: chunks }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire'), batch: fc.constantFrom(...BATCHES) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('look'), pullRate: fc.constantFrom(0, 0, 0.5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('connect'), covered: fc.nat(6) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('restart'), capacity: capacities, minimumRadius: fc.nat(3) }),
  },
);

interface Entry {
  readonly chunk: Chunk;
  readonly stamp: Stamp;
  readonly bin: number;
  readonly id: number;
}

const keyOf = ({ chunk, stamp }: Pick<Entry, 'chunk' | 'stamp'>) =>
  toHex(chunk.address) + toHex(stamp.batchId) + toHex(stampHash(stamp));
const batchOf = ({ stamp }: Pick<Entry, 'stamp'>) => stamp.batchId[0]!;
/** Deeper nodes hold chunks of the first two batches. */
const isHeldElsewhere = ({ batchId }: Pick<ReserveEntry, 'batchId'>) => batchId[0]! < 3;

class Model {
  entries: Entry[] = [];
  readonly lastIds = Array.from({ length: BINS }, () => 0);
  readonly expired = new Set<number>();
  /** Address → chunk, of uploads that stay. */
  readonly uploads = new Map<string, Chunk>();
  /** Address → bytes that were written last while anybody held them. */
  readonly bytes = new Map<string, string>();
  /** Address → stamp that its bytes came under. */
  readonly #under = new Map<string, Stamp>();
  radius: number;
  /** One look may grow the radius, hand over and shrink it again. */
  peak = 0;
  capacity: number;
  minimumRadius: number;
  covered = 6;
  #uncoveredChecks = 0;
  /** What a restart finds. A minimum is not written down: with a smaller one the radius is what it was. */
  #keptRadius = 0;

  constructor(start: { capacity: number; minimumRadius: number }) {
    this.capacity = start.capacity;
    this.minimumRadius = start.minimumRadius;
    this.radius = start.minimumRadius;
  }

  /** @returns whether the put is refused */
  put(chunk: Chunk, stamp: Stamp): boolean {
    if (this.entries.some((entry) => keyOf(entry) === keyOf({ chunk, stamp }))) return false;
    const bin = proximityOrder(OVERLAY, chunk.address);
    // A chunk counts as soon as it comes; chunks are handed over once it is stored.
    const handsOver = this.#grow(bin) && this.entries.length >= this.capacity;
    if (handsOver) this.#grow(bin);
    const refused = !this.#store(chunk, stamp);
    if (handsOver) this.#release();
    this.unreserve();
    return refused;
  }

  /** @returns whether the put is accepted */
  #store(chunk: Chunk, stamp: Stamp): boolean {
    const indexOf = ({ batchId, index }: Stamp) => toHex(batchId) + toHex(index);
    const old = this.entries.find((entry) => indexOf(entry.stamp) === indexOf(stamp));
    if (old !== undefined && Buffer.compare(old.stamp.timestamp, stamp.timestamp) >= 0) return false;
    this.#keep(this.entries.filter((entry) => entry !== old || old.chunk.address === chunk.address));
    const held = this.bytes.has(toHex(chunk.address));
    const bin = proximityOrder(OVERLAY, chunk.address);
    const id = ++this.lastIds[bin]!;
    this.entries = [...this.entries.filter((entry) => entry !== old), { chunk, stamp, bin, id }];
    if (!held || (chunk.kind === 'soc' && !this.#isOutdated(chunk, stamp))) this.#write(chunk, stamp);
    this.#keep(this.entries);
    return true;
  }

  upload(chunk: Chunk): void {
    const key = toHex(chunk.address);
    if (this.uploads.has(key)) return;
    this.uploads.set(key, chunk);
    if (!this.bytes.has(key) || chunk.kind === 'soc') this.#write(chunk, UPLOAD_STAMP);
  }

  #write(chunk: Chunk, under: Stamp): void {
    this.bytes.set(toHex(chunk.address), toHex(chunk.data));
    this.#under.set(toHex(chunk.address), under);
  }

  /** Whether the bytes that are held came under a newer stamp of the same batch. */
  #isOutdated(chunk: Chunk, stamp: Stamp): boolean {
    const under = this.#under.get(toHex(chunk.address));
    return (
      under !== undefined &&
      toHex(under.batchId) === toHex(stamp.batchId) &&
      Buffer.compare(under.timestamp, stamp.timestamp) > 0
    );
  }

  sweep(): void {
    this.#keep(this.entries.filter((entry) => !this.expired.has(batchOf(entry))));
  }

  /** Or until no node takes anything and the radius cannot grow. */
  unreserve(): void {
    while (this.entries.length >= this.capacity) {
      const grown = this.#grow();
      if (this.#release() === 0 && !grown) return;
    }
  }

  look(pullRate: number): void {
    this.sweep();
    this.unreserve();
    if (this.radius <= this.minimumRadius) return;
    const within = this.#from(this.radius);
    const withinSmaller = this.#from(this.radius - 1);
    const uncovered = this.radius > this.covered && this.covered > 0;
    this.#uncoveredChecks = uncovered ? this.#uncoveredChecks + 1 : 0;
    const takesOver = this.#uncoveredChecks >= 3 && withinSmaller < this.capacity;
    const tooEmpty = within < this.capacity / 2 && withinSmaller < this.capacity * 0.8 && pullRate === 0;
    if (takesOver || tooEmpty) this.#setRadius(this.radius - 1);
  }

  start(reopened: boolean): void {
    if (reopened) this.radius = Math.max(this.#keptRadius, this.minimumRadius);
    this.#uncoveredChecks = 0;
    this.sweep();
    this.unreserve();
  }

  /** @param arriving bin of a chunk on its way @returns whether the radius has grown */
  #grow(arriving = -1): boolean {
    const within = this.#from(this.radius);
    const leftovers = this.entries.length - within;
    const isFull = within + (arriving >= this.radius ? 1 : 0) >= this.capacity;
    if (!isFull || leftovers > this.capacity || this.radius >= this.covered) return false;
    this.#setRadius(this.radius + 1);
    return true;
  }

  /** @returns how many have left */
  #release(): number {
    const before = this.entries.length;
    this.#keep(this.entries.filter(({ bin, stamp }) => bin >= this.radius || !isHeldElsewhere(stamp)));
    return before - this.entries.length;
  }

  #from(bin: number): number {
    return this.entries.filter((entry) => entry.bin >= bin).length;
  }

  references(): number[] {
    return [...this.bytes.keys()].map(
      (address) =>
        this.entries.filter(({ chunk }) => toHex(chunk.address) === address).length +
        (this.uploads.has(address) ? 1 : 0),
    );
  }

  #setRadius(radius: number): void {
    this.radius = radius;
    this.peak = Math.max(this.peak, radius);
    this.#keptRadius = radius;
  }

  #keep(entries: Entry[]): void {
    this.entries = entries;
    const held = new Set([...entries.map(({ chunk }) => toHex(chunk.address)), ...this.uploads.keys()]);
    for (const address of this.bytes.keys()) if (!held.has(address)) this.bytes.delete(address);
  }
}

class Pair {
  readonly #bench: Bench;
  readonly #model: Model;
  readonly #clock = new ManualClock();
  readonly #expiryListeners = new Set<() => void>();
  readonly #topologyListeners = new Set<() => void>();
  /** Nothing is handed over before it ends. */
  #putting: Promise<unknown> = Promise.resolve();
  #pullRate = 0;
  #worker: ReserveWorker;

  constructor(bench: Bench, model: Model) {
    this.#bench = bench;
    this.#model = model;
    this.#worker = this.#start();
  }

  get #reserve(): Reserve {
    return this.#bench.store.reserve;
  }

  async apply(operation: Operation): Promise<void> {
    const radius = this.#reserve.radius();
    const before = this.#listed();
    this.#model.peak = radius;
    const replaced = await this.#do(operation);
    await this.#atRest();
    // It is tried again without a pause, and stays.
    for (const listener of this.#topologyListeners) listener();
    await this.#atRest();
    this.#checkLosses({ before, replaced, radius });
    await this.#check();
  }

  stop(): Promise<void> {
    return this.#worker.stop();
  }

  /** @returns key of the replaced entry */
  async #do(operation: Operation): Promise<string | undefined> {
    const model = this.#model;
    switch (operation.do) {
      case 'put': {
        const { chunk, stamp } = operation;
        const rivals = model.entries.filter(
          (entry) => batchOf(entry) === stamp.batchId[0] && toHex(entry.stamp.index) === toHex(stamp.index),
        );
        const outcome = this.#reserve.put(chunk, stamp).then(
          () => false,
          (error: { code?: string }) => error.code === 'OVERWRITE_NEWER',
        );
        this.#putting = outcome;
        expect(await outcome).toBe(model.put(chunk, stamp));
        return rivals.map(keyOf)[0];
      }
      case 'upload': {
        if (!model.uploads.has(toHex(operation.chunk.address))) await this.#upload(operation.chunk);
        model.upload(operation.chunk);
        return undefined;
      }
      case 'expire':
        model.expired.add(operation.batch);
        model.sweep();
        model.unreserve();
        for (const listener of this.#expiryListeners) listener();
        return undefined;
      case 'look':
        this.#pullRate = operation.pullRate;
        model.look(operation.pullRate);
        await this.#clock.advance(WAKE_UP_MS);
        return undefined;
      case 'connect':
        model.covered = operation.covered;
        model.unreserve();
        for (const listener of this.#topologyListeners) listener();
        return undefined;
      case 'restart':
        await this.#restart(operation);
        return undefined;
    }
  }

  async #upload(chunk: Chunk): Promise<void> {
    const { store } = this.#bench;
    const { uid } = await store.tags.create();
    const session = store.uploads.openSession(uid);
    await session.put(chunk, UPLOAD_STAMP);
    await session.done();
  }

  async #restart({ capacity, minimumRadius }: { capacity: number; minimumRadius: number }): Promise<void> {
    const before = this.#bench.store;
    await this.#worker.stop();
    await this.#bench.reopen({ reserveCapacity: capacity, radius: minimumRadius });
    if (this.#bench.store !== before) {
      this.#model.capacity = capacity;
      this.#model.minimumRadius = minimumRadius;
    }
    // In memory nothing is opened again.
    this.#model.start(this.#bench.store !== before);
    this.#worker = this.#start();
  }

  #start(): ReserveWorker {
    const worker = createReserveWorker(
      { wakeUpMs: WAKE_UP_MS, minimumRadius: this.#model.minimumRadius },
      {
        reserve: this.#reserve,
        postage: {
          awaited: () => false,
          batches: { get: (id) => (this.#model.expired.has(id[0]!) ? undefined : ({} as Batch)) },
          onExpired: (listener) => {
            this.#expiryListeners.add(listener);
            return () => this.#expiryListeners.delete(listener);
          },
        },
        handOver: this.#handOver(),
        topology: {
          peers: () =>
            Array.from({ length: this.#model.covered }, (_, bin) => ({ overlay: addressIn(bin, 1) }) as Peer),
          onChange: (listener) => {
            this.#topologyListeners.add(listener);
            return () => this.#topologyListeners.delete(listener);
          },
        },
        overlay: OVERLAY,
        pullRate: () => this.#pullRate,
        onSettled: () => undefined,
        clock: this.#clock,
        log: silentLogger(),
        metrics: createMetrics({ prefix: 'svc' }),
      },
    );
    worker.start();
    return worker;
  }

  #handOver(): HandOver {
    const reserve = this.#reserve;
    return {
      refusal: undefined,
      leftovers: () => [],
      release: async (count) => {
        expect(count).toBeGreaterThan(0);
        await this.#putting;
        const below = Array.from({ length: reserve.radius() }, (_, bin) => reserve.items(bin, 1n, 1000));
        return await reserve.release(below.flat().filter(isHeldElsewhere));
      },
    };
  }

  /** Waits for the model's state, and whether it stays. */
  async #atRest(): Promise<void> {
    const { entries, radius } = this.#model;
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      if (this.#reserve.size() === entries.length && this.#reserve.radius() === radius) break;
      await setImmediate();
    }
    for (let turn = 0; turn < 3; turn++) await setImmediate();
  }

  #listed(): Map<string, number> {
    const items = Array.from({ length: BINS }, (_, bin) =>
      this.#reserve
        .items(bin, 1n, 1000)
        .map(
          ({ address, batchId, stampHash }) =>
            [toHex(address) + toHex(batchId) + toHex(stampHash), bin] as const,
        ),
    );
    return new Map(items.flat());
  }

  /** For a newer stamp, with its batch, or because it lies below the radius and others hold it. */
  #checkLosses(was: { before: Map<string, number>; replaced: string | undefined; radius: number }): void {
    const after = this.#listed();
    for (const [key, bin] of was.before) {
      if (after.has(key) || key === was.replaced) continue;
      const batch = Number.parseInt(key.slice(64, 66), 16);
      const isLeftOver = bin < Math.max(this.#model.peak, this.#reserve.radius());
      const batchId = Uint8Array.of(batch);
      const reason = this.#model.expired.has(batch) || (isLeftOver && isHeldElsewhere({ batchId }));
      expect(reason, `bin ${bin} at radius ${was.radius}`).toBe(true);
    }
  }

  async #check(): Promise<void> {
    const reserve = this.#reserve;
    const { entries, lastIds, radius } = this.#model;
    const { store } = this.#bench;
    expect(reserve.radius()).toBe(radius);
    expect(reserve.lastBinIds().map(Number)).toEqual(lastIds);
    expect(reserve.size()).toBe(entries.length);
    expect(reserve.sizeWithinRadius()).toBe(entries.filter(({ bin }) => bin >= radius).length);
    for (let bin = 0; bin < BINS; bin++) {
      const inBin = entries.filter((entry) => entry.bin === bin).sort((a, b) => a.id - b.id);
      const items = reserve.items(bin, 1n, 1000);
      expect(items.map(({ binId }) => Number(binId))).toEqual(inBin.map(({ id }) => id));
      expect(reserve.sizeFrom(bin) - reserve.sizeFrom(bin + 1)).toBe(inBin.length);
      for (const [n, { address, batchId, stampHash: hash }] of items.entries()) {
        const loaded = reserve.load(address, batchId, hash)!;
        expect(loaded.stamp).toEqual(inBin[n]!.stamp);
        expect(toHex(loaded.chunk.data)).toBe(this.#model.bytes.get(toHex(address)));
      }
    }
    const references = this.#model.references();
    expect(await store.chunkTotals()).toEqual({
      chunks: references.length,
      shared: references.filter((count) => count > 1).length,
      references: references.reduce((sum, count) => sum + count, 0),
    });
  }
}

describe.each(BACKENDS)('a reserve with its worker %s', (name, open) => {
  const starts = fc.record({ capacity: capacities, minimumRadius: fc.nat(2) });
  property.prop([starts, fc.array(operations, { minLength: 10, maxLength: 80 })], {
    numRuns: name === 'on disk' ? 25 : 100,
  })('agrees with the rules after any sequence of events', async (start, sequence) => {
    await using bench = await open({ reserveCapacity: start.capacity, radius: start.minimumRadius });
    const pair = new Pair(bench, new Model(start));
    try {
      for (const operation of sequence) await pair.apply(operation);
    } finally {
      await pair.stop();
    }
  });
});
