/**
 * Limits of a transaction's cost. `http-api-completion.md` 8.2. Rows behind the gate `gas` find them in `call.gas`; others
 * declare `headers: GAS_HEADERS` with `headersFirst`, and pass on `gasOf(headers)`.
 */
import { bigInteger, uint64 } from './kinds.ts';
import { notNegative, optional, strictly, type ValuesOf } from './params.ts';

export const GAS_HEADERS = {
  gasPrice: optional(bigInteger, undefined, { checks: [strictly(notNegative)] }),
  gasLimit: optional(uint64, undefined),
} as const;

export interface Gas {
  /** Base units per gas. */
  readonly gasPrice?: bigint;
  readonly gasLimit?: bigint;
}

export function gasOf({ gasPrice, gasLimit }: ValuesOf<typeof GAS_HEADERS>): Gas {
  return { ...(gasPrice === undefined ? {} : { gasPrice }), ...(gasLimit === undefined ? {} : { gasLimit }) };
}
