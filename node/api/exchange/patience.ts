import type { Clock } from '../../env/clock.ts';

/** How long a connection may stand still while its client sends a body or takes an answer. */
export interface Patience {
  /** Milliseconds without a byte of the body, or in which a piece of the answer was not taken. */
  readonly idleMs: number;
  readonly clock: Pick<Clock, 'timer'>;
  /** Told of each that was too long. */
  readonly over: (what: 'body' | 'answer') => void;
}
