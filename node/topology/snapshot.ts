import { BINS } from '../../formats/chunk/address.ts';
import type { Peer } from '../p2p/host.ts';
import type { Bins } from './bins.ts';
import type { PeerCounters } from './peer-counters.ts';
import type { BinSnapshot, PeerSnapshot, TopologySnapshot } from './topology.ts';

export const NEIGHBOURS_LOW_WATERMARK = 3;

export function snapshotOf(
  head: Pick<TopologySnapshot, 'baseAddr' | 'depth' | 'reachability' | 'networkAvailability'>,
  table: { bins: Bins; light: readonly Peer[]; counters: PeerCounters },
): TopologySnapshot {
  const { bins, light, counters } = table;
  return {
    ...head,
    population: bins.knownCount,
    connected: bins.all.length,
    nnLowWatermark: NEIGHBOURS_LOW_WATERMARK,
    bins: Array.from({ length: BINS }, (_, bin) => binSnapshot(bins, bin, counters)),
    lightNodes: {
      population: light.length,
      connected: light.length,
      disconnectedPeers: [],
      connectedPeers: light.map(({ overlayHex }) => peerSnapshot(overlayHex, counters)),
    },
  };
}

function binSnapshot(bins: Bins, bin: number, counters: PeerCounters): BinSnapshot {
  const connected = bins.connected(bin);
  const ids = new Set(connected.map(({ overlayHex }) => overlayHex));
  const disconnected = [...bins.known(bin)].filter(({ overlayHex }) => !ids.has(overlayHex));
  return {
    population: bins.knownIn(bin),
    connected: connected.length,
    disconnectedPeers: disconnected.map(({ overlayHex }) => peerSnapshot(overlayHex, counters)),
    connectedPeers: connected.map(({ overlayHex }) => peerSnapshot(overlayHex, counters)),
  };
}

function peerSnapshot(id: string, counters: PeerCounters): PeerSnapshot {
  const metrics = counters.snapshot(id);
  return metrics === undefined ? { address: id } : { address: id, metrics };
}
