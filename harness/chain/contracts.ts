/** Addresses of the contracts of a local chain, `0x` and 40 hex digits each. */
export interface Contracts {
  readonly token: string;
  readonly postageStamp: string;
  readonly postagePriceOracle: string;
  readonly stakeRegistry: string;
  readonly redistribution: string;
  readonly chequebookFactory: string;
  readonly swapPriceOracle: string;
}
