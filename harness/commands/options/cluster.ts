import { CLUSTER_OPTIONS, type ClusterFlag, type FlaggedOption } from '../../cluster/plan/options/table.ts';
import type { Options } from './spec.ts';

/** @param own replaces the table's words @returns in the given order */
export function clusterOptions(
  names: readonly FlaggedOption[],
  own: Readonly<Partial<Record<FlaggedOption, Partial<ClusterFlag>>>> = {},
): Options {
  return Object.fromEntries(
    names.map((name) => {
      const shared: ClusterFlag = CLUSTER_OPTIONS[name].flag;
      const { flag, fallback, help, ...spec } = { ...shared, ...own[name] };
      return [flag, { ...spec, help: fallback === undefined ? help : `${help} (default: ${fallback})` }];
    }),
  );
}

export const MIXED_NOTE = `
Add real Bees with --with bee=COUNT; --bee-binary or SVCNET_BEE_BINARY names the executable. In a cluster with a Bee,
blocks are mined at the block time and never on demand, and every node uses the public network's payment-threshold and
refresh-rate, even in the fast profile: a Bee blocklists peers that settle at a different rate.
`;
