import type { ParametersOf, ParameterTable, Scenario } from './scenario.ts';

/**
 * What a scenario wants of its cluster besides a number of nodes: scenarios that want the same can share one.
 * @param parameters absent: they are not known yet, and all values of them count as one
 */
export function kindWanted(
  { cluster, needs }: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): string {
  const { light, credit, options, neighbourhoods } = cluster;
  const depending =
    parameters === undefined
      ? ['optionsFor' in cluster, 'creditFor' in cluster, 'groups' in cluster]
      : [cluster.optionsFor?.(parameters), cluster.creditFor?.(parameters), cluster.groups?.(parameters)];
  const links = linksFail({ cluster, needs }, parameters);
  return JSON.stringify({
    light,
    credit,
    options,
    neighbourhoods,
    depending,
    links,
    machines: machinesFail({ needs }),
  });
}

/** Whether links of its cluster must be able to fail. @param parameters absent: as above */
export function linksFail(
  { cluster, needs }: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): boolean {
  if (needs.capabilities?.includes('linkFaults') === true) return true;
  return parameters !== undefined && cluster.linkFaults?.(parameters) === true;
}

/** Whether clocks and disks of its cluster's nodes must be able to fail. */
export function machinesFail({ needs }: Pick<Scenario, 'needs'>): boolean {
  return needs.capabilities?.some((capability) => capability === 'clock' || capability === 'disk') === true;
}
