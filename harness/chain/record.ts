/** The record of a chain in the state on disk, and the document that starts a chain. */
import type { Contracts } from './contracts.ts';

export interface ChainRecord {
  /** Empty: an attached network without a chain. */
  readonly rpc: string;
  /** Endpoint that mines, funds and sets prices; absent on a chain that svcnet did not start. */
  readonly control?: string;
  /** Endpoint that the nodes use if it can be made to fail; each adds its name as a path. */
  readonly gate?: string;
  readonly chainId: number;
  /** 0: not known. */
  readonly networkId: number;
  /** The known contracts; all of them on a chain that svcnet started. */
  readonly contracts: Partial<Contracts>;
  readonly startBlock: number;
  readonly blockTimeMs: number;
  /** Blocks are mined only in real time: a node tells time by them. */
  readonly steady: boolean;
}

/**
 * Options document of `chain/main.ts`; amounts are decimal strings. Whether it ends with its parent is added
 * later.
 */
export interface ChainOptions {
  /** Address that the JSON-RPC endpoint listens on. */
  readonly host: string;
  readonly port: number;
  /** The same for the control endpoint and the gate, which only the testbed and the nodes use. */
  readonly controlHost: string;
  readonly chainId: number;
  readonly networkId: number;
  readonly blockTimeMs: number;
  /** Of one chunk and block, token units. */
  readonly storagePrice: number;
  /** No blocks on demand. */
  readonly steady: boolean;
  /** A proxy in front of its endpoint that can be made to fail. */
  readonly gate: boolean;
  /** Where its state is kept; it starts from an existing one. */
  readonly stateFolder?: string;
  readonly accounts: readonly {
    readonly address: string;
    readonly native: string;
    readonly tokens: string;
  }[];
  readonly batches: readonly {
    readonly owner: string;
    readonly amount: string;
    readonly depth: number;
    readonly immutable: boolean;
    readonly nonce: string;
  }[];
  readonly chequebooks: readonly { readonly issuer: string; readonly deposit: string }[];
}
