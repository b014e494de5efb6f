/**
 * Gossip of address records, in the version that each peer understands. `p2p-protocols.md` 4.2.
 *
 *   announcer                                 receiver
 *   Peers{at most 30 records}  ──►            over the budget of its connection → reset, nothing is read
 *                                             over the budget of its overlay or address → only what we have is read
 *   close                                     every record is judged (`rules.ts`); good ones → address book
 *                                             these and all others with a record here → topology
 */

import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import type { BzzAddress } from '../../p2p/address/record.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import {
  type AddressBook,
  type AddressRecord,
  type Generation,
  type Host,
  type MessageStream,
  type Peer,
  StreamError,
} from '../../p2p/host.ts';
import { PeerLimits } from '../../p2p/peers/peer-limits.ts';
import { converse } from '../conversation.ts';
import { HIVE_METRICS } from './metrics.ts';
import { Budget, isHeld, isNoNews, judge, NEW_RECORDS, toAnnounce } from './rules.ts';
import { BATCH_MAX, HIVE, Peers } from './wire.ts';

const READ_TIMEOUT_MS = 60_000;

export interface HiveOptions {
  readonly networkId: bigint;
  /** Pass on records with private addresses only: networks on one machine have no others. */
  readonly allowPrivateCidrs: boolean;
  /** A bootnode introduces its peers, but keeps no records they send. */
  readonly bootnodeMode: boolean;
  /** Records in one message. Default: as many as a peer accepts. */
  readonly gossipedPeers?: number | undefined;
}

export interface HiveDeps {
  readonly host: Pick<Host, 'overlay' | 'open' | 'handle' | 'onDisconnected' | 'misbehaved'>;
  readonly addressBook: AddressBook;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Hive {
  /** As far as its budget allows. @throws StreamError and the like */
  announce(peer: Peer, overlaysHex: readonly string[], signal: AbortSignal): Promise<void>;
  /** Gets the overlays of a message that we have records of. */
  onLearned(listener: (overlaysHex: readonly string[]) => void): void;
}

export function createHive(options: HiveOptions, deps: HiveDeps): Hive {
  const gossip = new Gossip(options, deps);
  for (const generation of ['15.0.0', '14.0.0'] as const) {
    deps.host.handle(HIVE[generation], (stream, signal) => gossip.serve(stream, generation, signal));
  }
  deps.host.onDisconnected((peer) => gossip.forget(peer));
  return gossip;
}

class Gossip implements Hive {
  readonly #options: HiveOptions;
  readonly #deps: HiveDeps;
  readonly #metrics: MetricsOf<typeof HIVE_METRICS>;
  readonly #inbound = new Map<string, Budget>();
  readonly #outbound = new Map<string, Budget>();
  readonly #news: PeerLimits;
  readonly #listeners: ((overlaysHex: readonly string[]) => void)[] = [];

  constructor(options: HiveOptions, deps: HiveDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(HIVE_METRICS);
    this.#news = new PeerLimits(NEW_RECORDS, deps.clock);
  }

  onLearned(listener: (overlaysHex: readonly string[]) => void): void {
    this.#listeners.push(listener);
  }

  forget(peer: Peer): void {
    this.#inbound.delete(peer.overlayHex);
    this.#outbound.delete(peer.overlayHex);
  }

  async announce(peer: Peer, overlaysHex: readonly string[], signal: AbortSignal): Promise<void> {
    this.#metrics.sent.inc();
    const { gossipedPeers = BATCH_MAX } = this.#options;
    for (let at = 0; at < overlaysHex.length; at += gossipedPeers) {
      const batch = overlaysHex.slice(at, at + gossipedPeers);
      // Charged before filtering, as the receiver does on the public network.
      if (!this.#budget(this.#outbound, peer).take(batch.length, this.#deps.clock.monotonic())) return;
      const peers = this.#records(batch, peer.generation);
      if (peers.length === 0) continue;
      this.#metrics.sentPeers.inc(peers.length);
      await converse({ peer, protocol: HIVE[peer.generation].id, signal }, this.#deps, (stream) =>
        stream.write(Peers, { peers }),
      );
    }
  }

  #records(overlaysHex: readonly string[], generation: Generation): MessageOf<typeof BzzAddress>[] {
    const own = toHex(this.#deps.host.overlay);
    const options = { generation, allowPrivate: this.#options.allowPrivateCidrs };
    return overlaysHex.flatMap((overlayHex) => {
      const record = overlayHex === own ? undefined : this.#deps.addressBook.get(overlayHex);
      return (record && toAnnounce(record, options)) ?? [];
    });
  }

  async serve(stream: MessageStream, generation: Generation, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    using deadline = clock.deadline(READ_TIMEOUT_MS, signal);
    const { peers } = await stream.read(Peers, deadline.signal);
    this.#metrics.received.inc();
    this.#metrics.receivedPeers.inc(peers.length);
    if (!this.#budget(this.#inbound, stream.peer).take(peers.length, clock.monotonic())) {
      // The sender has the same budget and should have stopped.
      this.#deps.host.misbehaved(stream.peer, 'gossip over its budget');
      throw new StreamError('STREAM_RESET', 'rate limit exceeded');
    }
    if (this.#options.bootnodeMode) return;
    const context = {
      ownOverlay: this.#deps.host.overlay,
      networkId: this.#options.networkId,
      nowSeconds: BigInt(Math.floor(clock.now() / 1000)),
      stored: (overlay: Uint8Array) => this.#deps.addressBook.get(toHex(overlay)),
    };
    const taken: AddressRecord[] = [];
    const learned: string[] = [];
    for (const wire of peers) {
      if (!isHeld(wire, generation, context) && !this.#news.tryTake(stream.peer, 1)) {
        this.#dropped(stream.peer, 'TOO_MUCH_NEWS');
        continue;
      }
      const verdict = judge(wire, generation, context);
      if ('take' in verdict) taken.push(verdict.take);
      else this.#dropped(stream.peer, verdict.drop);
      // The node may have introduced itself and left before it became a peer.
      if ('take' in verdict || isNoNews(verdict.drop)) learned.push(toHex(wire.overlay));
    }
    const writes = taken.map((record) => this.#deps.addressBook.put(record));
    if (learned.length > 0) for (const listener of this.#listeners) listener(learned);
    await Promise.all(writes);
    log.debug(
      { peer: stream.peer.overlayHex, records: peers.length, taken: taken.length },
      'peers announced',
    );
  }

  #dropped(peer: Peer, reason: string): void {
    if (reason.startsWith('TIMESTAMP_')) this.#metrics.timestampRejected.inc({ reason });
    this.#deps.log.debug({ peer: peer.overlayHex, reason }, 'announced record dropped');
  }

  #budget(budgets: Map<string, Budget>, peer: Peer): Budget {
    let budget = budgets.get(peer.overlayHex);
    if (budget === undefined) {
      budget = new Budget(this.#deps.clock.monotonic());
      budgets.set(peer.overlayHex, budget);
    }
    return budget;
  }
}
