/** Tells new peers and others of each other. `p2p-protocols.md` 6.5. */
import { BINS } from '../../formats/chunk/address.ts';
import type { Clock } from '../../formats/clock.ts';
import type { Random } from '../../formats/random.ts';
import type { Logger } from '../env/logger.ts';
import { Lock } from '../env/turns/lock.ts';
import type { Peer } from '../p2p/host.ts';
import { BROADCAST_BIN_SIZE, SATURATION } from './rules.ts';
import type { Standing } from './tiers.ts';

const ANNOUNCE_TIMEOUT_MS = 60_000;

export interface Announcer {
  announce(peer: Peer, overlaysHex: readonly string[], signal: AbortSignal): Promise<void>;
  onLearned(listener: (overlaysHex: readonly string[]) => void): void;
}

export interface IntroductionsDeps {
  readonly hive: Pick<Announcer, 'announce'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly standing: Pick<Standing, 'isPublic'>;
  /** Whether a node had another's record from the start. */
  readonly knows: (overlayHex: string, otherHex: string) => boolean;
  readonly stopped: AbortSignal;
  /** It cannot be told of others. */
  readonly drop: (peer: Peer, reason: string) => void;
}

/** Connected peers that may be named to others, by bin, and a peer's place. */
export interface Place {
  readonly bins: readonly (readonly Peer[])[];
  readonly bin: number;
  readonly radius: number;
}

interface Turns {
  readonly lock: Lock;
  /** Not sent yet. */
  next: { readonly others: Set<Peer>; sent: Promise<void> } | undefined;
}

export class Introductions {
  readonly #deps: IntroductionsDeps;
  /** Anew after a reconnection. */
  readonly #introduced = new WeakMap<Peer, WeakSet<Peer>>();
  readonly #turns = new WeakMap<Peer, Turns>();

  constructor(deps: IntroductionsDeps) {
    this.#deps = deps;
  }

  /**
   * Who hears of a new peer, and it of them: for a neighbour all neighbours; else reachable peers, all of a bin that is not
   * full, and two of a full one.
   */
  audience(peer: Peer, place: Place): Peer[] {
    return this.#chosen(peer, place, ({ overlayHex }) => this.#deps.standing.isPublic(overlayHex));
  }

  #chosen(peer: Peer, { bins, bin: own, radius }: Place, may: (other: Peer) => boolean): Peer[] {
    const chosen: Peer[] = [];
    for (let bin = 0; bin < BINS; bin++) {
      const others = bins[bin]!.filter((one) => one.overlayHex !== peer.overlayHex);
      if (own >= radius && bin >= radius) chosen.push(...others);
      else chosen.push(...this.#sample(others.filter(may)));
    }
    return chosen;
  }

  introduce(peer: Peer, audience: readonly Peer[]): void {
    this.#tellAll(audience, peer);
    this.tellNewcomer(peer, audience);
  }

  /** Others can reach the peer, a moment after it connected: peers that came meanwhile hear of it now. */
  reached(peer: Peer, place: Place): void {
    this.#tellAll(
      this.#chosen(peer, place, () => true),
      peer,
    );
    this.tell(peer, this.audience(peer, place));
  }

  /** Runs in the background; never tells a peer twice. */
  tell(peer: Peer, others: readonly Peer[]): void {
    this.#inform(peer, this.#news(peer, others));
  }

  #tellAll(others: readonly Peer[], peer: Peer): void {
    for (const other of others) this.tell(other, [peer]);
  }

  tellNewcomer(peer: Peer, audience: readonly Peer[]): void {
    this.#informNewcomer(peer, this.#news(peer, audience));
  }

  #inform(peer: Peer, others: readonly Peer[]): void {
    const told = this.#introduced.get(peer);
    const news = others.filter((other) => told?.has(other) !== true);
    this.#announce(peer, news).catch((err: unknown) =>
      this.#deps.log.debug({ err, peer: peer.overlayHex }, 'announcement failed'),
    );
  }

  #informNewcomer(peer: Peer, audience: readonly Peer[]): void {
    this.#announce(peer, audience).catch((err: unknown) => {
      this.#deps.log.debug({ err, peer: peer.overlayHex }, 'announcement failed');
      const moot = peer.closed.aborted || this.#deps.stopped.aborted;
      if (!moot) this.#deps.drop(peer, 'failed broadcasting to peer');
    });
  }

  remind(neighbours: readonly Peer[]): void {
    for (const peer of neighbours) {
      this.#introduced.delete(peer);
      this.tell(
        peer,
        neighbours.filter((other) => other !== peer),
      );
    }
  }

  /** Those of them that the peer does not know from the start. */
  #news(peer: Peer, others: readonly Peer[]): readonly Peer[] {
    const { knows } = this.#deps;
    return others.filter(({ overlayHex }) => !knows(peer.overlayHex, overlayHex));
  }

  /** One message after the other, the next with all that came meanwhile: a peer serves few streams of ours at once. */
  async #announce(peer: Peer, others: readonly Peer[]): Promise<void> {
    if (others.length === 0) return;
    const told = this.#introduced.get(peer) ?? new WeakSet();
    this.#introduced.set(peer, told);
    for (const other of others) told.add(other);
    const turns = this.#turns.get(peer) ?? { lock: new Lock(), next: undefined };
    this.#turns.set(peer, turns);
    if (turns.next !== undefined) {
      for (const other of others) turns.next.others.add(other);
      return turns.next.sent;
    }
    const news = { others: new Set(others), sent: Promise.resolve() };
    turns.next = news;
    news.sent = turns.lock.run(() => {
      turns.next = undefined;
      return this.#send(peer, [...news.others]);
    });
    return news.sent;
  }

  async #send(peer: Peer, others: readonly Peer[]): Promise<void> {
    const overlaysHex = others.map(({ overlayHex }) => overlayHex);
    using deadline = this.#deps.clock.deadline(ANNOUNCE_TIMEOUT_MS, this.#deps.stopped);
    try {
      await this.#deps.hive.announce(peer, overlaysHex, deadline.signal);
    } catch (error) {
      const told = this.#introduced.get(peer);
      for (const other of others) told?.delete(other);
      throw error;
    }
  }

  #sample(peers: readonly Peer[]): Peer[] {
    const rest = [...peers];
    if (rest.length < SATURATION) return rest;
    while (rest.length > BROADCAST_BIN_SIZE) rest.splice(this.#deps.random.below(rest.length), 1);
    return rest;
  }
}
