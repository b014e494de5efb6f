/** The record of a chain in the state on disk, and the document that starts a chain. */
import type { EngineName } from '../../chain/engine/engine.ts';
import type { Whose } from '../base/direct.ts';
import type { Contracts } from './contracts.ts';

export interface ChainRecord extends Whose {
  /** Empty: an attached network without a chain. */
  readonly rpc: string;
  /** Endpoint that mines, funds and sets prices; absent on a chain that svcnet did not start. */
  readonly control?: string | undefined;
  /** Opens the control endpoint, and Anvil's own methods at the JSON-RPC endpoint. */
  readonly token?: string | undefined;
  /** Absolute path of a file with the token. */
  readonly tokenFile?: string | undefined;
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
 * Options document of `chain/main.ts`; amounts are decimal strings. Its token, and whether it ends with its
 * parent, are added later.
 */
export interface ChainOptions extends ChainSetup {
  /** What computes its blocks. */
  readonly engine: EngineName;
  /** Address that the JSON-RPC endpoint listens on. */
  readonly host: string;
  readonly port: number;
  /** The same for the control endpoint, which only the testbed uses. */
  readonly controlHost: string;
  /** Host names that it answers to, besides addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages that may use the JSON-RPC endpoint. */
  readonly origins: readonly string[];
  readonly chainId: number;
  readonly networkId: number;
  readonly blockTimeMs: number;
  /** Of one chunk and block, token units. */
  readonly storagePrice: number;
  /** No blocks on demand. */
  readonly steady: boolean;
  /** Each node has a path of its own at the JSON-RPC endpoint, which can be made to fail for it. */
  readonly gate: boolean;
  /** Where its state is kept; it starts from an existing one. */
  readonly stateFolder?: string;
}

/** What accounts have on the chain; amounts are decimal strings. */
export interface ChainSetup {
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
  readonly chequebooks: readonly {
    readonly issuer: string;
    readonly deposit: string;
    /** Among those of all nodes that the cluster has ever had; absent: its place in the list. */
    readonly place?: number | undefined;
  }[];
}
