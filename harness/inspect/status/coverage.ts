/** Neighbourhoods without a node: their chunks have no place. */
import { addressPrefix } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { plural } from '../../base/format.ts';
import type { Storer } from '../ledger/placement.ts';
import { type NodeAnswers, peersOf } from './ask.ts';

const SHOWN = 4;

/** @param named neighbourhoods already listed as a problem */
export function coverageProblems(nodes: readonly NodeAnswers[], named: readonly string[] = []): string[] {
  const storers = nodes.flatMap(({ overlay, mode, replies }) =>
    mode === 'full' && replies !== undefined && 'value' in replies.status
      ? [{ overlay: fromHex(overlay), radius: replies.status.value.storageRadius }]
      : [],
  );
  const deepest = Math.max(0, ...storers.map(({ radius }) => radius));
  const others = unlisted(nodes).map((overlay) => ({ overlay: fromHex(overlay), radius: deepest }));
  const empty = uncovered([...storers, ...others]).filter((prefix) => !named.includes(prefix));
  const shown = empty
    .slice(0, SHOWN)
    .map(
      (prefix) =>
        `neighbourhood ${prefix}: no running node covers it at the present radius (${deepest}), so no node has to keep its chunks; add a node whose overlay starts with ${prefix}, or raise reserve-capacity`,
    );
  const rest = empty.slice(SHOWN);
  return rest.length === 0
    ? shown
    : [...shown, `${plural(rest.length, 'more neighbourhood')} without a node: ${rest.join(', ')}`];
}

/** Full peers outside the cluster, such as other nodes of an attached network. */
function unlisted(nodes: readonly NodeAnswers[]): string[] {
  const own = new Set(nodes.map(({ overlay }) => overlay));
  const met = nodes.flatMap((node) => peersOf(node) ?? []);
  return [...new Set(met)].filter((overlay) => !own.has(overlay));
}

/**
 * Largest ranges outside every storer's radius, in order.
 * @returns first bits, as `0` and `1`; none without storers
 */
export function uncovered(storers: readonly Storer[]): string[] {
  if (storers.length === 0) return [];
  const covered = new Set(storers.map(({ overlay, radius }) => addressPrefix(overlay, radius)));
  return gaps('', covered);
}

/** Descends only into partly covered ranges: at most as many steps as the sum of all radii. */
function gaps(prefix: string, covered: ReadonlySet<string>): string[] {
  if (covered.has(prefix)) return [];
  const within = [...covered].filter((other) => other.startsWith(prefix));
  if (within.length === 0) return [prefix];
  const inside = new Set(within);
  return [...gaps(`${prefix}0`, inside), ...gaps(`${prefix}1`, inside)];
}
