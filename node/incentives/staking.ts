/**
 * The stake: deposit, withdrawal, migration; at the start it updates the contract's data about the node. `node-behaviour.md`
 * 9.1, `contracts.md` 6.
 */

import type { Clock } from '../../formats/clock.ts';
import { equalBytes } from '../../formats/crypto/hex.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import { hexBytes } from '../../formats/ethereum/hex.ts';
import type { Logger } from '../env/logger.ts';
import { APPROVAL_GAS_MIN, encodeApprove, toAddress, tokenBalance } from '../onchain/contracts.ts';
import {
  encodeManageStake,
  MIGRATE_STAKE,
  type Stake,
  stakeOf,
  stakingPaused,
  WITHDRAW_STAKE,
  withdrawableStake,
} from '../onchain/incentive-contracts.ts';
import type { Chain, TransactionRequest, Transactions } from '../onchain/ports.ts';
import { settleEarlier } from '../onchain/transactions/patience.ts';
import { type GasWish, IncentivesError, type Staking } from './ports.ts';

/** Ten tokens for the usual reserve; doubles with it. */
const STAKE_MIN = 10n ** 17n;

export interface StakingOptions {
  /** `0x` and 40 lower-case hex. */
  readonly registry: string;
  readonly token: string;
  /** Overlay and the nonce that it comes from, 32 bytes each. */
  readonly overlay: Uint8Array;
  readonly nonce: Uint8Array;
  /** Doublings of the reserve. */
  readonly height: number;
  /** Pause between attempts to bring the stake up to date. */
  readonly retryMs: number;
}

export interface StakingDeps {
  readonly chain: Pick<Chain, 'call' | 'blockNumber'>;
  readonly transactions: Pick<Transactions, 'execute' | 'pending' | 'wait'>;
  readonly signer: Pick<Signer, 'address'>;
  readonly clock: Pick<Clock, 'sleep' | 'deadline'>;
  readonly log: Logger;
}

export interface OwnStake extends Staking {
  /** Tells the contract of a changed overlay or height, if there is a stake. */
  start(): void;
  stop(): Promise<void>;
}

export function createStaking(options: StakingOptions, deps: StakingDeps): OwnStake {
  const { registry, token } = options;
  const { chain, signer, clock, log } = deps;
  const minimum = STAKE_MIN << BigInt(options.height);
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const read = (signal: AbortSignal) => stakeOf(chain, registry, signer.address, signal);
  const settled = (signal: AbortSignal) => settleEarlier({ contract: registry, token }, deps, signal);
  const send = async (
    call: Pick<TransactionRequest, 'to' | 'data' | 'description' | 'minimumGasLimit'>,
    gas: GasWish,
    signal: AbortSignal,
  ) => (await deps.transactions.execute({ ...call, ...gas }, signal)).transactionHash;
  const manage = (amount: bigint, gas: GasWish, signal: AbortSignal) => {
    const data = encodeManageStake(options.nonce, amount, options.height);
    return send({ to: registry, data, description: 'Deposit Stake' }, gas, signal);
  };

  return {
    staked: async (signal) => (await read(signal)).amount,
    withdrawable: (signal) => withdrawableStake(chain, registry, signer.address, signal),
    async deposit(amount, gas, signal) {
      await settled(signal);
      const stake = await read(signal);
      checkAmount(amount, { before: stake.amount, minimum });
      if (stake.amount > 0n) await checkChangeable(stake, options, deps, signal);
      if ((await tokenBalance(chain, token, signer.address, signal)) < amount) {
        throw new IncentivesError('INSUFFICIENT_TOKENS', 'insufficient token balance');
      }
      const data = encodeApprove(hexBytes(registry, 'contract'), amount);
      const description = 'Approve tokens for stake deposit operations';
      await send({ to: token, data, description, minimumGasLimit: APPROVAL_GAS_MIN }, gas, signal);
      return manage(amount, gas, signal);
    },
    async withdraw(gas, signal) {
      await settled(signal);
      if ((await withdrawableStake(chain, registry, signer.address, signal)) === 0n) {
        throw new IncentivesError('NOTHING_TO_WITHDRAW', 'insufficient stake');
      }
      return send({ to: registry, data: WITHDRAW_STAKE, description: 'Withdraw stake' }, gas, signal);
    },
    async migrate(gas, signal) {
      await settled(signal);
      if (!(await stakingPaused(chain, registry, signal))) {
        throw new IncentivesError('NOT_PAUSED', 'contract is not paused');
      }
      if ((await read(signal)).amount === 0n) {
        throw new IncentivesError('NOTHING_TO_WITHDRAW', 'insufficient stake');
      }
      return send({ to: registry, data: MIGRATE_STAKE, description: 'Migrate stake' }, gas, signal);
    },
    isFrozen: async (block, signal) => (await read(signal)).lastUpdatedBlock >= BigInt(block),
    start() {
      running ??= bringUpToDate(stopping.signal);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };

  /** Until done or not needed: the chain may be away, or the stake frozen. */
  async function bringUpToDate(signal: AbortSignal): Promise<void> {
    let told = '';
    while (!signal.aborted) {
      try {
        await settled(signal);
        const change = await neededChange(options, { ...deps, minimum }, signal);
        if (change === undefined) return;
        const hash = await manage(0n, {}, signal);
        log.info({ hash, change }, 'stake is up to date; it counts again after two rounds');
        return;
      } catch (err) {
        if (signal.aborted) return;
        // Once per reason: a stake may be frozen for long.
        const reason = err instanceof Error ? err.message : String(err);
        log[reason === told ? 'debug' : 'warn']({ err }, 'stake could not be brought up to date');
        told = reason;
      }
      await clock.sleep(options.retryMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }
}

/** @throws IncentivesError INSUFFICIENT_STAKE_AMOUNT */
function checkAmount(amount: bigint, { before, minimum }: { before: bigint; minimum: bigint }): void {
  if (amount < 0n || (before === 0n && amount < STAKE_MIN)) {
    throw new IncentivesError('INSUFFICIENT_STAKE_AMOUNT', 'insufficient stake amount');
  }
  if (before + amount < minimum) {
    throw new IncentivesError(
      'INSUFFICIENT_STAKE_AMOUNT',
      'stake amount does not sufficiently cover the additional reserve capacity: insufficient stake amount',
    );
  }
}

/**
 * A refusal in a call costs nothing. An empty change meets only freeze and pause (`contracts.md` 6).
 * @throws IncentivesError STAKE_FROZEN; ChainError REVERTED when the contract refuses otherwise
 */
async function checkChangeable(
  { lastUpdatedBlock }: Stake,
  { registry, nonce, height }: StakingOptions,
  { chain, signer }: StakingDeps,
  signal: AbortSignal,
): Promise<void> {
  const head = BigInt(await chain.blockNumber(signal));
  if (lastUpdatedBlock > head) {
    throw new IncentivesError('STAKE_FROZEN', `stake is frozen until block ${lastUpdatedBlock}`);
  }
  // Refused only in the block of the last change, and the deposit is mined later.
  if (lastUpdatedBlock === head) return;
  const data = encodeManageStake(nonce, 0n, height);
  await chain.call({ to: registry, data, from: toAddress(signer.address) }, signal);
}

/** Undefined when up to date. @throws ChainError REVERTED when the contract would refuse */
async function neededChange(
  { registry, overlay, nonce, height }: StakingOptions,
  { chain, signer, minimum, log }: StakingDeps & { readonly minimum: bigint },
  signal: AbortSignal,
): Promise<'overlay' | 'height' | undefined> {
  const stake = await stakeOf(chain, registry, signer.address, signal);
  if (stake.amount === 0n) return undefined;
  const change = equalBytes(stake.overlay, overlay) ? 'height' : 'overlay';
  if (change === 'height') {
    if (stake.height === height) return undefined;
    if (stake.amount < minimum) {
      log.warn({ staked: stake.amount, minimum }, 'stake is too small for the capacity of the reserve');
      return undefined;
    }
  }
  const data = encodeManageStake(nonce, 0n, height);
  await chain.call({ to: registry, data, from: toAddress(signer.address) }, signal);
  return change;
}
