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

/** What has to be known of a running chain to reach it, and to tell nodes about it. */
export interface ChainFacts {
  /** URL of the JSON-RPC endpoint. */
  readonly rpc: string;
  /** URL of the control endpoint. */
  readonly control: string;
  /** Endpoint that the nodes use when it shall be made to fail; each adds its name as a path. */
  readonly gate?: string;
  readonly chainId: number;
  readonly networkId: number;
  readonly contracts: Contracts;
  readonly startBlock: number;
  readonly blockTimeMs: number;
  /** Blocks come at the wall clock's pace alone: a node tells time by them. */
  readonly steady: boolean;
}
