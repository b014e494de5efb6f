/**
 * Which peers are connected, dialled, introduced, closest. `p2p-protocols.md` 6. A bootnode is an ordinary node, unless
 * `dedicatedBootnodes`: then, as on the public network, it only introduces others.
 */
import { BINS, MAX_PO } from '../../formats/chunk/address.ts';
import type { Clock } from '../../formats/clock.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Random } from '../../formats/random.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import { peerIdOf } from '../p2p/address/underlay.ts';
import type { AddressBook, Host, Peer } from '../p2p/host.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { Bins } from './bins.ts';
import { BootnodePasses } from './bootnode-passes.ts';
import { Dialler } from './dialler.ts';
import { FixedLinks } from './fixed-links.ts';
import { type Announcer, Introductions, type Place } from './introductions.ts';
import { KADEMLIA_METRICS } from './metrics.ts';
import { PeerCounters } from './peer-counters.ts';
import { Prober } from './prober.ts';
import { BOOTNODE_OVER_SATURATION, OVER_SATURATION, prunedOf, ROUND_MS, SLOTS, slotOf } from './rules.ts';
import { NEIGHBOURS_LOW_WATERMARK, snapshotOf } from './snapshot.ts';
import { Tiers } from './tiers.ts';
import type { Reachability, Topology, TopologySnapshot } from './topology.ts';

const PRUNE_MS = 300_000;
const FLUSH_MS = 300_000;
const NEIGHBOUR_GOSSIP_MS = 900_000;
/** Shared: an error per event would cost more than the round. */
const NEWS = new Error('something has changed');
/** A further one displaces another. */
const LIGHT_PEERS_MAX = 100;

export interface KademliaOptions {
  /** Dialled while no peer is connected. */
  readonly bootnodes: readonly string[];
  /** None: all are permitted. */
  readonly onlyPeers: readonly string[];
  readonly storageRadius: () => number;
  /** Networks on one machine have no others. */
  readonly allowPrivateCidrs: boolean;
  /** Configured bootnodes serve introductions only. */
  readonly dedicatedBootnodes: boolean;
  /** Dials only bootnodes, and makes room for every inbound peer. */
  readonly bootnodeMode: boolean;
  /** Otherwise never counts itself as closest. */
  readonly reachable: boolean;
}

export interface KademliaDeps {
  readonly host: Host;
  readonly hive: Announcer;
  readonly addressBook: AddressBook;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Subsystem `kademlia`. */
  readonly state: KeyValueStore;
  /** Whether we had our record of a node from the start. Default: no record. */
  readonly isCommon?: (overlayHex: string) => boolean;
  /** Whether a node had another's record from the start, so that it need not be told of it. Default: none had. */
  readonly knows?: (overlayHex: string, otherHex: string) => boolean;
}

export interface Kademlia extends Topology {
  measured(overlayHex: string, latencyMs: number): void;
  /** Other peers are wanted or neighbours. */
  radiusChanged(): void;
}

export function createKademlia(options: KademliaOptions, deps: KademliaDeps): Kademlia {
  return new KademliaTable(options, deps);
}

class KademliaTable implements Kademlia {
  readonly #options: KademliaOptions;
  readonly #deps: KademliaDeps;
  readonly #own: string;
  readonly #bins: Bins;
  readonly #tiers: Tiers;
  readonly #light = new Map<string, Peer>();
  readonly #bootnodeIds: ReadonlySet<string>;
  readonly #bootnodes = new Set<string>();
  readonly #counters: PeerCounters;
  readonly #passes: BootnodePasses;
  readonly #dialler: Dialler;
  /** With given peers no others are dialled, and no limit applies. */
  readonly #fixed: FixedLinks | undefined;
  readonly #prober: Prober;
  readonly #introductions: Introductions;
  readonly #metrics: MetricsOf<typeof KADEMLIA_METRICS>;
  readonly #listeners = new Set<() => void>();
  /** Kept until peers or the radius change: every status, given and received, asks for them. */
  #neighbours: { all: readonly Peer[]; radius: number; deep: readonly Peer[] } | undefined;
  readonly #stopped = new AbortController();
  #wake = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();

  constructor(options: KademliaOptions, deps: KademliaDeps) {
    const { host, hive } = deps;
    this.#options = options;
    this.#deps = deps;
    this.#own = toHex(host.overlay);
    this.#bins = new Bins(host.overlay);
    const dedicated = options.dedicatedBootnodes ? options.bootnodes : [];
    this.#bootnodeIds = new Set(dedicated.flatMap((bootnode) => peerIdOf(bootnode) ?? []));
    this.#counters = new PeerCounters(deps);
    this.#tiers = new Tiers(host.overlay, () => this.#usable(), this.#counters);
    this.#metrics = deps.metrics.register(KADEMLIA_METRICS);
    this.#metrics.ownReachability.set({ reachability_status: options.reachable ? 'Public' : 'Private' }, 1);
    this.#passes = new BootnodePasses(options.bootnodes, { ...deps, metrics: this.#metrics });
    this.#dialler = new Dialler(options, {
      isCommon: () => false,
      ...deps,
      bins: this.#bins,
      bootnodes: this.#bootnodes,
      counters: this.#counters,
      isDialledAsBootnode: (underlays) => this.#passes.isDialling(underlays),
      metrics: this.#metrics,
    });
    this.#fixed = options.onlyPeers.length === 0 ? undefined : new FixedLinks(options.onlyPeers, deps);
    this.#prober = new Prober(options, {
      isCommon: () => false,
      ...deps,
      onResult: (peer, result) => this.#probed(peer, result),
    });
    this.#introductions = new Introductions({
      knows: () => false,
      ...deps,
      standing: this.#counters,
      stopped: this.#stopped.signal,
      drop: (peer, reason) => this.#drop(peer, reason),
    });
    host.setPicker((overlay, fullNode) => this.#picks(overlay, fullNode));
    host.onConnected((peer) => this.#connected(peer));
    host.onDisconnected((peer) => this.#disconnected(peer));
    hive.onLearned((overlaysHex) => this.addKnown(overlaysHex));
  }

  async start(): Promise<void> {
    const { addressBook } = this.#deps;
    this.addKnown(this.#counters.proven().filter((id) => addressBook.get(id) !== undefined));
    this.addKnown(this.#shuffled(addressBook.overlays()));
    this.#loops = Promise.all([
      this.#manage(),
      this.#every(PRUNE_MS, () => this.#prune()),
      this.#every(FLUSH_MS, () => this.#flush()),
      this.#every(NEIGHBOUR_GOSSIP_MS, () => this.#introductions.remind(this.neighbours())),
    ]);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake.abort(NEWS);
    await this.#loops;
    await this.#prober.stop();
    await this.#passes.idle();
    await this.#dialler.idle();
    await this.#fixed?.idle();
    await this.#counters.flush();
  }

  // ── for the protocols ─────────────────────────────────────────────────────────────────────────────────────────────

  closestPeer(
    address: Uint8Array,
    options: { skip: ReadonlySet<string>; includeSelf: boolean },
  ): Peer | 'self' | undefined {
    const self = options.includeSelf && this.#options.reachable ? this.#deps.host.overlay : undefined;
    const closest = this.#tiers.closest(address, this.storageRadius(), options.skip, self);
    return closest ?? (self === undefined ? undefined : 'self');
  }

  isCutOff(): boolean {
    if (this.peers().length > 0) return false;
    if (this.#fixed !== undefined) return this.#fixed.lacksPeers();
    return [...this.#bins.allKnown()].some((id) => !this.#bootnodes.has(id));
  }

  peers(): readonly Peer[] {
    const { all } = this.#bins;
    return this.#bootnodes.size === 0
      ? all
      : all.filter(({ overlayHex }) => !this.#bootnodes.has(overlayHex));
  }

  connectedCount(): number {
    return this.#bins.connectedCount;
  }

  storageRadius(): number {
    return this.#options.storageRadius();
  }

  neighbours(): readonly Peer[] {
    const { all } = this.#bins;
    const radius = this.storageRadius();
    if (this.#neighbours?.all !== all || this.#neighbours.radius !== radius) {
      const deep = this.peers().filter((peer) => this.#bins.binOf(peer.overlay) >= radius);
      this.#neighbours = { all, radius, deep };
    }
    return this.#neighbours.deep;
  }

  radiusChanged(): void {
    this.#changed();
  }

  rated(overlayHex: string, rating: { healthy: boolean; latencyMs?: number }): void {
    if (rating.latencyMs !== undefined) this.measured(overlayHex, rating.latencyMs);
    if (this.#counters.rated(overlayHex, rating.healthy)) this.#tiers.changed();
  }

  snapshot(): TopologySnapshot {
    return snapshotOf(
      {
        baseAddr: this.#own,
        depth: this.storageRadius(),
        reachability: this.#options.reachable ? 'Public' : 'Private',
        networkAvailability: this.#deps.host.networkStatus(),
      },
      { bins: this.#bins, light: [...this.#light.values()], counters: this.#counters },
    );
  }

  measured(overlayHex: string, latencyMs: number): void {
    this.#metrics.latency.observe(this.#counters.measured(overlayHex, latencyMs) / 1000);
  }

  addKnown(overlaysHex: readonly string[]): void {
    let news = false;
    for (const id of overlaysHex) {
      if (id === this.#own) continue;
      const overlay = this.#deps.addressBook.get(id)?.overlay ?? fromHex(id);
      if (this.#bins.addKnown(id, overlay)) news = true;
    }
    if (news) this.#changed();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // ── peers come and go ─────────────────────────────────────────────────────────────────────────────────────────────

  #picks(overlay: Uint8Array, fullNode: boolean): boolean {
    this.#metrics.picks.inc();
    const picked =
      !fullNode || this.#options.bootnodeMode || !this.#isOverSaturated(this.#bins.binOf(overlay));
    if (!picked) this.#metrics.refusals.inc();
    return picked;
  }

  #isOverSaturated(bin: number): boolean {
    return this.#excess(bin) >= 0;
  }

  /** Reachable peers beyond the limit; at 0 or more no further ones are accepted. */
  #excess(bin: number): number {
    if (this.#fixed !== undefined) return Number.NEGATIVE_INFINITY;
    const reachable = this.#usableIn(bin).filter(({ overlayHex }) =>
      this.#counters.isPublic(overlayHex),
    ).length;
    return reachable - (this.#options.bootnodeMode ? BOOTNODE_OVER_SATURATION : OVER_SATURATION);
  }

  #connected(peer: Peer): void {
    if (!peer.fullNode) {
      this.#lightConnected(peer);
      return;
    }
    if (peer.direction === 'inbound' && !this.#hasRoomFor(peer)) {
      this.#drop(peer, 'oversaturated');
      return;
    }
    // Chosen before it joins, and joined before any wait: peers that arrive together hear of each other.
    const audience = this.#audience(peer);
    if (peer.underlays.some((underlay) => this.#bootnodeIds.has(peerIdOf(underlay) ?? ''))) {
      this.#bootnodes.add(peer.overlayHex);
    }
    this.#bins.connect(peer);
    this.#counters.connected(peer);
    if (peer.direction === 'inbound') {
      this.#metrics.inbound.inc();
      this.#dialler.connected(peer.overlayHex);
    }
    this.#tiers.changed();
    this.#introductions.introduce(peer, audience);
    // Bees tell only peers that dialled in: early light nodes would know few peers.
    if (!this.#bootnodes.has(peer.overlayHex)) {
      for (const light of this.#light.values()) this.#introductions.tell(light, [peer]);
    }
    this.#prober.connected(peer);
    this.#changed();
  }

  /** Two may have been picked at once. A bootnode drops another peer. */
  #hasRoomFor(peer: Peer): boolean {
    const bin = this.#bins.binOf(peer.overlay);
    if (!this.#isOverSaturated(bin)) return true;
    if (!this.#options.bootnodeMode) return false;
    this.#drop(this.#pick(this.#bins.connected(bin)), 'kicking out random peer to accommodate node');
    return true;
  }

  #lightConnected(peer: Peer): void {
    const others = [...this.#light.values()];
    if (others.length >= LIGHT_PEERS_MAX) this.#drop(this.#pick(others), 'too many light nodes');
    this.#light.set(peer.overlayHex, peer);
    this.#metrics.light.set(this.#light.size);
    this.#introductions.tellNewcomer(peer, this.#audience(peer));
    this.#notify();
  }

  #disconnected(peer: Peer): void {
    if (this.#light.get(peer.overlayHex) === peer) {
      this.#light.delete(peer.overlayHex);
      this.#metrics.light.set(this.#light.size);
      this.#notify();
      return;
    }
    if (!this.#bins.disconnect(peer)) return;
    this.#metrics.disconnections.inc();
    this.#counters.disconnected(peer.overlayHex);
    this.#dialler.disconnected(peer.overlayHex);
    this.#prober.disconnected(peer);
    this.#tiers.changed();
    this.#changed();
  }

  #audience(peer: Peer): Peer[] {
    return this.#introductions.audience(peer, this.#placeOf(peer));
  }

  #placeOf(peer: Peer): Place {
    return { bins: this.#usable(), bin: this.#bins.binOf(peer.overlay), radius: this.storageRadius() };
  }

  #probed(peer: Peer, reachability: Reachability): void {
    this.#metrics.reachability.inc({ peers_reachability_status: reachability });
    if (!this.#counters.probed(peer.overlayHex, reachability)) return;
    this.#tiers.changed();
    if (reachability !== 'Public') return;
    // It counts towards saturation and is announced.
    if (!this.#bootnodes.has(peer.overlayHex)) this.#introductions.reached(peer, this.#placeOf(peer));
    this.#changed();
  }

  #usable(): Peer[][] {
    return Array.from({ length: BINS }, (_, bin) => this.#usableIn(bin));
  }

  #usableIn(bin: number): Peer[] {
    const connected = this.#bins.connected(bin);
    return this.#bootnodes.size === 0
      ? connected
      : connected.filter(({ overlayHex }) => !this.#bootnodes.has(overlayHex));
  }

  #drop(peer: Peer, reason: string): void {
    this.#deps.host
      .disconnect(peer.overlayHex, reason)
      .catch((error: unknown) =>
        this.#deps.log.debug({ err: error, peer: peer.overlayHex }, 'peer had left already'),
      );
  }

  // ── loops ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #manage(): Promise<void> {
    const { signal } = this.#stopped;
    if (this.#fixed !== undefined) return this.#keep(this.#fixed);
    while (!signal.aborted) {
      // Later events trigger another round.
      this.#wake = new AbortController();
      const settled = () => this.#wake.abort(NEWS);
      const lonely = this.#passes.isDue(this.#bins.connectedCount > 0) && this.#dialler.dialling === 0;
      if (lonely) this.#passes.dial(signal, settled);
      // Peers come by themselves; it needs only the other bootnodes.
      if (!this.#options.bootnodeMode) this.#dialler.round(signal, settled);
      await this.#pause(this.#passes.pauseMs(this.#dialler.pauseMs(ROUND_MS)), this.#wake.signal);
    }
  }

  async #keep(links: FixedLinks): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      links.round(signal, () => this.#wake.abort(NEWS));
      await this.#pause(links.pauseMs(ROUND_MS), this.#wake.signal);
    }
  }

  async #every(ms: number, work: () => Promise<void> | void): Promise<void> {
    const { signal } = this.#stopped;
    for (;;) {
      await this.#pause(ms, signal);
      if (signal.aborted) return;
      await work();
    }
  }

  async #flush(): Promise<void> {
    this.#forgetStrangers();
    try {
      await this.#counters.flush();
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'what is remembered of peers could not be written');
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    try {
      await this.#deps.clock.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Neither connected nor in the bounded address book: overlays are free, and without a record it cannot be dialled. */
  #forgetStrangers(): void {
    const { addressBook } = this.#deps;
    const isKept = (id: string) =>
      addressBook.get(id) !== undefined || this.#bins.isConnected(id) || this.#light.has(id);
    this.#bins.retain(isKept);
    this.#dialler.retain(isKept);
    this.#counters.retain(isKept);
    for (const id of this.#bootnodes) if (!isKept(id)) this.#bootnodes.delete(id);
    this.#metrics.known.set(this.#bins.knownCount);
  }

  /** Below the radius, beyond the limit, those that share a slot. */
  #prune(): void {
    const own = this.#deps.host.overlay;
    const below = (bound: number) => this.#deps.random.below(bound);
    for (let bin = 0; bin < Math.min(this.storageRadius(), MAX_PO); bin++) {
      for (let slot = 0; slot < SLOTS && this.#excess(bin) > 0; slot++) {
        const sharing = this.#usableIn(bin).filter(({ overlay }) => slotOf(own, overlay, bin) === slot);
        if (sharing.length > 1) {
          this.#drop(prunedOf(sharing, this.#counters, below), 'pruned from oversaturated bin');
        }
      }
    }
  }

  #changed(): void {
    this.#metrics.connected.set(this.#bins.connectedCount);
    this.#metrics.known.set(this.#bins.knownCount);
    this.#metrics.depth.set(this.storageRadius());
    this.#metrics.connectedDepth.set(this.#bins.depth(NEIGHBOURS_LOW_WATERMARK));
    this.#wake.abort(NEWS);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #pick(peers: readonly Peer[]): Peer {
    return peers[this.#deps.random.below(peers.length)] as Peer;
  }

  /** Nodes with the same addresses should not choose the same peers. */
  #shuffled(ids: readonly string[]): string[] {
    const order = [...ids];
    for (let last = order.length - 1; last > 0; last--) {
      const at = this.#deps.random.below(last + 1);
      [order[last], order[at]] = [order[at] as string, order[last] as string];
    }
    return order;
  }
}
