/**
 * A cluster, its nodes and what waits for them are given their `Clock`; the machine's is for what is given none and for what
 * waits for the machine.
 */
import { type Clock, systemClock } from '../../../formats/clock.ts';

export const MACHINE_CLOCK: Clock = systemClock({ countsRunning: true });
