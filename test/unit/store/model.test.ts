/** Both backends must reach the state that the written rules give. */
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { ChunkTotals, LocalStore, PushOutcome, UploadSession } from '../../../node/store/ports.ts';
import { BACKENDS, type Bench, chunk, committed, OVERLAY, stamp } from './stores.ts';

const CACHE_CAPACITY = 3;
const RESERVE_CAPACITY = 3;
const FIRST_BYTES = [0x00, 0x01, 0x23, 0x45, 0x80];

const chunks = fc
  .record({ first: fc.constantFrom(...FIRST_BYTES), content: fc.nat(1), soc: fc.boolean() })
  // Only single-owner chunks have several contents per address.
  .map(({ first, content }) => (first % 2 === 0 ? chunk(first) : chunk(first, content, 'soc')));
const stamps = fc.record({ batch: fc.constantFrom(1, 2), index: fc.nat(2), timestamp: fc.nat(3) }).map(stamp);

type Operation =
  | { readonly do: 'put'; readonly session: number; readonly chunk: Chunk; readonly stamp: Stamp }
  | { readonly do: 'done' | 'cleanup'; readonly session: number }
  | { readonly do: 'sent'; readonly nth: number }
  | { readonly do: 'report'; readonly nth: number; readonly outcome: PushOutcome }
  | { readonly do: 'reserve'; readonly chunk: Chunk; readonly stamp: Stamp }
  | { readonly do: 'release'; readonly firsts: readonly number[] }
  | { readonly do: 'evict'; readonly batch: number }
  | { readonly do: 'radius'; readonly radius: number }
  | { readonly do: 'cache' | 'read'; readonly chunk: Chunk }
  | { readonly do: 'reopen' };

const sessions = fc.nat(2);
const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('put'), session: sessions, chunk: chunks, stamp: stamps }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('done', 'cleanup'), session: sessions }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sent'), nth: fc.nat(5) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('report'),
      nth: fc.nat(5),
      outcome: fc.constantFrom('synced', 'kept', 'stored', 'dropped'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reserve'), chunk: chunks, stamp: stamps }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('release'), firsts: fc.subarray(FIRST_BYTES, { minLength: 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('evict'), batch: fc.constantFrom(1, 2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('radius'), radius: fc.integer({ min: 2, max: 5 }) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('cache', 'read'), chunk: chunks }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen') }) },
);

interface Push {
  readonly chunk: Chunk;
  readonly stamp: Stamp;
  readonly tag: number;
}

interface Session {
  readonly real: UploadSession;
  readonly tag: number;
  readonly pushes: Push[];
  open: boolean;
  split: number;
  seen: number;
}

interface Holding {
  readonly chunk: Chunk;
  readonly stamp: Stamp;
}

const keyOf = (chunk: Chunk, stamp: Stamp) => toHex(chunk.address) + toHex(stamp.batchId);
const holdingOf = ({ chunk, stamp }: Holding) => keyOf(chunk, stamp) + toHex(stampHash(stamp));
const binOf = (chunk: Chunk) => proximityOrder(OVERLAY, chunk.address);
const same = (a: Chunk, b: Chunk) => toHex(a.address) === toHex(b.address);

class Model {
  readonly #bench: Bench;
  readonly #slots: (Session | undefined)[] = [];
  /** Not rolled back, in the order of first puts. */
  #sessions: Session[] = [];
  /** Pushes that wait, by chunk and batch. */
  readonly #waiting = new Map<string, Push[]>();
  readonly #tags = new Map<
    number,
    { split: number; seen: number; stored: number; sent: number; synced: number }
  >();
  readonly #totals = { uploaded: 0, synced: 0 };
  /** Still readable, though not held. */
  readonly #handedOver = new Map<string, Chunk>();
  #reserve: Holding[] = [];
  #radius = 2;
  readonly #lastBinIds = Array.from({ length: 32 }, () => 0);
  /** Least recently used first. */
  #cache: Chunk[] = [];
  readonly #bytes = new Map<string, Chunk>();
  /** Address → stamp that its bytes came under. */
  readonly #under = new Map<string, Stamp>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  get #store(): LocalStore {
    return this.#bench.store;
  }

  async apply(operation: Operation): Promise<void> {
    switch (operation.do) {
      case 'put':
        await this.#put(await this.#session(operation.session), operation);
        break;
      case 'done':
        await this.#done(await this.#session(operation.session));
        this.#slots[operation.session] = undefined;
        break;
      case 'cleanup':
        await this.#cleanup(await this.#session(operation.session));
        this.#slots[operation.session] = undefined;
        break;
      case 'sent':
        this.#sent(operation.nth);
        break;
      case 'report':
        await this.#report(operation);
        break;
      case 'reserve':
        await this.#hold(operation);
        break;
      case 'release':
        await this.#release(operation.firsts);
        break;
      case 'evict':
        await this.#evict(operation.batch);
        break;
      case 'radius':
        await this.#store.reserve.setRadius(operation.radius);
        this.#radius = operation.radius;
        break;
      case 'cache':
        this.#keep(operation.chunk);
        break;
      case 'read':
        this.#read(operation.chunk);
        break;
      case 'reopen':
        await this.#reopen();
        break;
    }
    await committed(this.#store);
  }

  async check(): Promise<void> {
    const store = this.#store;
    expect(await store.chunkTotals()).toEqual(this.#chunkTotals());
    for (const first of FIRST_BYTES) {
      const { address } = chunk(first);
      const expected = this.#bytes.get(toHex(address));
      expect(store.chunks.has(address)).toBe(expected !== undefined);
    }
    for (const [uid, counts] of this.#tags) expect(store.tags.get(uid)).toMatchObject(counts);
    expect(store.uploads.pending(0, 1000).map(({ chunk, tagUid }) => [toHex(chunk.data), tagUid])).toEqual(
      this.#pending().map(({ chunk, tag }) => [toHex(this.#bytes.get(toHex(chunk.address))!.data), tag]),
    );
    const all = this.#sessions.flatMap(({ pushes }) => pushes);
    expect(store.uploads.totals()).toEqual({ ...this.#totals, pending: all.length });
    this.#checkReserve();
    expect(store.cache.size()).toBe(this.#cache.length);
  }

  #chunkTotals(): ChunkTotals {
    const holders = [...this.#sessions.flatMap(({ pushes }) => pushes), ...this.#reserve].map(
      ({ chunk }) => chunk,
    );
    const references = [...this.#bytes.values()].map(
      (stored) => [...holders, ...this.#cache].filter((other) => same(other, stored)).length,
    );
    return {
      chunks: references.length,
      shared: references.filter((count) => count > 1).length,
      references: references.reduce((sum, count) => sum + count, 0),
    };
  }

  #checkReserve(): void {
    const { reserve } = this.#store;
    expect(reserve.size()).toBe(this.#reserve.length);
    const within = this.#reserve.filter(({ chunk }) => this.#isWithinRadius(chunk)).length;
    expect([reserve.radius(), reserve.sizeWithinRadius()]).toEqual([this.#radius, within]);
    for (const first of FIRST_BYTES) {
      const fits = this.#isWithinRadius(chunk(first)) && within < RESERVE_CAPACITY;
      expect(reserve.hasRoomFor(chunk(first).address)).toBe(fits || this.#reserve.length < RESERVE_CAPACITY);
    }
    expect(reserve.lastBinIds().map(Number)).toEqual(this.#lastBinIds);
    for (const { chunk, stamp } of this.#reserve) {
      expect(reserve.has(chunk.address, stamp.batchId, stampHash(stamp))).toBe(true);
      expect(reserve.load(chunk.address, stamp.batchId, stampHash(stamp))).toEqual({
        chunk: this.#bytes.get(toHex(chunk.address)),
        stamp,
      });
    }
  }

  #pending(): Push[] {
    return this.#sessions.filter(({ open }) => !open).flatMap(({ pushes }) => pushes);
  }

  async #session(slot: number): Promise<Session> {
    const current = this.#slots[slot];
    if (current !== undefined) return current;
    const { uid } = await this.#store.tags.create();
    this.#tags.set(uid, { split: 0, seen: 0, stored: 0, sent: 0, synced: 0 });
    const real = this.#store.uploads.openSession(uid);
    const session: Session = { real, tag: uid, pushes: [], open: true, split: 0, seen: 0 };
    this.#slots[slot] = session;
    return session;
  }

  async #put(session: Session, { chunk, stamp }: Holding): Promise<void> {
    await session.real.put(chunk, stamp);
    if (!this.#sessions.includes(session)) this.#sessions.push(session);
    session.split += 1;
    const waiting = this.#waiting.get(keyOf(chunk, stamp)) ?? [];
    const ownerOf = (push: Push) => this.#sessions.find(({ pushes }) => pushes.includes(push))!;
    const lasting = waiting.find((push) => !ownerOf(push).open || ownerOf(push) === session);
    if (lasting !== undefined) {
      session.seen += 1;
      this.#supersede(ownerOf(lasting), lasting, { chunk, stamp });
      return;
    }
    const push: Push = { chunk, stamp, tag: session.tag };
    session.pushes.push(push);
    this.#waiting.set(keyOf(chunk, stamp), [...waiting, push]);
    this.#write({ chunk, stamp });
  }

  #supersede({ pushes }: Session, waiting: Push, { chunk, stamp }: Holding): void {
    const stored = this.#bytes.get(toHex(chunk.address))!;
    if (toHex(stored.identity) === toHex(chunk.identity)) return;
    if (toHex(stampHash(waiting.stamp)) === toHex(stampHash(stamp)) || this.#isOutdated({ chunk, stamp }))
      return;
    const push = { ...waiting, chunk, stamp };
    pushes[pushes.indexOf(waiting)] = push;
    const all = this.#waiting.get(keyOf(chunk, stamp))!;
    all[all.indexOf(waiting)] = push;
    this.#write({ chunk, stamp });
  }

  async #done(session: Session): Promise<void> {
    await session.real.done();
    session.open = false;
    const tag = this.#tags.get(session.tag)!;
    tag.split += session.split;
    tag.seen += session.seen;
    this.#totals.uploaded += session.split - session.seen;
  }

  async #cleanup(session: Session): Promise<void> {
    await session.real.cleanup();
    this.#takeBack(session);
  }

  #takeBack(session: Session): void {
    for (const push of session.pushes.slice()) this.#removePush(push);
    this.#sessions = this.#sessions.filter((other) => other !== session);
  }

  #sent(nth: number): void {
    const push = this.#store.uploads.pending(0, nth + 1)[nth];
    if (push === undefined) return;
    this.#store.uploads.sent(push);
    this.#tags.get(push.tagUid)!.sent += 1;
  }

  async #report({ nth, outcome }: { nth: number; outcome: PushOutcome }): Promise<void> {
    const push = this.#store.uploads.pending(0, nth + 1)[nth];
    if (push === undefined) return;
    // Twice, and still counted once.
    await Promise.all([this.#store.uploads.report(push, outcome), this.#store.uploads.report(push, outcome)]);
    this.#removePush(this.#pending()[nth]!);
    const tag = this.#tags.get(push.tagUid)!;
    if (outcome === 'stored') tag.stored += 1;
    if (outcome === 'synced') this.#handedOver.set(toHex(push.chunk.address), push.chunk);
    if (outcome === 'dropped') return;
    tag.synced += 1;
    this.#totals.synced += 1;
  }

  #removePush(push: Push): void {
    const session = this.#sessions.find(({ pushes }) => pushes.includes(push))!;
    session.pushes.splice(session.pushes.indexOf(push), 1);
    const key = keyOf(push.chunk, push.stamp);
    this.#waiting.set(
      key,
      this.#waiting.get(key)!.filter((other) => other !== push),
    );
    this.#forgetUnused();
  }

  async #hold({ chunk, stamp }: Holding): Promise<void> {
    const putting = this.#store.reserve.put(chunk, stamp);
    if (this.#reserve.some((other) => holdingOf(other) === holdingOf({ chunk, stamp }))) return putting;
    const old = this.#reserve.find(
      (other) =>
        toHex(other.stamp.batchId) === toHex(stamp.batchId) &&
        toHex(other.stamp.index) === toHex(stamp.index),
    );
    if (old !== undefined && Buffer.compare(old.stamp.timestamp, stamp.timestamp) >= 0) {
      await expect(putting).rejects.toMatchObject({ code: 'OVERWRITE_NEWER' });
      return undefined;
    }
    await putting;
    this.#reserve = this.#reserve.filter((other) => other !== old);
    this.#reserve.push({ chunk, stamp });
    this.#lastBinIds[binOf(chunk)]! += 1;
    if (!this.#isOutdated({ chunk, stamp })) this.#write({ chunk, stamp });
    this.#forgetUnused();
    return undefined;
  }

  #write({ chunk, stamp }: Holding): void {
    this.#bytes.set(toHex(chunk.address), chunk);
    this.#under.set(toHex(chunk.address), stamp);
  }

  /** They came under a newer stamp of the same batch. */
  #isOutdated({ chunk, stamp }: Holding): boolean {
    const under = this.#under.get(toHex(chunk.address));
    return (
      chunk.kind === 'soc' &&
      under !== undefined &&
      toHex(under.batchId) === toHex(stamp.batchId) &&
      Buffer.compare(under.timestamp, stamp.timestamp) > 0
    );
  }

  #isWithinRadius(chunk: Chunk): boolean {
    return binOf(chunk) >= this.#radius;
  }

  /** All that is held at the addresses with these first bytes, and something that is not. */
  async #release(firsts: readonly number[]): Promise<void> {
    const named = this.#reserve.filter(({ chunk }) => firsts.includes(chunk.address[0]!));
    const unknown = { chunk: chunk(firsts[0]!), stamp: stamp({ batch: 3 }) };
    const entries = [...named, unknown].map(({ chunk, stamp }) => ({
      address: chunk.address,
      batchId: stamp.batchId,
      stampHash: stampHash(stamp),
    }));
    const leaving = named.filter(({ chunk }) => !this.#isWithinRadius(chunk));
    expect(await this.#store.reserve.release(entries)).toBe(leaving.length);
    this.#leave(leaving);
  }

  async #evict(batch: number): Promise<void> {
    const { batchId } = stamp({ batch });
    const leaving = this.#reserve.filter((held) => toHex(held.stamp.batchId) === toHex(batchId));
    expect(await this.#store.reserve.evictBatch(batchId)).toBe(leaving.length);
    this.#leave(leaving);
  }

  #leave(leaving: readonly Holding[]): void {
    this.#reserve = this.#reserve.filter((held) => !leaving.includes(held));
    this.#forgetUnused();
  }

  #keep(kept: Chunk): void {
    this.#store.cache.put(kept);
    if (this.#cache.some((other) => same(other, kept))) return;
    this.#cache.push(kept);
    if (this.#cache.length > CACHE_CAPACITY) this.#cache.shift();
    const key = toHex(kept.address);
    if (!this.#bytes.has(key)) this.#bytes.set(key, kept);
    this.#forgetUnused();
  }

  #read(wanted: Chunk): void {
    const key = toHex(wanted.address);
    const expected = this.#bytes.get(key) ?? this.#handedOver.get(key);
    const found = this.#store.chunks.get(wanted.address);
    expect(found && { ...found, data: toHex(found.data), identity: toHex(found.identity) }).toEqual(
      expected && { ...expected, data: toHex(expected.data), identity: toHex(expected.identity) },
    );
    const cached = this.#cache.find((other) => same(other, wanted));
    if (cached !== undefined) this.#cache = [...this.#cache.filter((other) => other !== cached), cached];
  }

  async #reopen(): Promise<void> {
    const before = this.#store;
    if (this.#cache.length > 0) this.#keep(this.#cache[0]!);
    await this.#bench.reopen();
    if (this.#store === before) return;
    this.#handedOver.clear();
    this.#slots.length = 0;
    for (const session of this.#sessions.filter(({ open }) => open)) this.#takeBack(session);
  }

  #forgetUnused(): void {
    const used = [...this.#sessions.flatMap(({ pushes }) => pushes), ...this.#reserve].map(
      ({ chunk }) => chunk,
    );
    for (const stored of this.#bytes.values()) {
      if ([...used, ...this.#cache].some((other) => same(other, stored))) continue;
      this.#bytes.delete(toHex(stored.address));
      this.#under.delete(toHex(stored.address));
    }
  }
}

describe.each(BACKENDS)('a store %s', (name, open) => {
  property.prop([fc.array(operations, { maxLength: 40, size: 'max' })], {
    numRuns: name === 'on disk' ? 60 : 300,
  })('agrees with the rules after any operation', async (sequence) => {
    await using bench = await open({ cacheCapacity: CACHE_CAPACITY, reserveCapacity: RESERVE_CAPACITY });
    const model = new Model(bench);
    for (const operation of sequence) {
      await model.apply(operation);
      await model.check();
    }
  });
});
