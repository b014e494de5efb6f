import { formatMs } from '../../base/format.ts';
import { type NodeAnswers, valueOr } from './ask.ts';

/**
 * A node refuses address records further in its future (p2p-protocols.md 3.4). One look's answers are some seconds apart.
 */
const SKEW_MAX_MS = 60_000;

/**
 * @param nowMs this machine's clock, which breaks the tie of two nodes
 * @returns what is wrong and what follows; undefined: nothing known
 */
export function clockProblem(
  node: NodeAnswers,
  all: readonly NodeAnswers[],
  nowMs: number,
): string | undefined {
  const own = clockOf(node);
  if (own === undefined) return undefined;
  const skewMs = own - median([nowMs, ...clocksOf(all)]);
  if (Math.abs(skewMs) <= SKEW_MAX_MS) return undefined;
  const far = formatMs(Math.abs(skewMs));
  return skewMs < 0
    ? `its clock is ${far} behind: address records that others have signed since are in its future, and it refuses them`
    : `its clock is ${far} ahead: an address record that it signs is in the future of others, and they refuse it`;
}

/**
 * Beside the chain, where its machine is not this one, as a Docker engine's may be.
 * @param nowMs this machine's clock
 * @returns milliseconds since 1970, not after `nowMs`
 */
export function clockOfChain(all: readonly NodeAnswers[], nowMs: number): number {
  const clocks = clocksOf(all);
  return clocks.length === 0 ? nowMs : Math.min(nowMs, median(clocks));
}

/** The later of two. */
function median(clocks: readonly number[]): number {
  return Number(clocks.toSorted((a, b) => a - b)[Math.floor(clocks.length / 2)]);
}

function clocksOf(all: readonly NodeAnswers[]): number[] {
  return all.map(clockOf).filter((at) => at !== undefined);
}

/** Milliseconds since 1970. */
function clockOf({ replies }: NodeAnswers): number | undefined {
  const topology = replies && valueOr(replies.topology, undefined);
  const at = Date.parse(topology?.timestamp ?? '');
  return Number.isNaN(at) ? undefined : at;
}
