/** A chain's record on disk, and the document that starts one. */
import type { EngineName } from '../../chain/engine/engine.ts';
import type { Whose } from '../base/direct.ts';
import type { Contracts } from './contracts.ts';

export interface ChainRecord extends Whose {
  /** Empty: attached without a chain. */
  readonly rpc: string;
  /** Mines, funds and sets prices; absent: svcnet did not start it. */
  readonly control?: string | undefined;
  /** For the control endpoint, and Anvil's methods at the JSON-RPC endpoint. */
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** The nodes' endpoint, if it can be made to fail; each adds its name as a path. */
  readonly gate?: string;
  readonly chainId: number;
  /** 0: not known. */
  readonly networkId: number;
  /** All of them if svcnet started the chain. */
  readonly contracts: Partial<Contracts>;
  readonly startBlock: number;
  readonly blockTimeMs: number;
  /** Only in real time: a node tells time by the blocks. */
  readonly steady: boolean;
}

/**
 * Options of `chain/main.ts`; amounts are decimal strings. Its token, and whether it ends with its parent, are added later.
 */
export interface ChainOptions extends ChainSetup {
  readonly engine: EngineName;
  /** For the JSON-RPC endpoint. */
  readonly host: string;
  readonly port: number;
  /** For the testbed alone. */
  readonly controlHost: string;
  /** Besides addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
  /** Of pages that may use the JSON-RPC endpoint. */
  readonly origins: readonly string[];
  readonly chainId: number;
  readonly networkId: number;
  readonly blockTimeMs: number;
  /** Of one chunk and block, token units. */
  readonly storagePrice: number;
  /** No blocks on demand. */
  readonly steady: boolean;
  /** Each node has its own path, which can be made to fail. */
  readonly gate: boolean;
  /** Its state is kept there; it starts from an existing one. */
  readonly stateFolder?: string;
}

/** Amounts are decimal strings. */
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
    /** Place among those of all nodes ever; absent: its place in the list. */
    readonly place?: number | undefined;
  }[];
}
