import type { GroupInput } from '../cluster/plan/definition-input.ts';
import type { Capability } from '../places/driver.ts';
import type { PlannedScenario } from './run-options.ts';
import type { ParametersOf, ParameterTable, Scenario } from './scenario.ts';

const OF_MACHINES: readonly Capability[] = ['clock', 'disk', 'power'];

/** Scenarios that want the same can share a cluster. @param parameters absent: all values count as one */
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

export function linksFail(
  scenario: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): boolean {
  return asksFor('linkFaults', ['linkFaults'], scenario, parameters);
}

export function machinesFail(
  scenario: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): boolean {
  return asksFor('machineFaults', OF_MACHINES, scenario, parameters);
}

export function isTapped(
  scenario: Pick<Scenario, 'cluster' | 'needs'>,
  parameters?: ParametersOf<ParameterTable>,
): boolean {
  return asksFor('tap', ['tap'], scenario, parameters);
}

function asksFor(
  key: 'linkFaults' | 'machineFaults' | 'tap',
  capabilities: readonly Capability[],
  { cluster, needs }: Pick<Scenario, 'cluster' | 'needs'>,
  parameters: ParametersOf<ParameterTable> | undefined,
): boolean {
  if (needs.capabilities?.some((one) => capabilities.includes(one)) === true) return true;
  return parameters !== undefined && cluster[key]?.(parameters) === true;
}

export function nodesWanted(
  { scenario, parameters }: PlannedScenario,
  planned: readonly PlannedScenario[],
): number {
  const kind = kindWanted(scenario, parameters);
  const sharing = planned.filter((other) => kindWanted(other.scenario, other.parameters) === kind);
  return Math.max(...sharing.map((other) => other.scenario.cluster.nodes));
}

/** A group that names its flavour keeps its count: the two nodes of `--with svc=2` stay two. */
export function ownResized(groups: readonly GroupInput[], count: number): GroupInput[] {
  return groups.map((group) => (group.flavour === undefined ? { ...group, count } : group));
}
