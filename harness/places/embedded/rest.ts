import { systemClock } from '../../../node/env/clock.ts';
import { processHeap, trimAtRest } from '../../../node/env/heap.ts';

/** A process that lives for the nodes that it holds gives memory back when they are at rest. */
export function trimHolder(): Disposable {
  return trimAtRest({ clock: systemClock(), ...processHeap() });
}
