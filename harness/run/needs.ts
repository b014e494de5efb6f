import type { Chain } from '../chain/chain.ts';
import type { PlannedNode } from '../cluster/plan/planned-node.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { type Capability, startedWithout } from '../places/driver.ts';
import { DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import type { Scenario } from './scenario.ts';

/** What a cluster has, or would have. */
export interface Present {
  readonly nodes: readonly Pick<PlannedNode, 'flavour' | 'mode'>[];
  readonly driver: { readonly name: DriverName; readonly capabilities: ReadonlySet<Capability> };
  readonly chain: Pick<Chain, 'controlled'>;
}

/** @returns the first unmet need, and a remedy */
export function unmetNeed(
  { needs }: Pick<Scenario, 'needs'>,
  { nodes, driver, chain }: Present,
): string | undefined {
  if (needs.started === true && !DRIVER_FACTS[driver.name].owned) {
    return 'needs nodes that svcnet has started, with options and logs of its own: run it without --name';
  }
  if (needs.control === true && !chain.controlled) {
    return 'needs the control endpoint of the chain, for blocks, funds or prices: name it in the network file';
  }
  if (needs.reachable === true && DRIVER_FACTS[driver.name].simulated) {
    return `needs nodes that other programs reach, and those of the ${driver.name} driver are in this process alone`;
  }
  for (const capability of needs.capabilities ?? []) {
    const lacking = lackingCapability(driver, capability);
    if (lacking !== undefined) return lacking;
  }
  const working = nodes.filter(({ mode }) => mode !== 'boot').length;
  if (working < needs.nodes)
    return `needs ${needs.nodes} running full or light nodes, the cluster has ${working}`;
  const absent = needs.modes?.find((mode) => nodes.every((node) => node.mode !== mode));
  if (absent !== undefined) return `needs a node of mode ${absent}`;
  const lacking = needs.flavours?.find((flavour) => nodes.every((node) => node.flavour !== flavour));
  if (lacking === undefined) return undefined;
  const { images, simulated, owned } = DRIVER_FACTS[driver.name];
  if (owned && (lacking === 'dishonest' ? images : simulated)) {
    return `needs a node of flavour ${lacking}, which the ${driver.name} driver does not have`;
  }
  const variable = FLAVOURS[lacking].binaryVariable;
  const how =
    variable === undefined
      ? lacking === 'dishonest'
        ? '--dishonest wrong-data, or other behaviours'
        : `--with ${lacking}=1`
      : images
        ? `a group with flavour: ${lacking} and image: NAME, in a definition (--file)`
        : `--with ${lacking}=2 --${lacking}-binary PATH, or name the program in ${variable}`;
  return `needs a node of flavour ${lacking}: ${how}`;
}

export function lackingCapability(driver: Present['driver'], capability: Capability): string | undefined {
  if (driver.capabilities.has(capability)) return undefined;
  const without = startedWithout(driver.name, capability);
  if (without !== undefined) {
    const which = capability === 'linkFaults' ? '' : ` (${capability})`;
    return `needs ${without.needed}${which}: start the cluster with ${without.start}`;
  }
  return `needs the capability '${capability}', which the ${driver.name} driver does not have`;
}
