/**
 * Why an endpoint refused a signed transaction, read from the text of its error: no code tells it. `contracts.md`
 * 14.5.
 */
import { ChainError } from '../../../formats/ethereum/chain-error.ts';

/** `known`: it has these very bytes. `used`: the nonce belongs to a mined transaction. */
export type Refusal = 'known' | 'used' | 'other';

/** @returns undefined when there was no answer, so that nothing is known about the transaction */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof ChainError)) throw error;
  if (error.code === 'RPC_UNREACHABLE') return undefined;
  if (/already (?:known|imported)|known transaction/i.test(error.message)) return 'known';
  return /nonce too low/i.test(error.message) ? 'used' : 'other';
}
