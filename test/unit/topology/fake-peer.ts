import { toHex } from '../../../formats/crypto/hex.ts';
import type { Peer } from '../../../node/p2p/host.ts';

/** It has no streams. */
export function fakePeer(overlay: Uint8Array, changes: Partial<Peer> = {}): Peer {
  return {
    overlayHex: toHex(overlay),
    overlay,
    ethereum: new Uint8Array(20),
    fullNode: true,
    direction: 'inbound',
    generation: '15.0.0',
    underlays: [],
    welcomeMessage: '',
    remoteAddress: '/ip4/127.0.0.1/tcp/1634',
    connectedAt: 0,
    closed: new AbortController().signal,
    ...changes,
  };
}
