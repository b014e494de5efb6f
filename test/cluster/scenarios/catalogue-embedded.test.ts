/**
 * What nodes of one process do in another way than simulated ones, which run every other scenario: their APIs are on
 * sockets, time is the machine's, and faults of their clocks and disks, as well as dishonest nodes, are made inside the
 * process.
 */
import { someScenariosPass } from './catalogue.ts';

someScenariosPass('embedded', ['smoke', 'clock-skew', 'disk-full', 'byzantine']);
