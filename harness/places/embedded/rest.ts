import { systemClock } from '../../../formats/clock.ts';
import { keepHeapSmall, processHeap } from '../../../node/env/heap.ts';

/** A holder gives memory back while its nodes are idle. */
export function trimHolder(): Disposable {
  return keepHeapSmall({ clock: systemClock(), ...processHeap() });
}
