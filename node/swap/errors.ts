/** In the specification's words. `node-behaviour.md` 6. */
const TEXTS = {
  CHEQUE_MALFORMED: 'malformed cheque',
  WRONG_CHEQUEBOOK: 'wrong chequebook',
  WRONG_BENEFICIARY: 'wrong beneficiary',
  NOT_FROM_FACTORY: 'chequebook not deployed by factory',
  NOT_INCREASING: 'cheque cumulativePayout is not increasing',
  VALUE_TOO_LOW: 'cheque value lower than acceptable',
  CHEQUE_INVALID: 'invalid cheque',
  BOUNCING_CHEQUE: 'bouncing cheque',
  NO_EXCHANGE_HEADER: 'no exchange header',
  RATE_HEADER_MALFORMED: 'malformed header',
  DEDUCTION_NOT_ZERO: 'received deduction not zero',
  EXCHANGE_RATE_MISMATCH: 'exchange rates mismatch',
  DEDUCTION_MISMATCH: 'deduction values mismatch',
  NO_EXCHANGE_RATE: 'exchange rate not yet available',
  CHEQUEBOOK_OUT_OF_FUNDS: 'chequebook out of funds',
  NO_CHEQUEBOOK: 'no chequebook',
  INSUFFICIENT_TOKEN_BALANCE: 'insufficient token balance',
  FOREIGN_CHEQUEBOOK: 'chequebook of another issuer',
  NO_CHEQUE: 'no prior cheque',
  CHEQUE_NOT_TAKEN: 'cheque not taken',
} as const;

export type SwapErrorCode = keyof typeof TEXTS;

export class SwapError extends Error {
  readonly code: SwapErrorCode;

  /** @param detail found and expected */
  constructor(code: SwapErrorCode, detail?: string, options?: ErrorOptions) {
    super(detail === undefined ? TEXTS[code] : `${TEXTS[code]}: ${detail}`, options);
    this.name = 'SwapError';
    this.code = code;
  }
}
