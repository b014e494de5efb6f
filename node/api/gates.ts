/** The checks before an operation, in the order of `http-api-completion.md` 3.3. They run for every method of a path. */
import type { Dialect } from './dialect.ts';
import { ApiError, type ApiErrorCode } from './errors.ts';
import type { NodeServices } from './services.ts';
import { GAS_HEADERS, type Gas, gasOf } from './values/gas.ts';
import { REFUSED, readParams } from './values/params.ts';

/** Only the technical routes lack `started`. */
export const GATES = [
  'started',
  'chequebook',
  'swap',
  'chain',
  'fullMode',
  'incentives',
  'postageSlot',
  'stakeSlot',
  'statusSlot',
  'postageSync',
  'gas',
] as const;
export type GateName = (typeof GATES)[number];

/** A further operation is refused, not queued. */
const SLOTS = {
  postageSlot: 'ONCHAIN_BUSY',
  stakeSlot: 'ONCHAIN_BUSY',
  cashoutSlot: 'ONCHAIN_BUSY',
  statusSlot: 'STATUS_BUSY',
  listingSlot: 'LISTINGS_BUSY',
} as const satisfies Record<string, ApiErrorCode>;
export type SlotName = keyof typeof SLOTS;
/** If more than one. A listing keeps up to 8 MiB of nodes, or 16 MiB of a page. */
const PLACES: { readonly [S in SlotName]?: number } = { listingSlot: 8 };

export const GATE_REFUSALS: Readonly<Record<GateName, readonly ApiErrorCode[]>> = {
  started: ['NODE_STARTING'],
  chequebook: ['CHEQUEBOOK_DISABLED'],
  swap: ['SWAP_DISABLED'],
  chain: ['CHAIN_DISABLED'],
  fullMode: ['FULL_MODE_ONLY'],
  incentives: ['INCENTIVES_DISABLED'],
  postageSlot: [SLOTS.postageSlot],
  stakeSlot: [SLOTS.stakeSlot],
  statusSlot: [SLOTS.statusSlot],
  postageSync: ['SYNC_FAILED', 'SYNC_RUNNING'],
  gas: [REFUSED.header],
};

/** Both listeners share the slots. */
export interface Gates {
  /** The result frees the slots when disposed. @throws ApiError of the first closed gate */
  readonly pass: (names: readonly GateName[], readHeader: (name: string) => string | undefined) => Passage;
  /** For slots that are no gates: cashing checks its path first, a listing keeps it until sent. @throws ApiError */
  readonly takeSlot: (name: SlotName) => Disposable;
}

interface Passage extends Disposable {
  readonly gas: Gas;
}

export function createGates(services: NodeServices, dialect: Dialect): Gates {
  const taken = new Map<SlotName, number>();

  return {
    pass(names, readHeader) {
      using held = new DisposableStack();
      let gas: Gas = {};
      for (const name of GATES) {
        if (!names.includes(name)) continue;
        if (name === 'gas') gas = gasOf(readParams('header', GAS_HEADERS, readHeader, dialect));
        else enter(name, held);
      }
      const passed = held.move();
      return { gas, [Symbol.dispose]: () => passed.dispose() };
    },
    takeSlot,
  };

  function takeSlot(name: SlotName): Disposable {
    const count = (change: number) => taken.set(name, (taken.get(name) ?? 0) + change);
    if ((taken.get(name) ?? 0) >= (PLACES[name] ?? 1)) throw new ApiError(SLOTS[name]);
    count(1);
    return { [Symbol.dispose]: () => count(-1) };
  }

  function enter(name: Exclude<GateName, 'gas'>, held: DisposableStack): void {
    switch (name) {
      case 'started':
        if (services.readiness.state() !== 'ready') throw new ApiError('NODE_STARTING');
        return;
      case 'chequebook':
        if (!services.node.chequebookEnabled) throw new ApiError('CHEQUEBOOK_DISABLED');
        return;
      case 'swap':
        if (!services.node.swapEnabled) throw new ApiError('SWAP_DISABLED');
        return;
      case 'chain':
        if (services.node.mode === 'ultra-light') throw new ApiError('CHAIN_DISABLED');
        return;
      case 'fullMode':
        if (dialect.fullModeFirst && services.node.mode !== 'full') throw new ApiError('FULL_MODE_ONLY');
        return;
      case 'incentives':
        if (!services.node.incentivesEnabled) throw new ApiError('INCENTIVES_DISABLED');
        return;
      case 'postageSlot':
      case 'stakeSlot':
      case 'statusSlot':
        held.use(takeSlot(name));
        return;
      case 'postageSync':
        passPostageSync();
    }
  }

  function passPostageSync(): void {
    const state = services.postage.syncState();
    if (state === 'failed') throw new ApiError('SYNC_FAILED');
    if (state === 'running') throw new ApiError('SYNC_RUNNING');
  }
}
