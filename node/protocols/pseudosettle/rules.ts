/** Decisions of time-based settlement, without clock or network. `p2p-protocols.md` 4.6. */
import { CodedError } from '../../../formats/coded-error.ts';
import { decodeAmount } from '../amounts.ts';

export interface ClockTolerance {
  /** Largest difference between the creditor's clock and ours. */
  readonly clockToleranceSeconds: bigint;
  /** Largest difference of the times elapsed on both clocks since the last refresh. */
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

export function unixSeconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}

/** Difference of date and passed time at which our clock counts as set. */
const CLOCK_SET_SECONDS = 2n;

/**
 * As a creditor counts it.
 * @param byDate unix seconds between both stamps; negative when our clock was set back
 * @param passedMs monotonic; undefined when the last refresh was before the start
 */
export function elapsedSince(byDate: bigint, passedMs: number | undefined): bigint {
  if (passedMs === undefined) return byDate;
  const passed = BigInt(Math.floor(passedMs / 1000));
  return distance(byDate, passed) > CLOCK_SET_SECONDS ? passed : byDate;
}

/** No more than asked, owed, or forgiven since the last refresh. */
export function acceptedAmount(refresh: {
  attempted: bigint;
  debt: bigint;
  /** Negative when our clock was set back while the node was off: nothing is accepted once. */
  elapsedSeconds: bigint;
  rate: bigint;
}): bigint {
  const byTime = refresh.elapsedSeconds * refresh.rate;
  const allowance = byTime < refresh.debt ? byTime : refresh.debt;
  const accepted = refresh.attempted < allowance ? refresh.attempted : allowance;
  return accepted > 0n ? accepted : 0n;
}

/** Unix seconds; zero before the first refresh. */
export interface LastRefresh {
  readonly timestamp: bigint;
  /** Our clock when we checked that stamp. */
  readonly checkedAt: bigint;
}

/** The creditor's stamp, clamped to the exchange: a busy machine may read the answer seconds late. */
export function momentOfStamp(stamp: bigint, exchange: { startedAt: bigint; endedAt: bigint }): bigint {
  if (stamp < exchange.startedAt) return exchange.startedAt;
  return stamp > exchange.endedAt ? exchange.endedAt : stamp;
}

/** In the order of the specification. @throws PseudosettleError */
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
