import { ATTACHED_CAPABILITIES } from './attached.ts';
import { DOCKER_CAPABILITIES, DockerDriver } from './docker/driver.ts';
import {
  type Capability,
  capabilitiesWith,
  type Driver,
  type DriverName,
  type StartingDriver,
} from './driver.ts';
import { EMBEDDED_CAPABILITIES, EmbeddedDriver } from './embedded/driver.ts';
import type { DriverOptions } from './options.ts';
import { PROCESS_CAPABILITIES, ProcessDriver } from './process.ts';

interface Row {
  readonly capabilities: ReadonlySet<Capability>;
  readonly create: (options: DriverOptions) => Driver;
}

const DRIVERS: Readonly<Record<StartingDriver, Row>> = {
  process: { capabilities: PROCESS_CAPABILITIES, create: (options) => new ProcessDriver(options) },
  embedded: { capabilities: EMBEDDED_CAPABILITIES, create: (options) => new EmbeddedDriver(options) },
  docker: { capabilities: DOCKER_CAPABILITIES, create: (options) => new DockerDriver(options) },
};

/** Creates a driver that starts its nodes itself. */
export function createDriver(name: StartingDriver, options: DriverOptions): Driver {
  return DRIVERS[name].create(options);
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
  if (name === 'attached') return ATTACHED_CAPABILITIES;
  const { capabilities } = DRIVERS[name];
  const hasLinks = linkFaults || (name === 'embedded' && inMemory);
  return capabilitiesWith(capabilities, { linkFaults: hasLinks, machineFaults });
}
