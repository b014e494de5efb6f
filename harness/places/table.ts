import { createDockerDriver, DOCKER_CAPABILITIES } from './docker/driver.ts';
import type { Capability, Driver, DriverName } from './driver.ts';
import { createEmbeddedDriver, EMBEDDED_CAPABILITIES } from './embedded/driver.ts';
import type { DriverOptions } from './options.ts';
import { createProcessDriver, PROCESS_CAPABILITIES } from './process.ts';

interface Row {
  readonly capabilities: ReadonlySet<Capability>;
  readonly create: (options: DriverOptions) => Driver;
}

const DRIVERS: Readonly<Record<DriverName, Row>> = {
  process: { capabilities: PROCESS_CAPABILITIES, create: createProcessDriver },
  embedded: { capabilities: EMBEDDED_CAPABILITIES, create: createEmbeddedDriver },
  docker: { capabilities: DOCKER_CAPABILITIES, create: createDockerDriver },
};

export function createDriver(name: DriverName, options: DriverOptions): Driver {
  return DRIVERS[name].create(options);
}

/** Of every driver of that name. */
export function capabilitiesOf(name: DriverName): ReadonlySet<Capability> {
  return DRIVERS[name].capabilities;
}
