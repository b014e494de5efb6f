/** A node or a chain that ends during a start ends the start at once, with the reason. */
import type { Clock } from '../../../formats/clock.ts';
import type { HarnessError } from '../../base/errors.ts';
import { pause } from '../../base/wait.ts';
import type { Handle } from '../../places/driver.ts';

const PAUSE_MS = 500;

export type WhyEnded = () => Promise<HarnessError | undefined>;

export class PartWatch {
  readonly #clock: Clock;
  readonly #parts = new Set<WhyEnded>();
  readonly #lost = new AbortController();
  readonly #over = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
    void this.#run();
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** @returns forgets the part, which may then be ended on purpose */
  add(part: WhyEnded): Disposable {
    this.#parts.add(part);
    return { [Symbol.dispose]: () => void this.#parts.delete(part) };
  }

  /** Reason behind errors that may be consequences; the signal aborts with it. */
  async reason(): Promise<HarnessError | undefined> {
    await this.#look();
    return this.signal.aborted ? (this.signal.reason as HarnessError) : undefined;
  }

  end(): void {
    this.#over.abort();
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted && !this.signal.aborted) {
      await pause(this.#clock, PAUSE_MS, this.#over.signal);
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const parts = [...this.#parts];
    // A part that cannot be seen now, such as a container whose engine is busy, is looked at again.
    const seen = await Promise.allSettled(parts.map((whyEnded) => whyEnded()));
    const why = seen
      .filter((_, index) => this.#parts.has(parts[index] as WhyEnded))
      .find((outcome) => outcome.status === 'fulfilled' && outcome.value !== undefined);
    if (why?.status === 'fulfilled') this.#lost.abort(why.value);
  }
}

export interface Launched {
  /** Before this, nothing has been created or reported. */
  begun: boolean;
  readonly parts: { readonly name: string; readonly handle: Handle }[];
  readonly watch: PartWatch;
  readonly open: { close(): Promise<void> }[];
}
