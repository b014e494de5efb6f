/** The machine's clock, for what is given no `Clock`, and what waits for the machine itself. */
import { type Clock, systemClock } from '../../../formats/clock.ts';

export const MACHINE_CLOCK: Clock = systemClock();
