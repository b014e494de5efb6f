/**
 * A few nodes, whose reserves (in memory), workers and hand-overs are the real ones. Between them stand small doubles of
 * pushing (`pushsync.ts`), lists and pulling (`pullsync.ts`) and status: same rules, some milliseconds. Whatever leaves a
 * reserve by a hand-over is checked at that moment.
 */
import { closerTo, isResponsible, proximityOrder } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { abortable } from '../../../node/env/abortable.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createHandOver } from '../../../node/neighbourhood/hand-over.ts';
import { binsToPull } from '../../../node/neighbourhood/pull-rules.ts';
import { createReserveWorker, type ReserveWorker } from '../../../node/neighbourhood/reserve-worker.ts';
import { type Peer, StreamError } from '../../../node/p2p/host.ts';
import type { Batch } from '../../../node/postage/ports.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import type { Listed } from '../../../node/protocols/pullsync/pullsync.ts';
import { PAGE_SIZE } from '../../../node/protocols/pullsync/rules.ts';
import type { PushResult, Pushsync } from '../../../node/protocols/pushsync/pushsync.ts';
import {
  isShallow,
  NO_ROOM_MAX,
  NoRoomError,
  PushsyncError,
} from '../../../node/protocols/pushsync/rules.ts';
import type { StatusSnapshot } from '../../../node/protocols/status/status.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import { type Reserve, type ReserveEntry, ReserveOverwriteError } from '../../../node/store/ports.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { isImmutable, keyOf, randomFrom } from './small-network-terms.ts';

export const WAKE_UP_MS = 900_000;
/** A request takes from 1 to so many milliseconds. */
const LATENCY_MAX_MS = 20;
const AT_ONCE = 3;

/** Responsible nodes that must hold an entry before it leaves, where so many exist. */
export const HOLDERS = 2;

interface Stored {
  readonly storer: SmallNode;
  readonly storageRadius: number;
}

interface Evidence {
  readonly holders: Set<string>;
  receipt: boolean;
  /** A node said that it has a newer stamp of the same index. */
  isSuperseded: boolean;
}

export class SmallNode {
  readonly peer: Peer;
  readonly reserve: Reserve;
  isOnline = true;
  readonly #network: SmallNetwork;
  readonly #topologyListeners = new Set<() => void>();
  readonly #expiryListeners = new Set<() => void>();
  /** Overlay → radius that the node told last. */
  readonly #told = new Map<string, number>();
  readonly #evidence = new Map<string, Evidence>();
  /** Bin → peers in it, when one of them was asked last. */
  readonly #beside = new Map<number, number>();
  #worker: ReserveWorker;

  constructor(overlay: Uint8Array, reserve: Reserve, network: SmallNetwork) {
    this.peer = { overlayHex: toHex(overlay), overlay } as Peer;
    this.reserve = reserve;
    this.#network = network;
    const release = reserve.release.bind(reserve);
    reserve.release = (entries) => {
      this.#checkLeaving(entries);
      return release(entries);
    };
    reserve.onRadius((radius, before) => {
      if (radius > before) this.#checkCovered(radius);
      this.topologyChanged();
    });
    this.#worker = this.#start();
  }

  /** For messages. */
  get name(): string {
    return `node ${this.peer.overlayHex.slice(0, 2)}`;
  }

  get overlay(): Uint8Array {
    return this.peer.overlay;
  }

  /** All that are online, unless this one is not. */
  peers(): Peer[] {
    return this.#others().map(({ peer }) => peer);
  }

  has({ address, batchId, stampHash }: ReserveEntry): boolean {
    return this.reserve.has(address, batchId, stampHash);
  }

  isResponsible(address: Uint8Array): boolean {
    return isResponsible(this.overlay, address, this.reserve.radius());
  }

  topologyChanged(): void {
    for (const listener of this.#topologyListeners) listener();
  }

  batchExpired(): void {
    for (const listener of this.#expiryListeners) listener();
  }

  async restart(): Promise<void> {
    await this.#worker.stop();
    this.#worker = this.#start();
  }

  stop(): Promise<void> {
    return this.#worker.stop();
  }

  #others(): SmallNode[] {
    return this.isOnline ? this.#network.nodes.filter((node) => node !== this && node.isOnline) : [];
  }

  #start(): ReserveWorker {
    const { clock } = this.#network;
    const { overlay, reserve } = this;
    const shared = {
      overlay,
      reserve,
      clock,
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
    };
    const topology = {
      peers: () => this.peers(),
      onChange: (listener: () => void) => {
        this.#topologyListeners.add(listener);
        return () => this.#topologyListeners.delete(listener);
      },
    };
    const batches = {
      get: (id: Uint8Array) =>
        this.#network.expired.has(id[0]!) ? undefined : ({ immutable: isImmutable(id) } as Batch),
    };
    const handOver = createHandOver({
      ...shared,
      topology,
      status: { request: (peer, signal) => this.#askForRadius(peer, signal) },
      pullsync: {
        cursors: (peer, signal) =>
          this.#ask(peer, signal, ({ reserve }) => ({
            cursors: reserve.lastBinIds(),
            epoch: reserve.epoch(),
          })),
        list: (peer, bin, start, signal) => this.#askForList(peer, { bin, start }, signal),
      },
      pushsync: this.pushsync,
      batches,
    });
    const worker = createReserveWorker(
      { wakeUpMs: WAKE_UP_MS, minimumRadius: 0 },
      {
        ...shared,
        postage: {
          awaited: () => false,
          batches,
          onExpired: (listener) => {
            this.#expiryListeners.add(listener);
            return () => this.#expiryListeners.delete(listener);
          },
        },
        handOver,
        topology,
        pullRate: () => 0,
        onSettled: () => undefined,
      },
    );
    worker.start();
    return worker;
  }

  // ── requests ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #ask<T>(
    peer: Peer,
    signal: AbortSignal | undefined,
    answer: (node: SmallNode) => T | Promise<T>,
  ): Promise<T> {
    const node = this.#network.nodes.find(({ peer: one }) => one === peer)!;
    await this.#network.pause(signal);
    this.#checkConnected(node);
    const answered = await abortable(Promise.resolve(answer(node)), signal);
    await this.#network.pause(signal);
    this.#checkConnected(node);
    return answered;
  }

  #binOf({ overlay }: Peer): number {
    return proximityOrder(this.overlay, overlay);
  }

  #checkConnected(node: SmallNode): void {
    if (!this.isOnline || !node.isOnline) throw new StreamError('PEER_NOT_FOUND', 'not connected');
  }

  async #askForRadius(peer: Peer, signal: AbortSignal): Promise<StatusSnapshot> {
    const bin = this.#binOf(peer);
    this.#beside.set(bin, this.peers().filter((one) => this.#binOf(one) === bin).length);
    const storageRadius = await this.#ask(peer, signal, ({ reserve }) => reserve.radius());
    this.#told.set(peer.overlayHex, storageRadius);
    return { storageRadius } as StatusSnapshot;
  }

  async #askForList(
    peer: Peer,
    { bin, start }: { bin: number; start: bigint },
    signal: AbortSignal,
  ): Promise<Listed> {
    const entries = await this.#ask(peer, signal, ({ reserve }) => {
      const items = reserve.items(bin, start, PAGE_SIZE);
      // Such a page is waited for as long as a peer asks.
      return items.length > 0 ? items : new Promise<typeof items>(() => undefined);
    });
    for (const entry of entries) {
      const isOfThePeer = proximityOrder(peer.overlay, entry.address) >= this.#told.get(peer.overlayHex)!;
      if (isOfThePeer) this.#evidenceOf(entry).holders.add(peer.overlayHex);
    }
    const last = entries.at(-1);
    return { entries, topmost: last?.binId ?? 0n };
  }

  // ── pushing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  readonly pushsync: Pick<Pushsync, 'push'> = {
    push: async (chunk, stamp, { signal }) => {
      const entry = { address: chunk.address, batchId: stamp.batchId, stampHash: stampHash(stamp) };
      const pushed = this.#push(chunk, stamp).catch((error: unknown) => {
        if (isSuperseded(error)) this.#evidenceOf(entry).isSuperseded = true;
        throw error;
      });
      const result = await abortable(pushed, signal);
      const own = proximityOrder(this.overlay, chunk.address);
      if (result.outcome === 'synced' && result.storerPO > own) this.#evidenceOf(entry).receipt = true;
      return result;
    },
  };

  async #push(chunk: Chunk, stamp: Stamp): Promise<PushResult> {
    const { address } = chunk;
    try {
      const { storer, storageRadius } = await this.#send(chunk, stamp, true);
      const storerPO = proximityOrder(storer.overlay, address);
      const depth = { storerPO, receiptRadius: storageRadius, ownRadius: this.reserve.radius() };
      if (isShallow({ ...depth, capacityDoubling: 0 }) && !this.#isClosest(storer.overlay, address)) {
        throw new PushsyncError('SHALLOW_RECEIPT', 'shallow receipt');
      }
      return { outcome: 'synced', receipt: {} as never, storerPO };
    } catch (error) {
      const isNobody = error instanceof PushsyncError && error.code === 'NO_PEER';
      if (!isNobody && !(error instanceof NoRoomError)) throw error;
      if (this.#others().length === 0 || !this.#belongsHere(address)) throw error;
      if (!this.reserve.hasRoomFor(address)) throw error;
      return { outcome: 'want-self' };
    }
  }

  /** To the closest peer, in the neighbourhood to several; then to the next ones. */
  async #send(chunk: Chunk, stamp: Stamp, isOrigin: boolean): Promise<Stored> {
    const { address } = chunk;
    const isInside = (node: SmallNode) => isResponsible(node.overlay, address, this.reserve.radius());
    const asked = new Set<SmallNode>();
    let full: NoRoomError | undefined;
    for (let refusals = 0; refusals < NO_ROOM_MAX; ) {
      const others = this.#others()
        .filter((node) => isOrigin || closerTo(address, node.overlay, this.overlay) < 0)
        .sort((a, b) => closerTo(address, a.overlay, b.overlay));
      const hasInside = this.#others().some(isInside);
      const left = others.filter((node) => !asked.has(node) && (!hasInside || isInside(node)));
      const chosen = left.slice(0, hasInside ? AT_ONCE : 1);
      if (chosen.length === 0) break;
      for (const node of chosen) asked.add(node);
      const outcomes = await Promise.allSettled(
        chosen.map(({ peer }) => this.#ask(peer, undefined, (node) => node.#take(chunk, stamp))),
      );
      const done = outcomes.find((outcome) => outcome.status === 'fulfilled');
      if (done !== undefined) return done.value;
      for (const outcome of outcomes as PromiseRejectedResult[]) {
        if (isSuperseded(outcome.reason)) throw outcome.reason;
        if (!(outcome.reason instanceof NoRoomError)) continue;
        full = outcome.reason;
        refusals++;
      }
      if (!isOrigin) break;
    }
    const isNobodyLeft = isOrigin || asked.size === 0;
    throw full ?? new PushsyncError(isNobodyLeft ? 'NO_PEER' : 'PUSH_FAILED', 'nobody takes the chunk');
  }

  async #take(chunk: Chunk, stamp: Stamp): Promise<Stored> {
    if (this.isResponsible(chunk.address)) return await this.#store(chunk, stamp);
    try {
      return await this.#send(chunk, stamp, false);
    } catch (error) {
      const isNobody = error instanceof PushsyncError && error.code === 'NO_PEER';
      if (!isNobody || !this.#belongsHere(chunk.address)) throw error;
      return await this.#store(chunk, stamp);
    }
  }

  async #store(chunk: Chunk, stamp: Stamp): Promise<Stored> {
    const { address } = chunk;
    this.#validate(stamp);
    const entry = { address, batchId: stamp.batchId, stampHash: stampHash(stamp) };
    const isHeld = this.has(entry) || this.reserve.hasIndex(stamp);
    if (!this.reserve.hasRoomFor(address) && !isHeld) throw new NoRoomError('');
    await this.put(chunk, stamp).catch((error: unknown) => {
      throw error instanceof ReserveOverwriteError ? new PushsyncError('SUPERSEDED', error.message) : error;
    });
    return { storer: this, storageRadius: this.reserve.radius() };
  }

  async put(chunk: Chunk, stamp: Stamp): Promise<void> {
    this.#validate(stamp);
    await this.reserve.put(chunk, stamp);
  }

  #validate({ batchId }: Stamp): void {
    if (this.#network.expired.has(batchId[0]!)) throw new PostageError('BATCH_NOT_FOUND', 'expired');
  }

  #belongsHere(address: Uint8Array): boolean {
    return this.isResponsible(address) || this.#isClosest(this.overlay, address);
  }

  #isClosest(overlay: Uint8Array, address: Uint8Array): boolean {
    return this.peers().every((peer) => closerTo(address, overlay, peer.overlay) <= 0);
  }

  // ── pulling ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async pull(other: SmallNode): Promise<void> {
    const po = proximityOrder(this.overlay, other.overlay);
    const bins = binsToPull({ po, radius: this.reserve.radius(), isGiven: true })!;
    for (let bin = bins.from; bin <= bins.to; bin++) {
      for (const { address, batchId, stampHash: hash } of other.reserve.items(
        bin,
        1n,
        Number.MAX_SAFE_INTEGER,
      )) {
        if (!this.isResponsible(address) || this.reserve.has(address, batchId, hash)) continue;
        await this.#network.pause();
        if (!this.isOnline || !other.isOnline) return;
        const held = other.reserve.load(address, batchId, hash);
        // No room: the page is left unpulled.
        if (held === undefined || !this.reserve.hasRoomFor(address)) break;
        // The batch has expired, or the disk refuses.
        await Promise.allSettled([this.put(held.chunk, held.stamp)]);
      }
    }
  }

  // ── what leaves ───────────────────────────────────────────────────────────────────────────────────────────────────

  #evidenceOf(entry: ReserveEntry): Evidence {
    const key = keyOf(entry);
    const evidence = this.#evidence.get(key) ?? { holders: new Set(), receipt: false, isSuperseded: false };
    this.#evidence.set(key, evidence);
    return evidence;
  }

  #checkCovered(radius: number): void {
    const bins = new Set(this.peers().map((peer) => this.#binOf(peer)));
    const bare = Array.from({ length: radius }, (_, bin) => bin).find((bin) => !bins.has(bin));
    this.#network.violate(
      bare !== undefined && `radius of ${this.name} becomes ${radius} without a node in bin ${bare}`,
    );
  }

  /** A deeper node holds what leaves, and those that are responsible for it have said so, or one has taken it. */
  #checkLeaving(entries: readonly ReserveEntry[]): void {
    for (const entry of entries) {
      if (this.isResponsible(entry.address) || !this.has(entry)) continue;
      const own = proximityOrder(this.overlay, entry.address);
      const isHeldDeeper = this.#network.nodes.some(
        (node) => proximityOrder(node.overlay, entry.address) > own && this.#network.holds(node, entry),
      );
      const evidence = this.#evidenceOf(entry);
      if (evidence.isSuperseded && !isImmutable(entry.batchId)) continue;
      const facts = `chunk ${toHex(entry.address)} in bin ${own} of ${this.name}`;
      this.#network.violate(!isHeldDeeper && `${facts} leaves though no deeper node holds it`);
      const needed = Math.min(HOLDERS, this.#beside.get(own) ?? HOLDERS);
      const isTold = evidence.receipt || (needed > 0 && evidence.holders.size >= needed);
      this.#network.violate(
        !isTold && `${facts} leaves though fewer than ${needed} responsible nodes are known to hold it`,
      );
      evidence.receipt = false;
    }
  }
}

export class SmallNetwork {
  readonly clock = new ManualClock();
  readonly nodes: SmallNode[] = [];
  /** First bytes of batch ids. */
  readonly expired = new Set<number>();
  readonly #random: () => number;
  readonly #violations: string[] = [];
  /** Address → entries, the oldest stamp first. */
  readonly #stamps = new Map<string, ReserveEntry[]>();

  private constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  static async create({ seed, nodes }: { seed: number; nodes: readonly NodePlan[] }): Promise<SmallNetwork> {
    const network = new SmallNetwork(seed);
    for (const { first, capacity } of nodes) {
      const overlay = new Uint8Array(32).fill(first, 0, 1);
      const { reserve } = await createMemoryStore(
        { cacheCapacity: 0, reserveCapacity: capacity, radius: 0 },
        { clock: network.clock, log: silentLogger(), overlay },
      );
      network.nodes.push(new SmallNode(overlay, reserve, network));
    }
    return network;
  }

  /** As long as a message takes. */
  pause(signal?: AbortSignal): Promise<void> {
    return this.clock.sleep(1 + Math.floor(this.#random() * LATENCY_MAX_MS), signal);
  }

  setOnline(node: SmallNode, isOnline: boolean): void {
    node.isOnline = isOnline;
    for (const one of this.nodes) one.topologyChanged();
  }

  expire(batch: number): void {
    this.expired.add(batch);
    for (const node of this.nodes) node.batchExpired();
  }

  async pullAll(): Promise<void> {
    const pairs = this.nodes.flatMap((to) =>
      this.nodes.filter((from) => from !== to).map((from) => [to, from] as const),
    );
    await Promise.all(pairs.map(([to, from]) => to.pull(from)));
  }

  stamped(entry: ReserveEntry): void {
    const id = toHex(entry.address);
    this.#stamps.set(id, [...(this.#stamps.get(id) ?? []), entry]);
  }

  holds(node: SmallNode, { address }: ReserveEntry): boolean {
    return (this.#stamps.get(toHex(address)) ?? []).some((entry) => node.has(entry));
  }

  violate(message: string | false): void {
    if (message !== false) this.#violations.push(message);
  }

  /** A worker that catches errors must not hide it. */
  violations(): readonly string[] {
    return this.#violations;
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }
}

export interface NodePlan {
  /** First byte of the overlay; the others are zero. */
  readonly first: number;
  readonly capacity: number;
}

function isSuperseded(error: unknown): boolean {
  return error instanceof PushsyncError && error.code === 'SUPERSEDED';
}
