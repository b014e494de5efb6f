import type { FaultKind } from '../fault.ts';
import { CLOCK } from './clocks.ts';
import { DISK_FAILING, DISK_FULL, DISK_READ_ONLY, DISK_SLOW, FLIP_BITS } from './disks.ts';
import { MEMORY } from './memory.ts';
import { POWER_CUT } from './power.ts';
import { KILL, PAUSE } from './process.ts';
import { CHURN, RESTART, ROLLING_RESTART, STOP } from './restarts.ts';

/** Faults of machines, a row each. */
export const MACHINE_FAULTS: readonly FaultKind[] = [
  KILL,
  PAUSE,
  STOP,
  RESTART,
  ROLLING_RESTART,
  CHURN,
  FLIP_BITS,
  DISK_FULL,
  DISK_READ_ONLY,
  DISK_FAILING,
  DISK_SLOW,
  POWER_CUT,
  CLOCK,
  MEMORY,
];
