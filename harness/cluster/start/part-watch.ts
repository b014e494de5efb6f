/**
 * What a start has launched, while it waits for the rest: a node or a chain that ends meanwhile ends the start at
 * once with the reason, instead of with a deadline that says what is missing.
 */
import type { Clock } from '../../../formats/clock.ts';
import type { HarnessError } from '../../base/errors.ts';
import { pause } from '../../base/wait.ts';
import type { Handle } from '../../places/driver.ts';

/** Long enough to cost a start nothing: each look asks for every part. */
const PAUSE_MS = 500;

/** Why a part has ended; undefined: it has not. */
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

  /** Aborts with the reason when a part has ended. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** @returns forgets the part, which may then be ended on purpose */
  add(part: WhyEnded): Disposable {
    this.#parts.add(part);
    return { [Symbol.dispose]: () => void this.#parts.delete(part) };
  }

  /** Why a part ended, for errors that may be consequences; the signal aborts with it. */
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

/** What has to end when a start fails. */
export interface Launched {
  /** Before this, nothing has been created or reported. */
  begun: boolean;
  readonly parts: { readonly name: string; readonly handle: Handle }[];
  /** Looks after the parts that were ready once. */
  readonly watch: PartWatch;
  /** Connections. */
  readonly open: { close(): Promise<void> }[];
}
