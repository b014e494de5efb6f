/**
 * The transactions of a round: commit, reveal, claim. Each is recorded before it is sent, so a killed node neither sends one
 * twice nor forgets one.
 */

import type { Signer } from '../../formats/crypto/signer.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import type { Logger } from '../env/logger.ts';
import type { MetricsOf } from '../env/metrics.ts';
import type { SendingChain } from '../onchain/chain.ts';
import { toAddress } from '../onchain/contracts.ts';
import type { Receipt, Transactions } from '../onchain/ports.ts';
import { received, TIP_BOOST_PERCENT } from './funds.ts';
import type { GameStore, Step, StepRecord } from './game-store.ts';
import type { GAME_METRICS } from './metrics.ts';
import { comesInTime } from './rules.ts';

/** Others' actions in the same block change the cost. */
const GAS_LIMIT_MIN = 500_000n;
const STEPS: readonly Step[] = ['commit', 'reveal', 'claim'];

export interface StepOptions {
  /** `0x` and 40 lower-case hex. */
  readonly game: string;
  readonly token: string;
  /** Blocks. */
  readonly roundLength: number;
}

export interface StepDeps {
  readonly store: GameStore;
  readonly chain: Pick<SendingChain, 'blockNumber' | 'call'>;
  readonly transactions: Pick<Transactions, 'send' | 'wait' | 'find'>;
  readonly signer: Pick<Signer, 'address'>;
  readonly log: Logger;
  readonly metrics: MetricsOf<typeof GAME_METRICS>;
}

export class GameSteps {
  readonly #options: StepOptions;
  readonly #deps: StepDeps;

  constructor(options: StepOptions, deps: StepDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /**
   * Once per step; one started before a crash is waited for, or sent.
   * @returns undefined when it would come too late
   * @throws ChainError REVERTED when the contract refuses
   */
  async play(
    step: Step,
    round: number,
    { data, description }: { data: string; description: string },
    signal: AbortSignal,
  ): Promise<Receipt | undefined> {
    const { chain, transactions, signer } = this.#deps;
    const { game, roundLength } = this.#options;
    const note = (fields: StepRecord) => this.#deps.store.changeRound(round, { [step]: fields });
    let hash = this.sent(step, round);
    if (hash === undefined) {
      if (!comesInTime(await chain.blockNumber(signal), roundLength)) return undefined;
      // A refusal in a call costs nothing.
      await chain.call({ to: game, data, from: toAddress(signer.address) }, signal);
      this.#deps.metrics[`${step}s`].inc();
      const request = {
        to: game,
        data,
        description,
        minimumGasLimit: GAS_LIMIT_MIN,
        tipBoostPercent: TIP_BOOST_PERCENT,
        beforeSend: (sent: string) => note({ hash: sent }),
      };
      hash = await transactions.send(request, signal);
    }
    const receipt = await transactions.wait(hash, signal);
    await this.#settle(step, round, receipt);
    if (receipt.status === 'reverted') {
      const revert = { reason: 'reverted in its block', data: '0x' };
      throw new ChainError('REVERTED', `${description} reverted: ${hash}`, { revert });
    }
    this.#deps.log.info({ step, round, hash, block: receipt.blockNumber }, 'step of the round mined');
    return receipt;
  }

  /** Undefined when none was sent, or it can no longer count. */
  sent(step: Step, round: number): string | undefined {
    const hash = this.#deps.store.round(round)[step]?.hash;
    const begun = hash === undefined ? undefined : this.#deps.transactions.find(hash);
    return begun === undefined || begun.outcome?.kind === 'cancelled' ? undefined : hash;
  }

  /**
   * Without it the contract would refuse the next step at every poll. It may still come: a wrong height names a phase too
   * early, and a reorganisation mines a step anew.
   */
  mayCount(step: StepRecord | undefined): boolean {
    const sent = step && this.#deps.transactions.find(step.hash);
    if (sent?.outcome?.kind === 'mined') return sent.outcome.receipt.status === 'success';
    return sent !== undefined && sent.outcome === undefined;
  }

  /** Transactions outlive their phases: fees, rewards and outcomes are still counted. */
  async reconcile(): Promise<void> {
    for (const round of Object.keys(this.#deps.store.game.rounds).map(Number)) {
      for (const step of STEPS) await this.#reconcileStep(step, round);
    }
  }

  async #reconcileStep(step: Step, round: number): Promise<void> {
    const record = this.#deps.store.round(round)[step];
    const sent = record && this.#deps.transactions.find(record.hash);
    if (record === undefined || sent === undefined) return;
    if (record.counted !== true) {
      const fees = BigInt(this.#deps.store.game.fees) + sent.gasFeeCap * sent.gasLimit + sent.value;
      await this.#deps.store.changeRound(
        round,
        { [step]: { ...record, counted: true } },
        { fees: String(fees) },
      );
    }
    if (sent.outcome?.kind === 'mined') await this.#settle(step, round, sent.outcome.receipt);
  }

  async #settle(step: Step, round: number, receipt: Receipt): Promise<void> {
    const record = this.#deps.store.round(round)[step];
    if (record === undefined || record.outcome !== undefined) return;
    const outcome = receipt.status === 'success' ? 'success' : 'failure';
    const { reward, lastPlayedRound } = this.#deps.store.game;
    const won = step === 'claim' ? received(receipt, this.#options.token, this.#deps.signer.address) : 0n;
    const played = step === 'commit' && outcome === 'success' ? round : 0;
    await this.#deps.store.changeRound(
      round,
      { [step]: { ...record, outcome } },
      { reward: String(BigInt(reward) + won), lastPlayedRound: Math.max(lastPlayedRound, played) },
    );
  }
}
