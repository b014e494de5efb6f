/** Who hears of whom: a new peer of those it should know, they of it. `p2p-protocols.md` 6.5. */
import { BINS } from '../chunk/address.ts';
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Random } from '../env/random.ts';
import type { Peer } from '../p2p/host.ts';
import { BROADCAST_BIN_SIZE } from './rules.ts';
import type { Standing } from './tiers.ts';

const ANNOUNCE_TIMEOUT_MS = 60_000;

/** What the table needs of hive. */
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
  /** Ends all announcements. */
  readonly stopped: AbortSignal;
  /** A peer that can not be told about others is of no use. */
  readonly drop: (peer: Peer, reason: string) => void;
}

export class Introductions {
  readonly #deps: IntroductionsDeps;

  constructor(deps: IntroductionsDeps) {
    this.#deps = deps;
  }

  /**
   * Who hears of a new peer, and whom it hears of: for a neighbour all neighbours, otherwise two of every bin that
   * others can reach.
   * @param place.bins connected peers that may be named to others, by proximity order to us
   */
  audience(peer: Peer, place: { bins: readonly (readonly Peer[])[]; bin: number; radius: number }): Peer[] {
    const { bins, bin: own, radius } = place;
    const audience: Peer[] = [];
    for (let bin = 0; bin < BINS; bin++) {
      const others = bins[bin]!.filter(({ id }) => id !== peer.id);
      if (own >= radius && bin >= radius) audience.push(...others);
      else audience.push(...this.#sample(others.filter(({ id }) => this.#deps.standing.isPublic(id))));
    }
    return audience;
  }

  /** A new full peer: it is told of its audience, and its audience of it. */
  introduce(peer: Peer, audience: readonly Peer[]): void {
    for (const other of audience) this.tell(other, [peer.id]);
    this.tellNewcomer(peer, audience);
  }

  /** In the background; a peer that does not listen is left alone. */
  tell(peer: Peer, overlaysHex: readonly string[]): void {
    this.#announce(peer, overlaysHex).catch((err: unknown) =>
      this.#deps.log.debug({ err, peer: peer.id }, 'announcement failed'),
    );
  }

  tellNewcomer(peer: Peer, audience: readonly Peer[]): void {
    const overlays = audience.map(({ id }) => id);
    this.#announce(peer, overlays).catch((err: unknown) => {
      this.#deps.log.debug({ err, peer: peer.id }, 'announcement failed');
      const moot = peer.closed.aborted || this.#deps.stopped.aborted;
      if (!moot) this.#deps.drop(peer, 'failed broadcasting to peer');
    });
  }

  /** Each of them hears of the others. */
  remind(neighbours: readonly Peer[]): void {
    for (const peer of neighbours) {
      this.tell(
        peer,
        neighbours.filter(({ id }) => id !== peer.id).map(({ id }) => id),
      );
    }
  }

  async #announce(peer: Peer, overlaysHex: readonly string[]): Promise<void> {
    if (overlaysHex.length === 0) return;
    using deadline = this.#deps.clock.deadline(ANNOUNCE_TIMEOUT_MS, this.#deps.stopped);
    await this.#deps.hive.announce(peer, overlaysHex, deadline.signal);
  }

  #sample(peers: readonly Peer[]): Peer[] {
    const rest = [...peers];
    while (rest.length > BROADCAST_BIN_SIZE) rest.splice(this.#deps.random.below(rest.length), 1);
    return rest;
  }
}
