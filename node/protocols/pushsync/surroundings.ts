import { addressPrefix, closerTo, isResponsible } from '../../../formats/chunk/address.ts';
import type { Host } from '../../p2p/host.ts';
import type { Topology } from '../../topology/topology.ts';
import { NoRoomError } from './rules.ts';

export interface Surroundings {
  readonly host: Pick<Host, 'overlay'>;
  readonly topology: Pick<Topology, 'peers' | 'storageRadius'>;
}

/** No connected peer is closer to the chunk. */
export function isClosest({ topology }: Surroundings, overlay: Uint8Array, address: Uint8Array): boolean {
  return topology.peers().every((peer) => closerTo(address, overlay, peer.overlay) <= 0);
}

export function belongsHere(surroundings: Surroundings, address: Uint8Array): boolean {
  const { host, topology } = surroundings;
  return (
    isResponsible(host.overlay, address, topology.storageRadius()) ||
    isClosest(surroundings, host.overlay, address)
  );
}

/** This node may lie outside the named neighbourhood, and merely be closer than others. */
export function noRoomFor({ topology }: Surroundings, address: Uint8Array): NoRoomError {
  return new NoRoomError(addressPrefix(address, topology.storageRadius()));
}
