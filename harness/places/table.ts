import type { Clock } from '../../formats/clock.ts';
import { ATTACHED_CAPABILITIES, AttachedDriver } from './attached.ts';
import { DOCKER_CAPABILITIES, DockerDriver } from './docker/driver.ts';
import { type Capability, capabilitiesWith, type Driver } from './driver.ts';
import { EmbeddedDriver } from './embedded/driver.ts';
import { DRIVER_FACTS, type DriverName } from './facts.ts';
import type { DriverOptions } from './options.ts';
import { PROCESS_CAPABILITIES, ProcessDriver } from './process.ts';
import { SIMULATED_CAPABILITIES, SimulatedDriver } from './simulated/driver.ts';

interface Row {
  readonly capabilities: ReadonlySet<Capability>;
  readonly create: (options: () => DriverOptions, clock: Clock) => Driver;
}

const DRIVERS: Readonly<Record<DriverName, Row>> = {
  process: { capabilities: PROCESS_CAPABILITIES, create: (options) => new ProcessDriver(options()) },
  embedded: { capabilities: PROCESS_CAPABILITIES, create: (options) => new EmbeddedDriver(options()) },
  docker: { capabilities: DOCKER_CAPABILITIES, create: (options) => new DockerDriver(options()) },
  simulated: {
    capabilities: SIMULATED_CAPABILITIES,
    create: (options) => new SimulatedDriver(options()),
  },
  attached: { capabilities: ATTACHED_CAPABILITIES, create: (_options, clock) => new AttachedDriver(clock) },
};

/** @param options asked for only by a driver that starts nodes */
export function createDriver(name: DriverName, clock: Clock, options: () => DriverOptions): Driver {
  return DRIVERS[name].create(options, clock);
}

/**
 * Capabilities of every driver of that name.
 * @param options.linkFaults as in the definition @param options.inMemory whether all nodes could share one process
 */
export function capabilitiesOf(
  name: DriverName,
  {
    linkFaults = false,
    inMemory = false,
    machineFaults = false,
  }: { linkFaults?: boolean; inMemory?: boolean; machineFaults?: boolean } = {},
): ReadonlySet<Capability> {
  const { capabilities } = DRIVERS[name];
  const hasLinks = linkFaults || (DRIVER_FACTS[name].shared && inMemory);
  return capabilitiesWith(capabilities, { linkFaults: hasLinks, machineFaults });
}
