import type { Clock } from '../../../formats/clock.ts';

/** How long a client may send or take nothing. */
export interface Patience {
  /** Time without a byte of the body, or a piece taken. */
  readonly idleMs: number;
  readonly clock: Pick<Clock, 'timer'>;
  readonly over: (what: 'body' | 'answer') => void;
}
