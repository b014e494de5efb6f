/** Decisions of time-based settlement, without clock or network. `p2p-protocols.md` 4.6. */
import { CodedError } from '../../../formats/coded-error.ts';
import { decodeAmount } from '../amounts.ts';

export interface ClockTolerance {
  /** Largest difference between the creditor's clock and ours, seconds. */
  readonly clockToleranceSeconds: bigint;
  /** Largest difference between the times elapsed on the two clocks since the last refresh, seconds. */
  readonly intervalToleranceSeconds: bigint;
}

export type PseudosettleErrorCode =
  | 'SETTLEMENT_TOO_SOON'
  | 'AMOUNT_MALFORMED'
  | 'REFRESHMENT_ABOVE_EXPECTED'
  | 'TIME_OUT_OF_SYNC_ALLEGED'
  | 'TIME_OUT_OF_SYNC_RECENT'
  | 'TIME_OUT_OF_SYNC_INTERVAL';

export class PseudosettleError extends CodedError<PseudosettleErrorCode> {}

/** @throws PseudosettleError `AMOUNT_MALFORMED` when longer than any valid amount */
export function amountOf(bytes: Uint8Array): bigint {
  const amount = decodeAmount(bytes);
  if (amount === undefined)
    throw new PseudosettleError('AMOUNT_MALFORMED', `amount of ${bytes.length} bytes`);
  return amount;
}

/** Unix seconds of a wall time in milliseconds. */
export function unixSeconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}

/** Difference between date and passed time from which on our clock has been set, rather than measured otherwise. */
const CLOCK_SET_SECONDS = 2n;

/**
 * Time since the last refresh, as a creditor counts it.
 * @param byDate unix seconds between both stamps; negative when our clock was set back
 * @param passedMs by the monotonic clock; undefined when the last one was before the start
 */
export function elapsedSince(byDate: bigint, passedMs: number | undefined): bigint {
  if (passedMs === undefined) return byDate;
  const passed = BigInt(Math.floor(passedMs / 1000));
  return distance(byDate, passed) > CLOCK_SET_SECONDS ? passed : byDate;
}

/** What the creditor accepts: no more than asked, owed, or forgiven by the time since the last refresh. */
export function acceptedAmount(refresh: {
  attempted: bigint;
  debt: bigint;
  /** Negative when our clock was set back while this node did not run: nothing is accepted this once. */
  elapsedSeconds: bigint;
  rate: bigint;
}): bigint {
  const byTime = refresh.elapsedSeconds * refresh.rate;
  const allowance = byTime < refresh.debt ? byTime : refresh.debt;
  const accepted = refresh.attempted < allowance ? refresh.attempted : allowance;
  return accepted > 0n ? accepted : 0n;
}

/** What each side noted of the last refresh, unix seconds; zero before the first. */
export interface LastRefresh {
  /** Stamp of the creditor. */
  readonly timestamp: bigint;
  /** Our clock when we checked that stamp. */
  readonly checkedAt: bigint;
}

/**
 * The moment of our clock at which the creditor most likely stamped: its stamp, clamped to the exchange. A busy
 * machine may read an answer seconds after it was sent; that says nothing about the creditor's clock.
 */
export function momentOfStamp(stamp: bigint, exchange: { startedAt: bigint; endedAt: bigint }): bigint {
  if (stamp < exchange.startedAt) return exchange.startedAt;
  return stamp > exchange.endedAt ? exchange.endedAt : stamp;
}

/**
 * The payer's checks on an answer, in the order of the specification.
 * @throws PseudosettleError
 */
export function checkAnswer(
  answer: { attempted: bigint; accepted: bigint; timestamp: bigint },
  { moment, last }: { /** Result of `momentOfStamp`. */ moment: bigint; last: LastRefresh },
  { clockToleranceSeconds, intervalToleranceSeconds }: ClockTolerance,
): void {
  if (answer.accepted > answer.attempted) {
    throw new PseudosettleError('REFRESHMENT_ABOVE_EXPECTED', 'refreshment above expected');
  }
  const allegedSeconds = answer.timestamp - last.timestamp;
  if (allegedSeconds < 0n) {
    throw new PseudosettleError(
      'TIME_OUT_OF_SYNC_ALLEGED',
      'settlement allowance timestamps from peer were decreasing',
    );
  }
  if (distance(answer.timestamp, moment) > clockToleranceSeconds) {
    throw new PseudosettleError(
      'TIME_OUT_OF_SYNC_RECENT',
      `settlement allowance timestamps from peer differed from our measurement by more than ${clockToleranceSeconds} seconds`,
    );
  }
  if (distance(moment - last.checkedAt, allegedSeconds) > intervalToleranceSeconds) {
    throw new PseudosettleError(
      'TIME_OUT_OF_SYNC_INTERVAL',
      `settlement allowance interval from peer differed from local interval by more than ${intervalToleranceSeconds} seconds`,
    );
  }
}

function distance(a: bigint, b: bigint): bigint {
  return a < b ? b - a : a - b;
}
