/**
 * Time in the harness. A cluster, its nodes and all that waits for them are given their `Clock`; the machine's is
 * handed out here, to what is given none and to what waits for the machine itself.
 */
import { type Clock, systemClock } from '../../../formats/clock.ts';

export const MACHINE_CLOCK: Clock = systemClock();
