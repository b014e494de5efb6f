/** A chain as the state on disk has it, and the document that starts one. */
import type { Contracts } from './contracts.ts';

export interface ChainRecord {
  /** Empty: nodes without a chain were attached. */
  readonly rpc: string;
  /** Endpoint that mines, funds and sets prices; absent on a chain that svcnet has not started. */
  readonly control?: string;
  /** Endpoint that the nodes use when it shall be made to fail; each adds its name as a path. */
  readonly gate?: string;
  readonly chainId: number;
  /** 0: not known. */
  readonly networkId: number;
  /** Those that are known; all of them on a chain that svcnet has started. */
  readonly contracts: Partial<Contracts>;
  readonly startBlock: number;
  readonly blockTimeMs: number;
  /** Blocks come at the wall clock's pace alone: a node tells time by them. */
  readonly steady: boolean;
}

/** Options document of `chain/main.ts`; amounts are decimal strings. How it ends with its parent is added. */
export interface ChainOptions {
  /** Address that the JSON-RPC endpoint listens at. */
  readonly host: string;
  readonly port: number;
  /** The same of the control endpoint and the gate, which only the testbed and the nodes use. */
  readonly controlHost: string;
  readonly chainId: number;
  readonly networkId: number;
  readonly blockTimeMs: number;
  /** Of one chunk and block, token units. */
  readonly storagePrice: number;
  /** No blocks on demand. */
  readonly steady: boolean;
  /** A door in front of its endpoint that can be made to fail. */
  readonly gate: boolean;
  /** Where its state is kept, and begun with when there is one. */
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
