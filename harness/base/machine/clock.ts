/**
 * Time in the harness. A cluster, its nodes and all that waits for them are given their `Clock`; the machine's is
 * handed out here, to what is given none and to what waits for the machine itself.
 */
import { type Clock, systemClock } from '../../../formats/clock.ts';

/** The machine's: of the command line, of the machine's processes and files, and of clusters that are given none. */
export const MACHINE_CLOCK: Clock = systemClock();
