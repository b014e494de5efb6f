/**
 * Asks one peer after another for the same thing, several at a time, until one delivers: `p2p-protocols.md` 4.8 and 4.9,
 * retry loops. Attempts are never cancelled, because a peer that delivers late must still be paid.
 */

import type { Clock } from '../../formats/clock.ts';
import { AccountingError, type Credit } from '../accounting/ports.ts';
import type { Peer } from '../p2p/host.ts';

/** Added once when the chunk's neighbourhood is reached. */
const NEIGHBOURHOOD_ERRORS = 2;
/** Unless the peer is paid before: a refresh may have been granted by then. */
const OVERDRAFT_SKIP_MS = 600;

export interface AttemptsPlan<T, R> {
  /** Failures after which the call gives up, multiplexing aside. */
  readonly errorsMax: number;
  /** After this long without a result another attempt starts; absent: never. */
  readonly preemptiveMs?: number;
  readonly skip: Set<string>;
  /** Best peer outside `skip`. */
  choose(skip: ReadonlySet<string>): Peer | undefined;
  /** Attempts added once when the neighbourhood is reached. */
  readonly multiplex: number;
  /** Without a result for this long after a peer of the neighbourhood was asked; absent: at once. */
  readonly multiplexAfterMs?: number | undefined;
  isNeighbour(peer: Peer): boolean;
  /** @throws AccountingError when the peer cannot be asked now */
  reserve(peer: Peer): Credit;
  /** Calls `wake` once when a refused peer can be asked. */
  awaitCredit(peer: Peer, wake: () => void): Disposable;
  attempt(peer: Peer, credit: Credit): Promise<T>;
  /** Makes a delivery the call's result; a throw makes it a failure of that peer. */
  accept(delivered: T, peer: Peer): R;
  /** Also called after the end of the call. @returns whether asking further peers is useful */
  failed(peer: Peer, error: unknown): boolean;
}

export type AttemptsOutcome<R> =
  | { readonly outcome: 'done'; readonly result: R }
  | { readonly outcome: 'nobody' }
  | { readonly outcome: 'exhausted'; readonly cause: unknown };

/** @throws the signal's reason when it aborts first */
export async function attemptPeers<T, R>(
  plan: AttemptsPlan<T, R>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<AttemptsOutcome<R>> {
  signal.throwIfAborted();
  const attempts = new Attempts(plan, clock);
  const onAbort = () => attempts.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await attempts.run();
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

class Attempts<T, R> {
  readonly #plan: AttemptsPlan<T, R>;
  readonly #clock: Clock;
  readonly #end = Promise.withResolvers<AttemptsOutcome<R>>();
  #over = false;
  #preemption: Disposable | undefined;
  #multiplexing: Disposable | undefined;
  #creditPause: Disposable | undefined;
  /** Refused by accounting → end of the pause, monotonic. */
  readonly #overdrawn = new Map<Peer, number>();
  #credits: Disposable[] = [];
  #errorsLeft: number;
  #inFlight = 0;
  #multiplexed = false;

  constructor(plan: AttemptsPlan<T, R>, clock: Clock) {
    this.#plan = plan;
    this.#clock = clock;
    this.#errorsLeft = plan.errorsMax;
  }

  run(): Promise<AttemptsOutcome<R>> {
    this.#guarded(() => this.#next());
    this.#preemptLater();
    return this.#end.promise;
  }

  abort(reason: unknown): void {
    this.#stop();
    this.#end.reject(reason);
  }

  #finish(outcome: AttemptsOutcome<R>): void {
    this.#stop();
    this.#end.resolve(outcome);
  }

  #stop(): void {
    this.#over = true;
    this.#preemption?.[Symbol.dispose]();
    this.#multiplexing?.[Symbol.dispose]();
    this.#endCreditPause();
  }

  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.abort(error);
    }
  }

  #preemptLater(): void {
    const { preemptiveMs } = this.#plan;
    if (preemptiveMs === undefined || this.#over) return;
    this.#preemption = this.#clock.timer(preemptiveMs, () => {
      this.#guarded(() => this.#next());
      this.#preemptLater();
    });
  }

  /** Starts attempts, and more when the neighbourhood is first reached. */
  #next(wanted = 1): void {
    while (wanted > 0 && !this.#over) {
      const peer = this.#choose();
      if (peer === undefined) {
        this.#nobodyLeft();
        return;
      }
      if (!this.#multiplexed && this.#plan.isNeighbour(peer)) {
        this.#multiplexed = true;
        this.#errorsLeft += NEIGHBOURHOOD_ERRORS;
        if (this.#plan.multiplexAfterMs === undefined) wanted += this.#plan.multiplex;
      }
      if (!this.#start(peer)) continue;
      wanted--;
      if (this.#multiplexed) this.#multiplexLater();
    }
  }

  #multiplexLater(): void {
    const { multiplex, multiplexAfterMs } = this.#plan;
    if (multiplexAfterMs === undefined || this.#multiplexing !== undefined) return;
    const start = () => this.#guarded(() => this.#next(multiplex));
    this.#multiplexing = this.#clock.timer(multiplexAfterMs, start);
  }

  #choose(): Peer | undefined {
    if (this.#overdrawn.size > 0) this.#readmit(this.#clock.monotonic());
    return this.#plan.choose(this.#plan.skip);
  }

  /** Peers whose pause ends by `until` may be asked again. */
  #readmit(until: number): void {
    for (const [peer, end] of this.#overdrawn) {
      if (end > until) continue;
      this.#overdrawn.delete(peer);
      this.#plan.skip.delete(peer.overlayHex);
    }
  }

  /** @returns false when accounting refused */
  #start(peer: Peer): boolean {
    this.#plan.skip.add(peer.overlayHex);
    let credit: Credit;
    try {
      credit = this.#plan.reserve(peer);
    } catch (error) {
      if (!(error instanceof AccountingError)) throw error;
      this.#overdrawn.set(peer, this.#clock.monotonic() + OVERDRAFT_SKIP_MS);
      return false;
    }
    this.#endCreditPause();
    this.#inFlight++;
    this.#plan.attempt(peer, credit).then(
      (delivered) => this.#guarded(() => this.#delivered(peer, delivered)),
      (error: unknown) => this.#guarded(() => this.#failed(peer, error)),
    );
    return true;
  }

  #delivered(peer: Peer, delivered: T): void {
    if (this.#over) return;
    let result: R;
    try {
      result = this.#plan.accept(delivered, peer);
    } catch (error) {
      this.#failed(peer, error);
      return;
    }
    this.#inFlight--;
    this.#finish({ outcome: 'done', result });
  }

  #failed(peer: Peer, error: unknown): void {
    this.#inFlight--;
    // A peer that left says nothing about the chunk: it costs no tolerance, and may be asked again.
    if (!peer.closed.aborted) {
      this.#errorsLeft = this.#plan.failed(peer, error) ? this.#errorsLeft - 1 : 0;
    }
    if (this.#errorsLeft <= 0) this.#finish({ outcome: 'exhausted', cause: error });
    else this.#next();
  }

  #nobodyLeft(): void {
    if (this.#overdrawn.size > 0) this.#waitForCredit();
    else if (this.#inFlight === 0) this.#finish({ outcome: 'nobody' });
  }

  #waitForCredit(): void {
    if (this.#creditPause !== undefined) return;
    const goOn = () => {
      this.#endCreditPause();
      this.#guarded(() => this.#next());
    };
    this.#creditPause = this.#clock.timer(OVERDRAFT_SKIP_MS, () => {
      // A timer may fire a little before the moment that was noted.
      this.#readmit(Number.POSITIVE_INFINITY);
      goOn();
    });
    this.#credits = Array.from(this.#overdrawn.keys(), (peer) =>
      this.#plan.awaitCredit(peer, () => {
        this.#overdrawn.delete(peer);
        this.#plan.skip.delete(peer.overlayHex);
        goOn();
      }),
    );
  }

  #endCreditPause(): void {
    this.#creditPause?.[Symbol.dispose]();
    this.#creditPause = undefined;
    for (const credit of this.#credits.splice(0)) credit[Symbol.dispose]();
  }
}
