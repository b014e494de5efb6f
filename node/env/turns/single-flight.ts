/** Callers that want the same thing share the work. */
import { abortable } from '../abortable.ts';

const ABANDONED = new DOMException('nobody waits for it any more', 'AbortError');

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
  settled: boolean;
}

export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** The work's signal aborts when its last caller has left. @throws the signal's reason, else what the work throws */
  async join(
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiting++;
    try {
      const result = await abortable(flight.result, signal);
      flight.settled = true;
      return result;
    } finally {
      flight.waiting--;
      if (flight.waiting === 0) this.#end(key, flight);
    }
  }

  get size(): number {
    return this.#flights.size;
  }

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const flight: Flight<T> = { result: work(controller.signal), controller, waiting: 0, settled: false };
    this.#flights.set(key, flight);
    return flight;
  }

  #end(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    if (!flight.settled) flight.controller.abort(ABANDONED);
  }
}
