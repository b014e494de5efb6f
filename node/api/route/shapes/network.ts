import type { Dialect } from '../../dialect.ts';
import {
  byName,
  dateTime,
  flag,
  hex32,
  integer,
  list,
  named,
  number,
  object,
  prefix,
  text,
  uint,
} from './json-schema.ts';

const peerMetrics = object({
  lastSeenTimestamp: integer,
  sessionConnectionRetry: uint,
  connectionTotalDuration: uint,
  sessionConnectionDuration: uint,
  sessionConnectionDirection: text,
  latencyEWMA: uint,
  reachability: text,
  healthy: flag,
});
const topologyPeer = object({ address: hex32 }, { metrics: peerMetrics });
const bin = object({
  population: uint,
  connected: uint,
  disconnectedPeers: list(topologyPeer),
  connectedPeers: list(topologyPeer),
});

export function networkShapes(dialect: Dialect) {
  const { fields } = dialect;
  const status = statusShape(dialect);
  return {
    Peers: object({ peers: list(object({ address: hex32, fullNode: flag })) }),
    BlockedPeers: object({
      peers: list(object({ address: hex32, fullNode: flag, reason: text, duration: uint })),
    }),
    OverlayAddress: object({ address: hex32 }),
    RoundTripTime: object({ rtt: text }),
    Topology: object({
      baseAddr: hex32,
      population: uint,
      connected: uint,
      timestamp: dateTime,
      nnLowWatermark: uint,
      depth: uint,
      reachability: text,
      networkAvailability: text,
      bins: byName('^bin_([0-9]|[12][0-9]|3[01])$', bin),
      lightNodes: bin,
    }),
    Status: status,
    StatusList: object(named(fields.statusList, list(status))),
    Neighborhoods: object({
      neighborhoods: list(object({ neighborhood: prefix, reserveSizeWithinRadius: uint, proximity: uint })),
    }),
  };
}

const statusShape = ({ fields, saysNotFailed }: Dialect) =>
  object(
    {
      ...named(fields.statusOverlay, hex32),
      proximity: uint,
      ...named(fields.mode, text),
      reserveSize: uint,
      reserveSizeWithinRadius: uint,
      pullsyncRate: number,
      storageRadius: uint,
      connectedPeers: uint,
      neighborhoodSize: uint,
      ...named(fields.statusCommitment, uint),
      isReachable: flag,
      lastSyncedBlock: uint,
      committedDepth: uint,
      isWarmingUp: flag,
      ...(saysNotFailed ? { requestFailed: flag } : {}),
    },
    { requestFailed: flag },
  );
