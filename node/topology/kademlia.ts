/**
 * The table of peers: who is connected, who is dialled, who hears of whom, who is closest. `p2p-protocols.md` 6.
 *
 * Bootnodes: on the public network a dialled bootnode is flagged and not used otherwise, because its operators run it
 * for introductions only. Here a bootnode is an ordinary node that happens to be first, nothing on the wire says
 * otherwise, and a cluster of two nodes has no other peer: bootnodes are used like everybody else.
 *
 * Connected peers count as reachable, and so does this node.
 */
import { BINS, closerTo, MAX_PO } from '../chunk/address.ts';
import { toHex } from '../crypto/hex.ts';
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import type { Random } from '../env/random.ts';
import type { AddressBook, Host, Peer } from '../p2p/host.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { Bins } from './bins.ts';
import { Dialler } from './dialler.ts';
import { KADEMLIA_METRICS } from './metrics.ts';
import { PeerCounters } from './peer-counters.ts';
import { BROADCAST_BIN_SIZE, bootnodePauseMs, OVER_SATURATION, ROUND_MS, SLOTS, slotOf } from './rules.ts';
import { snapshotOf } from './snapshot.ts';
import type { Topology, TopologySnapshot } from './topology.ts';

const PRUNE_MS = 300_000;
const FLUSH_MS = 300_000;
const NEIGHBOUR_GOSSIP_MS = 900_000;
const ANNOUNCE_TIMEOUT_MS = 60_000;
/** Light peers at once; one more drives out another. */
const LIGHT_PEERS_MAX = 100;

export interface KademliaOptions {
  /** Multiaddresses, dialled while no peer is connected. */
  readonly bootnodes: readonly string[];
  /** Depth from which this node stores chunks, 0..31. */
  readonly storageRadius: () => number;
  /** Dial private addresses that others announced: networks on one machine have no others. */
  readonly allowPrivateCidrs: boolean;
}

/** What the table needs of hive. */
export interface Announcer {
  announce(peer: Peer, overlaysHex: readonly string[], signal: AbortSignal): Promise<void>;
  onLearned(listener: (overlaysHex: readonly string[]) => void): void;
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
}

export interface Kademlia extends Topology {
  /** A round trip to a peer took this long. */
  measured(overlayHex: string, latencyMs: number): void;
  /** The storage radius is another one: other peers are wanted, other ones are neighbours. */
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
  readonly #light = new Map<string, Peer>();
  readonly #counters: PeerCounters;
  readonly #dialler: Dialler;
  readonly #metrics: MetricsOf<typeof KADEMLIA_METRICS>;
  readonly #listeners = new Set<() => void>();
  readonly #stopped = new AbortController();
  /** Ends the pause between two rounds. */
  #wake = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();

  constructor(options: KademliaOptions, deps: KademliaDeps) {
    const { host, hive } = deps;
    this.#options = options;
    this.#deps = deps;
    this.#own = toHex(host.overlay);
    this.#bins = new Bins(host.overlay);
    this.#counters = new PeerCounters(deps);
    this.#metrics = deps.metrics.register(KADEMLIA_METRICS);
    this.#dialler = new Dialler(options, {
      ...deps,
      bins: this.#bins,
      counters: this.#counters,
      metrics: this.#metrics,
    });
    host.setPicker((overlay, fullNode) => this.#picks(overlay, fullNode));
    host.onConnected((peer) => this.#connected(peer));
    host.onDisconnected((peer) => this.#disconnected(peer));
    hive.onLearned((overlaysHex) => this.addKnown(overlaysHex));
  }

  async start(): Promise<void> {
    this.addKnown(this.#counters.proven());
    this.addKnown(this.#deps.addressBook.overlays());
    this.#loops = Promise.all([
      this.#manage(),
      this.#every(PRUNE_MS, () => this.#prune()),
      this.#every(FLUSH_MS, () => this.#counters.flush()),
      this.#every(NEIGHBOUR_GOSSIP_MS, () => this.#gossipNeighbours()),
    ]);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake.abort();
    await this.#loops;
    await this.#dialler.idle();
    await this.#counters.flush();
  }

  // ── for the protocols ─────────────────────────────────────────────────────────────────────────────────────────────

  closestPeer(
    address: Uint8Array,
    options: { skip: ReadonlySet<string>; includeSelf: boolean },
  ): Peer | 'self' | undefined {
    let closest: Peer | undefined;
    for (const peer of this.#bins.all) {
      if (options.skip.has(peer.id)) continue;
      if (closest === undefined || closerTo(address, peer.overlay, closest.overlay) < 0) closest = peer;
    }
    if (!options.includeSelf) return closest;
    const self = closest === undefined || closerTo(address, this.#deps.host.overlay, closest.overlay) < 0;
    return self ? 'self' : closest;
  }

  storageRadius(): number {
    return this.#options.storageRadius();
  }

  neighbours(): Peer[] {
    const radius = this.storageRadius();
    return this.#bins.all.filter((peer) => this.#bins.binOf(peer.overlay) >= radius);
  }

  snapshot(): TopologySnapshot {
    return snapshotOf(
      { baseAddr: this.#own, depth: this.storageRadius(), networkAvailability: this.#dialler.availability },
      { bins: this.#bins, light: [...this.#light.values()], counters: this.#counters },
    );
  }

  measured(overlayHex: string, latencyMs: number): void {
    this.#counters.measured(overlayHex, latencyMs);
  }

  radiusChanged(): void {
    this.#changed();
  }

  addKnown(overlaysHex: readonly string[]): void {
    let news = false;
    for (const id of overlaysHex) {
      if (id !== this.#own && this.#bins.addKnown(id)) news = true;
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
    const picked = !fullNode || this.#bins.connectedIn(this.#bins.binOf(overlay)) < OVER_SATURATION;
    if (!picked) this.#metrics.refusals.inc();
    return picked;
  }

  #connected(peer: Peer): void {
    if (!peer.fullNode) {
      this.#lightConnected(peer);
      return;
    }
    // Two peers of one bin may have been picked at the same time.
    if (peer.direction === 'inbound' && !this.#picks(peer.overlay, true)) {
      this.#drop(peer, 'oversaturated');
      return;
    }
    // Chosen before it joins, and joined before anything is awaited: peers that arrive together hear of each other.
    const audience = this.#audience(peer);
    this.#bins.connect(peer);
    this.#counters.connected(peer);
    if (peer.direction === 'inbound') {
      this.#metrics.inbound.inc();
      this.#dialler.accepted(peer.id);
    }
    this.#introduce(peer, audience);
    if (peer.direction === 'inbound') for (const light of this.#light.values()) this.#tell(light, [peer.id]);
    this.#changed();
  }

  #lightConnected(peer: Peer): void {
    const others = [...this.#light.values()];
    if (others.length >= LIGHT_PEERS_MAX) this.#drop(this.#pick(others), 'too many light nodes');
    this.#light.set(peer.id, peer);
    this.#metrics.light.set(this.#light.size);
    this.#tellNewcomer(peer, this.#audience(peer));
    this.#notify();
  }

  #disconnected(peer: Peer): void {
    if (this.#light.get(peer.id) === peer) {
      this.#light.delete(peer.id);
      this.#metrics.light.set(this.#light.size);
      this.#notify();
      return;
    }
    if (!this.#bins.disconnect(peer)) return;
    this.#metrics.disconnections.inc();
    this.#counters.disconnected(peer.id);
    this.#dialler.disconnected(peer.id);
    this.#changed();
  }

  /** Who hears of a new peer, and whom it hears of: all neighbours of a neighbour, two of every other bin. */
  #audience(peer: Peer): Peer[] {
    const radius = this.storageRadius();
    const neighbour = this.#bins.binOf(peer.overlay) >= radius;
    const audience: Peer[] = [];
    for (let bin = 0; bin < BINS; bin++) {
      const others = this.#bins.connected(bin).filter(({ id }) => id !== peer.id);
      audience.push(...(neighbour && bin >= radius ? others : this.#sample(others, BROADCAST_BIN_SIZE)));
    }
    return audience;
  }

  #introduce(peer: Peer, audience: readonly Peer[]): void {
    for (const other of audience) this.#tell(other, [peer.id]);
    this.#tellNewcomer(peer, audience);
  }

  /** In the background; a peer that does not listen is left alone. */
  #tell(peer: Peer, overlaysHex: readonly string[]): void {
    this.#announce(peer, overlaysHex).catch((error: unknown) =>
      this.#deps.log.debug({ err: error, peer: peer.id }, 'announcement failed'),
    );
  }

  /** A new peer that can not be told about others is of no use, and is disconnected. */
  #tellNewcomer(peer: Peer, audience: readonly Peer[]): void {
    const overlays = audience.map(({ id }) => id);
    this.#announce(peer, overlays).catch((error: unknown) => {
      this.#deps.log.debug({ err: error, peer: peer.id }, 'announcement failed');
      const moot = peer.closed.aborted || this.#stopped.signal.aborted;
      if (!moot) this.#drop(peer, 'failed broadcasting to peer');
    });
  }

  async #announce(peer: Peer, overlaysHex: readonly string[]): Promise<void> {
    if (overlaysHex.length === 0) return;
    using deadline = this.#deps.clock.deadline(ANNOUNCE_TIMEOUT_MS, this.#stopped.signal);
    await this.#deps.hive.announce(peer, overlaysHex, deadline.signal);
  }

  #drop(peer: Peer, reason: string): void {
    this.#deps.host
      .disconnect(peer.id, reason)
      .catch((error: unknown) =>
        this.#deps.log.debug({ err: error, peer: peer.id }, 'peer had left already'),
      );
  }

  // ── loops ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #manage(): Promise<void> {
    const { signal } = this.#stopped;
    for (let failedPasses = 0; !signal.aborted; ) {
      // Whatever happens from here on asks for another round.
      this.#wake = new AbortController();
      if (this.#bins.all.length > 0) failedPasses = 0;
      else if (this.#options.bootnodes.length > 0 && this.#dialler.dialling === 0) {
        failedPasses = (await this.#dialler.bootnodes(signal)) ? 0 : failedPasses + 1;
      }
      this.#dialler.round(signal, () => this.#wake.abort());
      const pause = failedPasses > 0 ? bootnodePauseMs(failedPasses) : this.#dialler.pauseMs(ROUND_MS);
      await this.#pause(pause, this.#wake.signal);
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

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    try {
      await this.#deps.clock.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Bins below the radius give up peers beyond the limit, where several share a slot. */
  #prune(): void {
    for (let bin = 0; bin < Math.min(this.storageRadius(), MAX_PO); bin++) {
      let excess = this.#bins.connectedIn(bin) - OVER_SATURATION;
      const peers = this.#bins.connected(bin);
      for (let slot = 0; slot < SLOTS && excess > 0; slot++) {
        const sharing = peers.filter(({ overlay }) => slotOf(this.#deps.host.overlay, overlay, bin) === slot);
        if (sharing.length <= 1) continue;
        this.#drop(this.#pick(sharing), 'pruned from oversaturated bin');
        excess--;
      }
    }
  }

  #gossipNeighbours(): void {
    const neighbours = this.neighbours();
    for (const peer of neighbours) {
      this.#tell(
        peer,
        neighbours.filter(({ id }) => id !== peer.id).map(({ id }) => id),
      );
    }
  }

  #changed(): void {
    this.#metrics.connected.set(this.#bins.all.length);
    this.#metrics.known.set(this.#bins.knownCount);
    this.#metrics.depth.set(this.storageRadius());
    this.#wake.abort();
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #pick(peers: readonly Peer[]): Peer {
    return peers[this.#deps.random.below(peers.length)] as Peer;
  }

  #sample(peers: readonly Peer[], count: number): Peer[] {
    const rest = [...peers];
    while (rest.length > count) rest.splice(this.#deps.random.below(rest.length), 1);
    return rest;
  }
}
