/**
 * What embedded nodes do in another way than simulated ones, which run the whole catalogue: their APIs are on sockets, time
 * is the machine's, and faults of clocks and disks, dishonest nodes and taps, live in that time.
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
