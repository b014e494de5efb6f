import type { Clock } from '../../../formats/clock.ts';

/** How long a connection may stand still while its client sends a body or takes an answer. */
export interface Patience {
  /** Milliseconds without a byte of the body, or without a piece of the answer being taken. */
  readonly idleMs: number;
  readonly clock: Pick<Clock, 'timer'>;
  /** Called for each standstill that was too long. */
  readonly over: (what: 'body' | 'answer') => void;
}
