import type { Driver, DriverName } from './driver.ts';
import { createEmbeddedDriver } from './embedded/driver.ts';
import type { DriverOptions } from './options.ts';
import { createProcessDriver } from './process.ts';

const DRIVERS: Readonly<Record<DriverName, (options: DriverOptions) => Driver>> = {
  process: createProcessDriver,
  embedded: createEmbeddedDriver,
};

export function createDriver(name: DriverName, options: DriverOptions): Driver {
  return DRIVERS[name](options);
}
