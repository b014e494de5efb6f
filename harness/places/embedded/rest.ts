import { systemClock } from '../../../formats/clock.ts';
import { keepHeapSmall, processHeap } from '../../../node/env/heap.ts';

/** A process that exists only to hold nodes gives memory back when they are idle. */
export function trimHolder(): Disposable {
  return keepHeapSmall({ clock: systemClock(), ...processHeap() });
}
