import { systemClock } from '../../../formats/clock.ts';
import { keepHeapSmall, processHeap } from '../../../node/env/heap.ts';

export function trimHolder(): Disposable {
  return keepHeapSmall({ clock: systemClock(), ...processHeap() });
}
