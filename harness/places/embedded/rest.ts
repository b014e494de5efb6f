import { systemClock } from '../../../node/env/clock.ts';
import { keepHeapSmall, processHeap } from '../../../node/env/heap.ts';

/** Fifty nodes that nobody uses need half of it. */
const REST_SHARE = 0.1;

/** A process that exists only to hold nodes gives memory back when they are idle. */
export function trimHolder(): Disposable {
  return keepHeapSmall({ clock: systemClock(), restShare: REST_SHARE, ...processHeap() });
}
