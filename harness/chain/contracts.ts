import { HarnessError } from '../base/errors.ts';

/** Addresses of the contracts of a network, `0x` and 40 hex digits each. */
export interface Contracts {
  readonly token: string;
  readonly postageStamp: string;
  readonly postagePriceOracle: string;
  readonly stakeRegistry: string;
  readonly redistribution: string;
  readonly chequebookFactory: string;
  readonly swapPriceOracle: string;
}

export const CONTRACT_NAMES = [
  'token',
  'postageStamp',
  'postagePriceOracle',
  'stakeRegistry',
  'redistribution',
  'chequebookFactory',
  'swapPriceOracle',
] as const satisfies readonly (keyof Contracts)[];

/**
 * Reading an unknown address fails with an error that names the contract.
 * @returns enumerates only the known ones
 */
export function knownContracts(known: Partial<Contracts>): Contracts {
  const contracts = { ...known };
  for (const name of CONTRACT_NAMES.filter((contract) => known[contract] === undefined)) {
    Object.defineProperty(contracts, name, {
      enumerable: false,
      get() {
        throw new HarnessError('CONTRACT_UNKNOWN', `the address of the contract ${name} is not known`, {
          hint: `Name it in the network file: chain: { contracts: { ${name}: '0x…' } }`,
        });
      },
    });
  }
  return contracts as Contracts;
}
