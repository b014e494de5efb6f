/**
 * What stands between a known path and its operation, in the order of `http-api-completion.md` 3.3. A path declares
 * which gates it has; they run for every method, also for one that the path does not know.
 */
import type { Dialect } from './dialect.ts';
import { ApiError, type ApiErrorCode } from './errors.ts';
import { bigInteger, uint64 } from './kinds.ts';
import { optional, readParams } from './params.ts';
import type { GasHeaders } from './route.ts';
import type { NodeServices } from './services.ts';

/** Outermost first. `started` is missing on the technical routes alone. */
export const GATES = ['started', 'chain', 'onchainSlot', 'statusSlot', 'postageSync', 'gas'] as const;
export type GateName = (typeof GATES)[number];

const GAS_HEADERS = {
  gasPrice: optional(bigInteger, undefined),
  gasLimit: optional(uint64, undefined),
} as const;

const SLOTS = { onchainSlot: 'ONCHAIN_BUSY', statusSlot: 'STATUS_BUSY' } as const satisfies Partial<
  Record<GateName, ApiErrorCode>
>;
type SlotName = keyof typeof SLOTS;

/** Gates of one node: the slots are shared by both listeners. */
export interface Gates {
  /**
   * Passes the named gates; the result must be disposed when the operation is over, because it frees the slots.
   * @throws ApiError of the first gate that is closed
   */
  pass(names: readonly GateName[], readHeader: (name: string) => string | undefined): Passage;
}

interface Passage extends Disposable {
  readonly gas: GasHeaders;
}

export function createGates(services: NodeServices, dialect: Dialect): Gates {
  const taken = new Set<SlotName>();

  return {
    pass(names, readHeader) {
      const held: SlotName[] = [];
      let gas: GasHeaders = { gasPrice: undefined, gasLimit: undefined };
      const release = () => held.forEach((slot) => taken.delete(slot));
      try {
        for (const name of GATES) {
          if (!names.includes(name)) continue;
          if (name === 'gas') gas = readParams('header', GAS_HEADERS, readHeader, dialect);
          else enter(name, held);
        }
      } catch (error) {
        release();
        throw error;
      }
      return { gas, [Symbol.dispose]: release };
    },
  };

  function enter(name: Exclude<GateName, 'gas'>, held: SlotName[]): void {
    switch (name) {
      case 'started':
        if (services.readiness.state() !== 'ready') throw new ApiError('NODE_STARTING');
        return;
      case 'chain':
        if (services.node.mode === 'ultra-light') throw new ApiError('CHAIN_DISABLED');
        return;
      case 'onchainSlot':
      case 'statusSlot':
        if (taken.has(name)) throw new ApiError(SLOTS[name]);
        taken.add(name);
        held.push(name);
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
