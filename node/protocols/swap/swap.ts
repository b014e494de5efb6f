/**
 * Settlement by cheques. `p2p-protocols.md` 4.7, `node-behaviour.md` 6.4 and 6.5.
 *
 *   debtor                                     creditor
 *   open                            ──►        rates, and a deduction unless it has had one
 *   same rates as own?              ◄──        headers exchange, deduction
 *   store cheque of amount × rate + deduction
 *   EmitCheque{cheque}              ──►        check it, on the chain as well; store; credit the debtor
 *   the debt is paid                ◄──        end of the stream; a reset when it was refused
 *
 * Only the orderly end of the stream counts as payment. Without it the cheque is in doubt: the debt stays, and the next
 * payment is reduced by it, so that both are worth the debt whether the first arrived or not. What is still in doubt when a
 * peer comes back is shown to it first: a peer that has it refuses the repetition.
 */

import type { Clock } from '../../../formats/clock.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import type { PaymentLedger } from '../../accounting/ports.ts';
import { abortable } from '../../env/abortable.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import { Lock } from '../../env/turns/lock.ts';
import { RateLimits } from '../../env/turns/rate-limit.ts';
import { type Chain } from '../../onchain/ports.ts';
import { type Headers, type Host, type MessageStream, type Peer, StreamError } from '../../p2p/host.ts';
import { MISCONDUCT_MS } from '../../p2p/peers/conduct.ts';
import { decodeCheque, encodeCheque, recoverIssuer, type SignedCheque } from '../../swap/cheque.ts';
import type { IssuedCheque } from '../../swap/cheque-store.ts';
import type { Chequebook } from '../../swap/chequebook.ts';
import { isDeployed, issuerOf, liquidBalanceFor, paidOut } from '../../swap/contracts.ts';
import { SwapError, type SwapErrorCode } from '../../swap/errors.ts';
import type { Rates } from '../../swap/price-oracle.ts';
import type { SwapServices } from '../../swap/services.ts';
import { SWAP_METRICS } from './metrics.ts';
import {
  checkIncrease,
  checkIssuer,
  checkParties,
  checkRates,
  creditOf,
  deductionFor,
  increaseFor,
  ratesHeaders,
  ratesOf,
  unitsOf,
} from './rules.ts';
import { EmitCheque, SWAP } from './wire.ts';

/**
 * One payment with all its chain queries, both sides. A slow endpoint answers in seconds, and a first cheque takes six
 * queries in sequence; a Bee waits as long. The payer begins to count first, so what it hears in time is never about a
 * cheque it has given up.
 */
export const PAYMENT_TIMEOUT_MS = 30_000;
/** Each costs a signature check and up to six chain queries. An honest payer waits ten seconds. */
const REFUSALS = { perSecond: 0.5, burst: 8 } as const;
const CHAIN_RETRY_MS = 1_000;

export interface SwapProtocolOptions {
  readonly factory: string;
  readonly beneficiary: Uint8Array;
}

export interface SwapProtocolDeps {
  readonly host: Pick<Host, 'handle' | 'open' | 'onConnect' | 'onConnected' | 'blocklist' | 'misbehaved'>;
  readonly accounting: PaymentLedger;
  readonly swap: Pick<SwapServices, 'cheques' | 'oracle' | 'chequebook' | 'chainId'>;
  readonly chain: Pick<Chain, 'call'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface SwapProtocol {
  /**
   * Resolves once the peer has taken the cheque. @param amount accounting units
   * @throws SwapError, StreamError, ChainError, TimeoutError: the debt stays
   */
  pay(peer: Peer, amount: bigint): Promise<void>;
  /** Accounting units in doubt or prepaid, that the peer may have credited. */
  inDoubt(peer: Peer): bigint;
}

export function createSwap(options: SwapProtocolOptions, deps: SwapProtocolDeps): SwapProtocol {
  const { host, swap } = deps;
  const protocol = new Cheques(options, deps);
  host.handle(
    SWAP,
    (stream, signal) => protocol.serve(stream, signal),
    (peer) => protocol.answer(peer),
  );
  host.onConnect((peer) => swap.cheques.moved(peer));
  host.onConnected((peer) => protocol.connected(peer));
  return protocol;
}

/** Whatever records either side has lost. */
const NEVER_HONEST: ReadonlySet<SwapErrorCode> = new Set(['CHEQUE_INVALID', 'WRONG_BENEFICIARY']);

interface Session {
  readonly lock: Lock;
  /** Written without a sign that it was taken. */
  unconfirmed: bigint;
  /** Taken, but not counted. */
  prepaid: bigint;
}

interface Offer {
  readonly cheque: SignedCheque;
  readonly asked: Rates;
}

class Cheques implements SwapProtocol {
  readonly #options: SwapProtocolOptions;
  readonly #deps: SwapProtocolDeps;
  readonly #metrics: MetricsOf<typeof SWAP_METRICS>;
  readonly #sessions = new WeakMap<Peer, Session>();
  readonly #told = new WeakMap<Peer, Rates>();
  /** Taken one at a time: each starts from the state the previous one left. */
  readonly #taking = new Lock();
  readonly #refusals: RateLimits;

  constructor(options: SwapProtocolOptions, deps: SwapProtocolDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#refusals = new RateLimits(REFUSALS, deps.clock);
    this.#metrics = deps.metrics.register(SWAP_METRICS);
  }

  // ── creditor ──────────────────────────────────────────────────────────────────────────────────────────────────────

  answer(peer: Peer): Headers {
    const { oracle, cheques } = this.#deps.swap;
    const rates = oracle.rates();
    if (rates === undefined) {
      this.#told.delete(peer);
      return new Map();
    }
    const asked = cheques.hasDeductedFor(peer.overlayHex) ? { ...rates, deduction: 0n } : rates;
    this.#told.set(peer, asked);
    return ratesHeaders(asked);
  }

  async serve(stream: MessageStream, signal: AbortSignal): Promise<void> {
    const asked = this.#told.get(stream.peer);
    using deadline = this.#deps.clock.deadline(PAYMENT_TIMEOUT_MS, signal);
    const message = await stream.read(EmitCheque, deadline.signal);
    const refusals = this.#refusals.of(stream.peer.overlayHex);
    await refusals.take(1, deadline.signal);
    try {
      if (asked === undefined) throw new SwapError('NO_EXCHANGE_HEADER');
      await this.#receive(stream.peer, { cheque: decodeCheque(message.cheque), asked }, deadline.signal);
      refusals.giveBack(1);
    } catch (error) {
      this.#metrics.rejected.inc();
      const { code } = error as { code?: unknown };
      this.#deps.log.info({ peer: stream.peer.overlayHex, code }, 'cheque refused');
      // A reset says that we refuse the cheque, or have it. While we cannot tell, the payer hears nothing.
      if (!(error instanceof SwapError)) await aborted(deadline.signal);
      else await this.#refused(stream.peer, error);
      throw error;
    }
  }

  /** @throws HostError `NETWORK_UNAVAILABLE` */
  async #refused(peer: Peer, { code, message }: SwapError): Promise<void> {
    const { host } = this.#deps;
    if (code === 'CHEQUE_MALFORMED') await host.blocklist(peer.overlayHex, MISCONDUCT_MS, message);
    else if (NEVER_HONEST.has(code)) host.misbehaved(peer, message);
  }

  async #receive(peer: Peer, { cheque, asked }: Offer, signal: AbortSignal): Promise<void> {
    this.#checkRecords(peer, { cheque, asked });
    await this.#checkChain(cheque, signal);
    await this.#taking.run(async () => {
      signal.throwIfAborted();
      // Another cheque may have been taken meanwhile.
      const { increase, rates } = this.#checkRecords(peer, { cheque, asked });
      await this.#deps.swap.cheques.recordReceived(peer, cheque, { deducted: rates.deduction > 0n });
      this.#deps.accounting.paymentReceived(peer, creditOf(increase, rates));
      this.#metrics.received.inc();
      this.#metrics.receivedAmount.inc(Number(increase));
    });
  }

  /** A deduction announced on two streams at once is taken from one cheque only. */
  #checkRecords(peer: Peer, { cheque, asked }: Offer): { increase: bigint; rates: Rates } {
    const { cheques } = this.#deps.swap;
    const rates = cheques.hasDeductedFor(peer.overlayHex) ? { ...asked, deduction: 0n } : asked;
    const acceptance = {
      mayPayFrom: cheques.mayPayFrom(peer.overlayHex, cheque.chequebook),
      beneficiary: this.#options.beneficiary,
      lastPayout: cheques.lastReceived(cheque.chequebook)?.cumulativePayout ?? 0n,
      rates,
    };
    checkParties(cheque, acceptance);
    return { increase: checkIncrease(cheque, acceptance), rates };
  }

  /** A silent endpoint is asked again as long as the payer waits. */
  async #checkChain(cheque: SignedCheque, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#checkChequebook(cheque, signal);
        await this.#checkBacking(cheque, signal);
        return;
      } catch (err) {
        if (!(err instanceof ChainError)) throw err;
        this.#deps.log.debug({ err }, 'cheque could not be looked up');
      }
      await this.#deps.clock.sleep(CHAIN_RETRY_MS, signal);
    }
  }

  /** Issuers and deployed contracts never change: the signer of the last cheque may sign this one. */
  async #checkChequebook(cheque: SignedCheque, signal: AbortSignal): Promise<void> {
    const { chain, swap } = this.#deps;
    const { chequebook } = cheque;
    const signer = recoverIssuer(cheque, swap.chainId);
    const last = swap.cheques.lastReceived(chequebook);
    if (last !== undefined && equalBytes(recoverIssuer(last, swap.chainId), signer)) return;
    const { factory } = this.#options;
    if (!(await isDeployed(chain, { factory, chequebook }, signal))) throw new SwapError('NOT_FROM_FACTORY');
    checkIssuer(signer, await issuerOf(chain, chequebook, signal));
  }

  /**
   * The payout is read before the balance: a cashout of ours mined in between is then missing from both, never counted
   * twice. A cheque short for that reason alone is checked again.
   */
  async #checkBacking({ chequebook, beneficiary, cumulativePayout }: SignedCheque, signal: AbortSignal) {
    const { chain } = this.#deps;
    const account = { chequebook, beneficiary };
    let paid = await paidOut(chain, account, signal);
    for (;;) {
      const liquid = await liquidBalanceFor(chain, account, signal);
      const claim = cumulativePayout - paid;
      if (liquid >= claim) return;
      const paidMeanwhile = await paidOut(chain, account, signal);
      if (paidMeanwhile === paid) throw new SwapError('BOUNCING_CHEQUE', `${liquid} left for ${claim}`);
      paid = paidMeanwhile;
    }
  }

  // ── debtor ────────────────────────────────────────────────────────────────────────────────────────────────────────

  connected(peer: Peer): void {
    const session = this.#session(peer);
    session.lock
      .run(() => this.#settleEarlier(peer, session, peer.closed))
      .catch((err: unknown) =>
        this.#deps.log.debug({ err, peer: peer.overlayHex }, 'cheque in doubt could not be settled'),
      );
  }

  pay(peer: Peer, amount: bigint): Promise<void> {
    const session = this.#session(peer);
    return session.lock.run(async () => {
      using deadline = this.#deps.clock.deadline(PAYMENT_TIMEOUT_MS, peer.closed);
      await this.#settleEarlier(peer, session, deadline.signal);
      await this.#pay(peer, session, { amount, signal: deadline.signal });
      this.#metrics.sent.inc();
      this.#metrics.sentAmount.inc(Number(amount));
    });
  }

  inDoubt(peer: Peer): bigint {
    const { oracle, chequebook } = this.#deps.swap;
    const rates = oracle.rates();
    if (rates === undefined) return 0n;
    const unconfirmed = chequebook?.lastIssued(peer.ethereum)?.unconfirmed ?? 0n;
    return unitsOf(unconfirmed + this.#session(peer).prepaid, rates);
  }

  async #pay(
    peer: Peer,
    session: Session,
    { amount, signal }: { amount: bigint; signal: AbortSignal },
  ): Promise<void> {
    const chequebook = this.#chequebook();
    const rate = this.#deps.swap.oracle.rates()?.exchangeRate ?? 0n;
    const price = amount * rate;
    if (price > 0n && session.prepaid >= price) {
      this.#prepaid(peer, session, { amount: session.prepaid - price, rate });
      return;
    }
    const { rates, issued } = await this.#present(peer, signal, async (asked) => {
      const increase = increaseFor(amount, asked.exchangeRate, session);
      const again = chequebook.lastIssued(peer.ethereum);
      if (increase === 0n && again !== undefined) return again;
      // A cheque stored after we gave up is in doubt like any other.
      const deduction = this.#deductionFor(peer, asked);
      const issuing = chequebook.issue(peer, { price: increase, deduction }, signal);
      const { issued: next, available } = await abortable(issuing, signal);
      session.unconfirmed += increase;
      this.#metrics.availableBalance.set(Number(available));
      return next;
    });
    const ahead = session.prepaid + session.unconfirmed - amount * rates.exchangeRate;
    this.#prepaid(peer, session, { amount: ahead, rate: rates.exchangeRate });
    session.unconfirmed = 0n;
    await this.#deps.swap.cheques.recordConfirmed(peer, issued, { deducted: rates.deduction > 0n });
  }

  /** What an earlier session left in doubt is shown again, or written off when the peer refuses it. */
  async #settleEarlier(peer: Peer, session: Session, signal: AbortSignal): Promise<void> {
    const last = this.#deps.swap.chequebook?.lastIssued(peer.ethereum);
    if (last === undefined || last.unconfirmed <= session.unconfirmed) return;
    using deadline = this.#deps.clock.deadline(PAYMENT_TIMEOUT_MS, signal);
    const { cheques } = this.#deps.swap;
    try {
      const { rates } = await this.#present(peer, deadline.signal, async () => last);
      const ahead = session.prepaid + last.unconfirmed - this.#deductionFor(peer, rates);
      this.#prepaid(peer, session, { amount: ahead, rate: rates.exchangeRate });
      session.unconfirmed = 0n;
      await cheques.recordConfirmed(peer, last, { deducted: rates.deduction > 0n });
    } catch (error) {
      if (!(error instanceof SwapError && error.code === 'CHEQUE_NOT_TAKEN')) throw error;
      await cheques.recordConfirmed(peer, last, { deducted: false });
    }
  }

  /**
   * @param choose from the rates that the peer asks
   * @throws SwapError `CHEQUE_NOT_TAKEN` when the peer has refused it
   */
  async #present(
    peer: Peer,
    signal: AbortSignal,
    choose: (rates: Rates) => Promise<IssuedCheque>,
  ): Promise<{ rates: Rates; issued: IssuedCheque }> {
    const stream = await this.#deps.host.open(peer, SWAP.id, { signal });
    try {
      const rates = ratesOf(stream.headers);
      const { oracle, cheques } = this.#deps.swap;
      checkRates(rates, oracle.rates(), { deductedBefore: cheques.hasDeductedBy(peer.overlayHex) });
      const issued = await choose(rates);
      await stream.write(EmitCheque, { cheque: encodeCheque(issued.cheque) });
      await taken(stream, signal);
      return { rates, issued };
    } catch (error) {
      stream.reset(error instanceof Error ? error : new Error('payment failed', { cause: error }));
      throw error;
    }
  }

  #prepaid(peer: Peer, session: Session, { amount, rate }: { amount: bigint; rate: bigint }): void {
    session.prepaid = amount;
    this.#deps.accounting.paidAhead(peer, amount / rate);
  }

  #deductionFor(peer: Peer, asked: Rates): bigint {
    const issuedBefore = this.#deps.swap.cheques.hasDeductionIssued(peer.overlayHex);
    return deductionFor(asked, { issuedBefore });
  }

  #chequebook(): Chequebook {
    const { chequebook } = this.#deps.swap;
    if (chequebook === undefined) throw new SwapError('NO_CHEQUEBOOK');
    return chequebook;
  }

  #session(peer: Peer): Session {
    const known = this.#sessions.get(peer);
    if (known !== undefined) return known;
    const session = { lock: new Lock(), unconfirmed: 0n, prepaid: 0n };
    this.#sessions.set(peer, session);
    return session;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}

/** Its end says that the creditor kept the cheque, its reset that it did not. */
async function taken(stream: MessageStream, signal: AbortSignal): Promise<void> {
  try {
    await abortable(stream.close(), signal);
  } catch (cause) {
    const refused = cause instanceof StreamError && cause.code === 'STREAM_RESET';
    if (refused && !stream.peer.closed.aborted) throw new SwapError('CHEQUE_NOT_TAKEN', undefined, { cause });
    throw cause;
  }
}
