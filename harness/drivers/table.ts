import type { Driver, DriverName } from './driver.ts';
import { createProcessDriver, type ProcessDriverOptions } from './process.ts';

export function createDriver(name: DriverName, options: ProcessDriverOptions): Driver {
  switch (name) {
    case 'process':
      return createProcessDriver(options);
  }
}
