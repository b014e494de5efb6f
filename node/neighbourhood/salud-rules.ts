/** `p2p-protocols.md` 7.5. */
import { BINS } from '../../formats/chunk/address.ts';

/** Part of the peers whose answers count as quick. */
const QUICK_SHARE = 0.4;
/** Part of the peers that have enough connections. */
const CONNECTED_SHARE = 0.8;
/** Bits by which a peer may lie below the network's depth. */
const DEPTH_TOLERANCE = 2;
/**
 * Equally quick, ms: on one machine answers differ by process scheduling alone, which would make three of five nodes
 * unhealthy.
 */
const DURATION_TOLERANCE_MS = 10;

export interface PeerReport {
  readonly committedDepth: number;
  readonly connectedPeers: bigint;
  readonly batchCommitment: bigint;
  /** Chunks. */
  readonly reserveSizeWithinRadius: bigint;
  readonly durationMs: number;
  /** Within our radius. */
  readonly neighbour: boolean;
}

export interface Norms {
  readonly networkRadius: number;
  /** 0 without neighbours. */
  readonly neighbourhoodRadius: number;
  readonly batchCommitment: bigint;
  readonly durationMsMax: number;
  readonly connectedPeersMin: bigint;
}

export type Fault = 'radius' | 'slow' | 'few connections' | 'batch commitment';

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
 * Undefined for a healthy peer. Bees compute the bound in 8 bits, which wraps at network radius 1 and makes every peer
 * unhealthy.
 */
export function faultOf(report: PeerReport, norms: Norms): Fault | undefined {
  if (report.committedDepth < norms.networkRadius - DEPTH_TOLERANCE) return 'radius';
  if (report.durationMs > norms.durationMsMax + DURATION_TOLERANCE_MS) return 'slow';
  if (report.connectedPeers < norms.connectedPeersMin) return 'few connections';
  if (report.batchCommitment !== norms.batchCommitment) return 'batch commitment';
  return undefined;
}

/** Impossible depths are ignored; of equally frequent ones the lowest counts. */
function commonDepth(reports: readonly PeerReport[]): number {
  const depths = reports.map(({ committedDepth }) => committedDepth).filter((depth) => depth < BINS);
  return mostFrequent(depths.sort((a, b) => a - b)) ?? 0;
}

function mostFrequent<T>(values: readonly T[]): T | undefined {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  return values.find((value) => counts.get(value) === most);
}
