/** Anvil's methods, in terms of the chain in this process. Methods of no table go to the provider as they are. */
import { hexText, quantity } from '../../../formats/ethereum/hex.ts';
import { unavailable } from './answers.ts';
import type { Machine } from './machine.ts';

type Method = (machine: Machine, params: readonly unknown[]) => unknown;

const SETTERS: ReadonlyMap<string, string> = new Map(
  [
    'setBalance',
    'setCode',
    'setNonce',
    'setStorageAt',
    'setCoinbase',
    'setNextBlockBaseFeePerGas',
    'dropTransaction',
    'impersonateAccount',
    'stopImpersonatingAccount',
  ].flatMap((name) => ['anvil_', 'hardhat_'].map((prefix) => [prefix + name, `hardhat_${name}`] as const)),
);

const CHANGES: ReadonlySet<string> = new Set(['eth_sendRawTransaction', 'eth_sendTransaction']);
/** The provider's own setters, such as `evm_setBlockGasLimit`: the next block differs by more than its time. */
const PROVIDER_SETTER = /^(evm|hardhat)_set/;

const SPACING_S = 1;
const OWN_PACE = 'blocks come at the block time, or by evm_mine';

const mineMany: Method = async (machine, [blocks = 1, spacingS = SPACING_S]) => {
  await machine.mine(Number(blocks), Number(spacingS));
  return null;
};
const rollBack: Method = async (machine, [blocks = 1]) => {
  await machine.rollBack(Number(blocks));
  return null;
};
const reset: Method = async (machine) => {
  await machine.reset();
  return null;
};

const METHODS: Readonly<Record<string, Method>> = {
  evm_mine: async (machine, [options]) => {
    const { blocks = 1, timestamp } = (
      typeof options === 'object' && options !== null ? options : { timestamp: options }
    ) as {
      readonly blocks?: unknown;
      readonly timestamp?: unknown;
    };
    if (timestamp !== undefined) machine.setNextTime(Number(timestamp));
    await machine.mine(Number(blocks));
    return '0x0';
  },
  anvil_mine: mineMany,
  hardhat_mine: mineMany,
  anvil_rollback: rollBack,
  anvil_reorg: async (machine, [blocks]) => {
    await machine.rollBack(Number(blocks), Number(blocks));
    return null;
  },
  anvil_reset: reset,
  hardhat_reset: reset,
  anvil_dumpState: (machine) => hexText(machine.journal.dump()),
  evm_setNextBlockTimestamp: (machine, [seconds]) => {
    machine.setNextTime(Number(seconds));
    return null;
  },
  evm_setTime: (machine, [seconds]) => {
    machine.setTime(Number(seconds));
    return null;
  },
  evm_increaseTime: (machine, [seconds]) => machine.advance(Number(seconds)),
  evm_snapshot: (machine) => quantity(machine.mark()),
  evm_revert: (machine, [mark]) => machine.returnTo(Number(mark)),
  evm_setAutomine: () => {
    throw unavailable('evm_setAutomine', OWN_PACE);
  },
  evm_setIntervalMining: () => {
    throw unavailable('evm_setIntervalMining', OWN_PACE);
  },
  eth_getRawTransactionByHash: (machine, [hash]) => machine.raw(String(hash)) ?? null,
  txpool_status: async (machine) => ({ pending: quantity(await machine.waiting()), queued: '0x0' }),
};

export async function run(machine: Machine, method: string, params: readonly unknown[]): Promise<unknown> {
  const own = METHODS[method];
  if (own !== undefined) return own(machine, params);
  const setter = SETTERS.get(method);
  if (setter !== undefined) {
    await machine.change(setter, params);
    return setter === 'hardhat_setStorageAt' ? true : null;
  }
  if (CHANGES.has(method) || PROVIDER_SETTER.test(method)) return machine.change(method, params);
  if (machine.head !== undefined && asksForHead(method, params)) return machine.head;
  if (method === 'eth_estimateGas' || params.includes('pending')) await machine.tellTime();
  return machine.ask(method, params);
}

function asksForHead(method: string, [block, isWhole]: readonly unknown[]): boolean {
  return method === 'eth_getBlockByNumber' && block === 'latest' && isWhole === false;
}
