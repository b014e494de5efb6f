/** What computes the chain's blocks. The rest of the chain knows it by texts of JSON-RPC alone. */
import type { Clock } from '../../formats/clock.ts';
import type { RpcClient } from '../rpc.ts';
import type { Upstream } from './ipc.ts';

/** `anvil`: a process, the reference. `in-process`: in the asking process. */
export const ENGINE_NAMES = ['anvil', 'in-process'] as const;
/** What computes the blocks of a chain. */
export type EngineName = (typeof ENGINE_NAMES)[number];
export const ENGINE_DEFAULT: EngineName = 'anvil';

/** Of the first block's parent, fixed: the deployment blocks are the same in every run. */
export const GENESIS_TIMESTAMP_S = 1_700_000_000;

export const BLOCK_GAS = 30_000_000n;

export interface EngineOptions {
  readonly chainId: number;
  /** A dump of its own. */
  readonly state?: Uint8Array | undefined;
  /** For blocks; Anvil has the machine's. */
  readonly clock: Clock;
  /** Runs each piece of work of an in-process engine. */
  readonly work: <T>(ask: () => Promise<T>) => Promise<T>;
  readonly signal?: AbortSignal | undefined;
}

export interface Engine {
  /** Undefined: it has no process of its own. */
  readonly pid: number | undefined;
  /** Texts of JSON-RPC. */
  readonly upstream: Upstream;
  readonly rpc: RpcClient;
  /** When it has ended, for whatever reason, with a description of how. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}
