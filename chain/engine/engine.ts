/** What computes the chain's blocks. The rest of the chain knows it by texts of JSON-RPC alone. */
import type { Clock } from '../../formats/clock.ts';
import type { RpcClient } from '../rpc.ts';
import type { Upstream } from './ipc.ts';

/** `anvil`: a process, the reference. `in-process`: in the asking process. */
export const ENGINE_NAMES = ['anvil', 'in-process'] as const;
/** What computes the blocks of a chain. */
export type EngineName = (typeof ENGINE_NAMES)[number];
export const ENGINE_DEFAULT: EngineName = 'anvil';

/** Time of the first block's parent, fixed: the deployment blocks are the same in every run. */
export const GENESIS_TIMESTAMP_S = 1_700_000_000;

export const BLOCK_GAS = 30_000_000n;

export interface EngineOptions {
  readonly chainId: number;
  readonly state?: Uint8Array | undefined;
  readonly clock: Clock;
  readonly work: <T>(ask: () => Promise<T>) => Promise<T>;
  readonly signal?: AbortSignal | undefined;
}

export interface Engine {
  readonly pid: number | undefined;
  readonly upstream: Upstream;
  readonly rpc: RpcClient;
  /** When it has ended, for whatever reason, with a description of how. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}
