import type { Driver, DriverName } from './driver.ts';
import { createProcessDriver, type ProcessDriverOptions } from './process.ts';

const DRIVERS: Readonly<Record<DriverName, (options: ProcessDriverOptions) => Driver>> = {
  process: createProcessDriver,
};

export function createDriver(name: DriverName, options: ProcessDriverOptions): Driver {
  return DRIVERS[name](options);
}
