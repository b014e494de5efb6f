import { CHAIN_REORGANISATION, CHAIN_SLOW, CHAIN_STALL } from './chain-blocks.ts';
import { RPC_DOWN, RPC_ERRORS, RPC_FROZEN, RPC_LAG, RPC_SLOW, RPC_WRONG } from './chain-endpoint.ts';
import type { FaultKind } from './fault.ts';
import { LINK } from './links/link.ts';
import { MESSAGE } from './links/message.ts';
import { ISOLATE, PARTITION } from './links/partition.ts';
import { CLOCK } from './machines/clocks.ts';
import { DISK_FAILING, DISK_FULL, DISK_READ_ONLY, DISK_SLOW, FLIP_BITS } from './machines/disks.ts';
import { KILL, MEMORY, PAUSE, POWER_CUT } from './machines/process.ts';
import { CHURN, RESTART, ROLLING_RESTART, STOP } from './machines/restarts.ts';
import { ADD, REMOVE } from './members.ts';

export const FAULT_KINDS: readonly FaultKind[] = [
  LINK,
  PARTITION,
  ISOLATE,
  MESSAGE,
  KILL,
  PAUSE,
  STOP,
  RESTART,
  ROLLING_RESTART,
  CHURN,
  FLIP_BITS,
  DISK_FULL,
  DISK_READ_ONLY,
  DISK_FAILING,
  DISK_SLOW,
  POWER_CUT,
  CLOCK,
  MEMORY,
  ADD,
  REMOVE,
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
