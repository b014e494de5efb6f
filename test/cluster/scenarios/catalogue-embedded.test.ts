/**
 * Embedded nodes differ from simulated ones: APIs are on sockets, and time is the machine's, also for faults, dishonest
 * nodes and taps.
 */
import { someScenariosPass } from './catalogue.ts';

someScenariosPass('embedded', [
  'smoke',
  'clock-skew',
  'disk-full',
  'byzantine',
  'lost-receipt',
  'changed-chunk',
]);
