/**
 * The newest version that both ends know. The first stream of a connection finds out, at the cost of a round trip when it is
 * refused; both stream protocols of a version come together.
 */
import { type Peer, StreamError } from '../../p2p/host.ts';
import type { Version } from './versions.ts';

export class Negotiation {
  /** Newest first. */
  readonly #versions: readonly Version[];
  /** One per connection, dropped with it. */
  readonly #spoken = new WeakMap<Peer, Version>();

  constructor(versions: readonly Version[]) {
    this.#versions = versions;
  }

  /**
   * @param open calls `opened` once it has a stream; before, it may be called again with an older version
   * @throws what `open` throws
   */
  async speak<T>(peer: Peer, open: (version: Version, opened: () => void) => Promise<T>): Promise<T> {
    for (const version of this.#versions) {
      const known = this.#spoken.get(peer);
      if (known !== undefined && known !== version) continue;
      try {
        return await open(version, () => this.#spoken.set(peer, version));
      } catch (error) {
        const refused = error instanceof StreamError && error.code === 'PROTOCOL_UNSUPPORTED';
        if (!refused || version === this.#versions.at(-1) || this.#spoken.get(peer) === version) throw error;
      }
    }
    throw new StreamError('PROTOCOL_UNSUPPORTED', 'peer has changed its version of pull syncing');
  }
}
