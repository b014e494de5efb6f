import { ManualClock } from '../protocols/manual-clock.ts';

/** Sleeping takes no time: whoever sleeps moves the clock to where it wants to be, and what is due before fires. */
export class VirtualClock extends ManualClock {
  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const wakeAt = this.monotonic() + ms;
    await this.settle();
    signal?.throwIfAborted();
    await this.advance(Math.max(0, wakeAt - this.monotonic()));
    signal?.throwIfAborted();
  }
}
