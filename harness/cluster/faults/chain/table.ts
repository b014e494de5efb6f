import type { FaultKind } from '../fault.ts';
import { CHAIN_REORGANISATION, CHAIN_SLOW, CHAIN_STALL } from './blocks.ts';
import { RPC_DOWN, RPC_ERRORS, RPC_FROZEN, RPC_LAG, RPC_SLOW, RPC_WRONG } from './endpoint.ts';

/** Faults of the chain, a row each. */
export const CHAIN_FAULTS: readonly FaultKind[] = [
  CHAIN_STALL,
  CHAIN_SLOW,
  CHAIN_REORGANISATION,
  RPC_DOWN,
  RPC_ERRORS,
  RPC_SLOW,
  RPC_WRONG,
  RPC_LAG,
  RPC_FROZEN,
];
