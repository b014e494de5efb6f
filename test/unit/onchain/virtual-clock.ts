import { ManualClock } from '../protocols/manual-clock.ts';

/** Sleeping moves the clock to the end of the sleep; what is due before fires. */
export class VirtualClock extends ManualClock {
  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const wakeAt = this.monotonic() + ms;
    await this.settle();
    signal?.throwIfAborted();
    await this.advance(Math.max(0, wakeAt - this.monotonic()));
    signal?.throwIfAborted();
  }
}
