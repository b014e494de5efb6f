import { type AbiValue, encodeCall, selectorOf } from '../../formats/ethereum/abi.ts';
import { LocalChainError } from '../errors.ts';
import type { ContractAddresses } from './deploy.ts';

/** A change of price writes two contracts. */
const GAS_OF_CHANGE = 200_000;
/** The postage oracle keeps its price in 32 bits, ten of them for small steps (contracts.md 5). */
export const STORAGE_PRICE_MAX = 2 ** 22 - 1;

export interface OwnerCall {
  readonly what: string;
  readonly contract: keyof ContractAddresses;
  readonly data: string;
  readonly gas: number;
}

const RESUMING = {
  token: 'unpause()',
  postageStamp: 'unPause()',
  postagePriceOracle: 'unPause()',
  stakeRegistry: 'unPause()',
  redistribution: 'unPause()',
} as const satisfies Partial<Record<keyof ContractAddresses, string>>;

export type PausableContract = keyof typeof RESUMING;

/** @throws LocalChainError OPTIONS_INVALID, listing the known names */
export function pausableContract(name: string): PausableContract {
  if (Object.hasOwn(RESUMING, name)) return name as PausableContract;
  const known = Object.keys(RESUMING).join(', ');
  throw new LocalChainError(
    'OPTIONS_INVALID',
    `contract is ${JSON.stringify(name)}, expected one of ${known}`,
  );
}

export function pauseCall(contract: PausableContract): OwnerCall {
  return change(`pause of ${contract}`, contract, 'pause()');
}

export function resumeCall(contract: PausableContract): OwnerCall {
  return change(`end of the pause of ${contract}`, contract, RESUMING[contract]);
}

export function swapPriceCall(price: bigint): OwnerCall {
  return change(`swap price ${price}`, 'swapPriceOracle', 'updatePrice(uint256)', price);
}

/** @param deduction from a peer's first cheque, token units */
export function swapDeductionCall(deduction: bigint): OwnerCall {
  const signature = 'updateChequeValueDeduction(uint256)';
  return change(`swap deduction ${deduction}`, 'swapPriceOracle', signature, deduction);
}

/**
 * @param price of one chunk and block, token units; at least the oracle's minimum
 * @throws LocalChainError OPTIONS_INVALID
 */
export function storagePriceCall(price: bigint): OwnerCall {
  if (price > STORAGE_PRICE_MAX) {
    throw new LocalChainError('OPTIONS_INVALID', `price is ${price}, expected at most ${STORAGE_PRICE_MAX}`);
  }
  return change(`storage price ${price}`, 'postagePriceOracle', 'setPrice(uint32)', price);
}

function change(
  what: string,
  contract: keyof ContractAddresses,
  signature: string,
  ...values: AbiValue[]
): OwnerCall {
  return { what, contract, data: encodeCall(selectorOf(signature), ...values), gas: GAS_OF_CHANGE };
}
