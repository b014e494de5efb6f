import { systemClock } from '../../../node/env/clock.ts';
import { processHeap, trimAtRest } from '../../../node/env/heap.ts';

/** A process that exists only to hold nodes gives memory back when they are idle. */
export function trimHolder(): Disposable {
  return trimAtRest({ clock: systemClock(), ...processHeap() });
}
