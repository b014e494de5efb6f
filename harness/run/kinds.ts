import type { GroupInput } from '../cluster/plan/definition-input.ts';
import type { Capability } from '../places/driver.ts';
import type { PlannedScenario } from './run-options.ts';
import type { ParametersOf, ParameterTable, Scenario } from './scenario.ts';

const OF_MACHINES: readonly Capability[] = ['clock', 'disk', 'power'];

/**
 * What a scenario wants of its cluster besides a number of nodes: scenarios that want the same can share one.
 * @param parameters absent: unknown, all values count as one
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
    machines: machinesFail({ cluster, needs }, parameters),
    tap: isTapped({ cluster, needs }, parameters),
  });
}

/** Whether links must be able to fail. @param parameters absent: as above */
export function linksFail(
  scenario: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): boolean {
  return asksFor('linkFaults', ['linkFaults'], scenario, parameters);
}

/** Whether clocks, disks and power must be able to fail. @param parameters absent: as above */
export function machinesFail(
  scenario: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): boolean {
  return asksFor('machineFaults', OF_MACHINES, scenario, parameters);
}

/** Whether it reads or changes what nodes say to each other. @param parameters absent: as above */
export function isTapped(
  scenario: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): boolean {
  return asksFor('tap', ['tap'], scenario, parameters);
}

/** Whether it needs one of the capabilities always, or with these parameters. */
function asksFor(
  key: 'linkFaults' | 'machineFaults' | 'tap',
  capabilities: readonly Capability[],
  { cluster, needs }: Pick<Scenario, 'cluster' | 'needs'>,
  parameters: ParametersOf<ParameterTable> | undefined,
): boolean {
  if (needs.capabilities?.some((one) => capabilities.includes(one)) === true) return true;
  return parameters !== undefined && cluster[key]?.(parameters) === true;
}

/** How many of our own nodes its cluster has: the most that a scenario of the run wants which can share it. */
export function nodesWanted(
  { scenario, parameters }: PlannedScenario,
  planned: readonly PlannedScenario[],
): number {
  const kind = kindWanted(scenario, parameters);
  const sharing = planned.filter((other) => kindWanted(other.scenario, other.parameters) === kind);
  return Math.max(...sharing.map((other) => other.scenario.cluster.nodes));
}

/**
 * Groups with as many of our own nodes as scenarios want. A group that names its flavour is beside these: the two
 * nodes of `--with svc=2` stay two.
 */
export function ownResized(groups: readonly GroupInput[], count: number): GroupInput[] {
  return groups.map((group) => (group.flavour === undefined ? { ...group, count } : group));
}
