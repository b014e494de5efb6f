/** Rates peers against each other. Pure. `p2p-protocols.md` 7.5. */
import { BINS } from '../../formats/chunk/address.ts';

/** Fraction of the peers whose answers count as quick enough. */
const QUICK_SHARE = 0.4;
/** Fraction of the peers that count as having enough connections. */
const CONNECTED_SHARE = 0.8;
/** Bits by which a peer may lie below the network's depth. */
const DEPTH_TOLERANCE = 2;
/**
 * Answers that differ by less are equally quick, milliseconds. On one machine they all take about as long as the
 * system needs to schedule a process; without this, that alone would declare three of five nodes unhealthy.
 */
const DURATION_TOLERANCE_MS = 10;

/** What a full peer answered. */
export interface PeerReport {
  readonly committedDepth: number;
  readonly connectedPeers: bigint;
  readonly batchCommitment: bigint;
  /** Chunks. */
  readonly reserveSizeWithinRadius: bigint;
  /** Of the request, milliseconds. */
  readonly durationMs: number;
  /** Whether it lies within our storage radius. */
  readonly neighbour: boolean;
}

/** What is usual in the network. */
export interface Norms {
  readonly networkRadius: number;
  /** The same among neighbours; 0 without any. */
  readonly neighbourhoodRadius: number;
  readonly batchCommitment: bigint;
  readonly durationMsMax: number;
  readonly connectedPeersMin: bigint;
}

export type Fault = 'radius' | 'slow' | 'few connections' | 'batch commitment';

/** @param reports at least one */
export function normsOf(reports: readonly PeerReport[]): Norms {
  const durations = reports.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  const connections = reports
    .map(({ connectedPeers }) => connectedPeers)
    .sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  const at = (share: number) => Math.floor(reports.length * share);
  return {
    networkRadius: commonDepth(reports),
    neighbourhoodRadius: commonDepth(reports.filter(({ neighbour }) => neighbour)),
    batchCommitment: mostFrequent(reports.map(({ batchCommitment }) => batchCommitment)) ?? 0n,
    durationMsMax: durations[at(QUICK_SHARE)] as number,
    connectedPeersMin: connections[at(CONNECTED_SHARE)] as bigint,
  };
}

/**
 * What is wrong with a peer, undefined for a healthy one. The bound of the depth is computed as a number: with the 8
 * bits that other implementations have for it, it wraps at network radius 1, and every peer is unhealthy.
 */
export function faultOf(report: PeerReport, norms: Norms): Fault | undefined {
  if (report.committedDepth < norms.networkRadius - DEPTH_TOLERANCE) return 'radius';
  if (report.durationMs > norms.durationMsMax + DURATION_TOLERANCE_MS) return 'slow';
  if (report.connectedPeers < norms.connectedPeersMin) return 'few connections';
  if (report.batchCommitment !== norms.batchCommitment) return 'batch commitment';
  return undefined;
}

/** Depths that no node can have are ignored; of several equally frequent ones the lowest counts. */
function commonDepth(reports: readonly PeerReport[]): number {
  const depths = reports.map(({ committedDepth }) => committedDepth).filter((depth) => depth < BINS);
  return mostFrequent(depths.sort((a, b) => a - b)) ?? 0;
}

/** The first of those that occur most often. */
function mostFrequent<T>(values: readonly T[]): T | undefined {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  return values.find((value) => counts.get(value) === most);
}
