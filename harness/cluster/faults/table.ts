/** All kinds of faults, a row each. */
import { CHAIN_FAULTS } from './chain/table.ts';
import type { FaultKind } from './fault.ts';
import { LINK } from './links/link.ts';
import { MESSAGE } from './links/message.ts';
import { ISOLATE, PARTITION } from './links/partition.ts';
import { MACHINE_FAULTS } from './machines/table.ts';
import { ADD, REMOVE } from './members.ts';

export const FAULT_KINDS: readonly FaultKind[] = [
  LINK,
  PARTITION,
  ISOLATE,
  MESSAGE,
  ...MACHINE_FAULTS,
  ADD,
  REMOVE,
  ...CHAIN_FAULTS,
];
