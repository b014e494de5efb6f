import type { Clock } from '../../formats/clock.ts';
import { AttachedDriver } from './attached.ts';
import { DockerDriver } from './docker/driver.ts';
import type { Driver, DriverOptions } from './driver.ts';
import { EmbeddedDriver } from './embedded/driver.ts';
import type { DriverName } from './facts.ts';
import { ProcessDriver } from './process.ts';
import { SimulatedDriver } from './simulated/driver.ts';

const DRIVERS: Readonly<Record<DriverName, (options: () => DriverOptions, clock: Clock) => Driver>> = {
  process: (options) => new ProcessDriver(options()),
  embedded: (options) => new EmbeddedDriver(options()),
  docker: (options) => new DockerDriver(options()),
  simulated: (options) => new SimulatedDriver(options()),
  attached: (_options, clock) => new AttachedDriver(clock),
};

export function createDriver(name: DriverName, clock: Clock, options: () => DriverOptions): Driver {
  return DRIVERS[name](options, clock);
}
