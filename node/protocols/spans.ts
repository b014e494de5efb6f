import { proximityOrder } from '../../formats/chunk/address.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Attributes, SpanOptions } from '../env/tracing/tracing.ts';
import type { Peer } from '../p2p/host.ts';

interface Attempt {
  readonly peer: Peer;
  readonly address: Uint8Array;
  readonly attempt: number;
  /** Accounting units. */
  readonly cost: bigint;
}

export function attemptSpan({ peer, address, attempt, cost }: Attempt): SpanOptions {
  return {
    kind: 'client',
    attributes: {
      'chunk.address': toHex(address),
      'peer.overlay': peer.overlayHex,
      'peer.proximity_order': proximityOrder(peer.overlay, address),
      attempt,
      cost: Number(cost),
    },
  };
}

/** @param overlay of the node that it arrived at */
export function chunkAttributes(overlay: Uint8Array, address: Uint8Array): Attributes {
  return { 'chunk.address': toHex(address), 'chunk.proximity_order': proximityOrder(overlay, address) };
}
