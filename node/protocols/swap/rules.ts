/** Decisions about cheques. `p2p-protocols.md` 4.7, `node-behaviour.md` 6.4, 6.5. */
import { equalBytes } from '../../../formats/crypto/hex.ts';
import type { Headers } from '../../p2p/host.ts';
import type { SignedCheque } from '../../swap/cheque.ts';
import { SwapError } from '../../swap/errors.ts';
import type { Rates } from '../../swap/price-oracle.ts';
import { decodeAmount, encodeAmount } from '../amounts.ts';
import { DEDUCTION_HEADER, EXCHANGE_HEADER } from './wire.ts';

export function ratesHeaders({ exchangeRate, deduction }: Rates): Headers {
  return new Map([
    [EXCHANGE_HEADER, encodeAmount(exchangeRate)],
    [DEDUCTION_HEADER, encodeAmount(deduction)],
  ]);
}

/** @throws SwapError `NO_EXCHANGE_HEADER`, `RATE_HEADER_MALFORMED` */
export function ratesOf(headers: Headers): Rates {
  const exchange = headers.get(EXCHANGE_HEADER);
  if (exchange === undefined || exchange.length === 0) throw new SwapError('NO_EXCHANGE_HEADER');
  return {
    exchangeRate: headerAmount(EXCHANGE_HEADER, exchange),
    deduction: headerAmount(DEDUCTION_HEADER, headers.get(DEDUCTION_HEADER) ?? new Uint8Array(0)),
  };
}

function headerAmount(name: string, value: Uint8Array): bigint {
  const amount = decodeAmount(value);
  if (amount === undefined) throw new SwapError('RATE_HEADER_MALFORMED', `${name} of ${value.length} bytes`);
  return amount;
}

/** In the order of the specification. @throws SwapError */
export function checkRates(
  asked: Rates,
  own: Rates | undefined,
  { deductedBefore }: { deductedBefore: boolean },
): void {
  if (deductedBefore && asked.deduction !== 0n)
    throw new SwapError('DEDUCTION_NOT_ZERO', `${asked.deduction}`);
  if (own === undefined) throw new SwapError('NO_EXCHANGE_RATE');
  if (asked.exchangeRate !== own.exchangeRate)
    throw new SwapError('EXCHANGE_RATE_MISMATCH', `${asked.exchangeRate}, expected ${own.exchangeRate}`);
  if (asked.deduction !== own.deduction && asked.deduction !== 0n)
    throw new SwapError('DEDUCTION_MISMATCH', `${asked.deduction}, expected ${own.deduction} or 0`);
}

/** Payments of this session unknown to accounting, base units. */
export interface Doubt {
  /** Written without a sign that it was taken. */
  readonly unconfirmed: bigint;
  /** Taken, but not counted. */
  readonly prepaid: bigint;
}

/**
 * The increase that pays a debt, before any deduction; 0 when the last cheque is shown again. A cheque in doubt is
 * subtracted: with it the new one is worth the debt, taken or not. If it is worth more than the debt, it is shown again. The
 * receiver accepts no increase below the price of one accounting unit.
 * @param amount accounting units @param doubt without deductions
 */
export function increaseFor(amount: bigint, exchangeRate: bigint, doubt: Doubt): bigint {
  const needed = amount * exchangeRate - doubt.unconfirmed - doubt.prepaid;
  if (needed >= exchangeRate) return needed;
  return doubt.unconfirmed > 0n ? 0n : exchangeRate;
}

/**
 * Added to the first cheque only: a creditor without that cheque gets the deduction with the next one, which replaces it.
 * Granted again to a creditor that denies its cheques, it would be a gift.
 */
export function deductionFor({ deduction }: Rates, { issuedBefore }: { issuedBefore: boolean }): bigint {
  return issuedBefore ? 0n : deduction;
}

export interface Acceptance {
  /** The sender's overlay may pay from this chequebook. */
  readonly mayPayFrom: boolean;
  /** 20 bytes. */
  readonly beneficiary: Uint8Array;
  readonly lastPayout: bigint;
  readonly rates: Rates;
}

/** Checked before it is sure that the chequebook is one. @throws SwapError */
export function checkParties(cheque: SignedCheque, { mayPayFrom, beneficiary }: Acceptance): void {
  if (!mayPayFrom) throw new SwapError('WRONG_CHEQUEBOOK');
  if (!equalBytes(cheque.beneficiary, beneficiary)) throw new SwapError('WRONG_BENEFICIARY');
}

/** @returns increase, base units @throws SwapError `NOT_INCREASING`, `VALUE_TOO_LOW` */
export function checkIncrease(cheque: SignedCheque, { lastPayout, rates }: Acceptance): bigint {
  const increase = cheque.cumulativePayout - lastPayout;
  if (increase <= 0n) throw new SwapError('NOT_INCREASING', `${cheque.cumulativePayout} after ${lastPayout}`);
  if (increase - rates.deduction < rates.exchangeRate)
    throw new SwapError(
      'VALUE_TOO_LOW',
      `${increase}, expected ${rates.exchangeRate + rates.deduction} at least`,
    );
  return increase;
}

/** @param signer of a cheque @param issuer of its chequebook; 20 bytes each @throws SwapError `CHEQUE_INVALID` */
export function checkIssuer(signer: Uint8Array, issuer: Uint8Array): void {
  if (!equalBytes(signer, issuer)) throw new SwapError('CHEQUE_INVALID', 'not signed by the issuer');
}

/** @returns accounting units */
export function creditOf(increase: bigint, { exchangeRate, deduction }: Rates): bigint {
  return (increase - deduction) / exchangeRate;
}

/** @returns most accounting units that the amount pays, never below zero */
export function unitsOf(amount: bigint, { exchangeRate }: Rates): bigint {
  return amount > 0n ? (amount + exchangeRate - 1n) / exchangeRate : 0n;
}
