import type { Clock } from '../../../formats/clock.ts';

/** How long a connection may stand still. */
export interface Patience {
  /** Ms without a byte of the body, or a piece of the answer taken. */
  readonly idleMs: number;
  readonly clock: Pick<Clock, 'timer'>;
  /** Called for each standstill that was too long. */
  readonly over: (what: 'body' | 'answer') => void;
}
