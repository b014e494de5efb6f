/** Why an endpoint refused a transaction, by its text: no code tells. `contracts.md` 14.5. */
import { ChainError } from '../../../formats/ethereum/chain-error.ts';

/** `known`: the same bytes. `used`: a mined transaction has the nonce. */
export type Refusal = 'known' | 'used' | 'other';

/** @returns undefined without an answer: nothing is known */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof ChainError)) throw error;
  if (error.code === 'RPC_UNREACHABLE') return undefined;
  if (/already (?:known|imported)|known transaction/i.test(error.message)) return 'known';
  return /nonce too low/i.test(error.message) ? 'used' : 'other';
}
