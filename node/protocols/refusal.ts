/** Asking a node that serves no chunks, or a bootnode, for some violates the protocol. `p2p-protocols.md` 0 and 8. */
import type { Host } from '../p2p/host.ts';

const REFUSED_MS = 60_000;
const REASON = 'unexpected request while in light mode';

/** For protocols used but not served: a peer that opens one is refused for a minute. */
export function refusingHost(
  host: Host,
): Pick<Host, 'overlay' | 'open' | 'handle' | 'misbehaved' | 'isSuspect'> {
  return {
    overlay: host.overlay,
    misbehaved: (...fault) => host.misbehaved(...fault),
    isSuspect: (peer) => host.isSuspect(peer),
    open: (peer, protocolId, options) => host.open(peer, protocolId, options),
    handle: (protocol) =>
      host.handle(protocol, ({ peer }) => host.blocklist(peer.overlayHex, REFUSED_MS, REASON)),
  };
}
