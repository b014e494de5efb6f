/**
 * Plays the storage game. `node-behaviour.md` 9.2, `contracts.md` 7.8.
 *
 *   claim phase of round r     take a sample for the anchor of round r + 1, if that chose this neighbourhood
 *   commit phase of round r+1  commit to the hash of the sample, the depth and a key
 *   reveal phase               reveal all three
 *   claim phase                a player drawn from those that agree proves it has the chunks, and is paid
 *
 * A step is retried at every poll of the head until it is done, refused by the contract, or its phase is over. A killed node
 * continues where it was.
 */

import type { Clock, Deadline } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Random } from '../../formats/random.ts';
import { LazyDeadline } from '../env/abortable.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import type { SendingChain } from '../onchain/chain.ts';
import type { Head } from '../onchain/head.ts';
import {
  currentRoundAnchor,
  encodeClaim,
  encodeCommit,
  encodeReveal,
  isParticipating,
  isWinner,
} from '../onchain/incentive-contracts.ts';
import type { Receipt } from '../onchain/ports.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { fundsToPlay } from './funds.ts';
import { GameSteps, type StepDeps, type StepOptions } from './game-steps.ts';
import { GameStore, type RoundSample, type Step } from './game-store.ts';
import { GAME_METRICS } from './metrics.ts';
import { samplesOnDemand } from './on-demand.ts';
import type { GameState, Phase, ProvenSample, Redistribution, Staking } from './ports.ts';
import { inclusionProofs } from './proofs.ts';
import { isFinalRefusal, obfuscated, type Place, placeOf } from './rules.ts';
import { SAMPLE_SIZE } from './sample.ts';
import type { Sampler } from './sampler.ts';

const KEY_SIZE = 32;
/** Polls before a height is too old for a node without a stake. */
const IDLE_PAUSES = 10;
/** Polls after which such a node polls by itself. */
const WAIT_PAUSES = 2 * IDLE_PAUSES;
/** A slower poll would be outdated. */
const POLL_TIMEOUT_MS = 60_000;
const PHASE_NUMBER: Readonly<Record<Phase, number>> = { commit: 1, reveal: 2, claim: 3 };

export interface GameOptions extends StepOptions {
  /** 32 bytes. */
  readonly overlay: Uint8Array;
  /** Pause between polls with a stake. */
  readonly pollMs: number;
}

export interface GameDeps extends Pick<StepDeps, 'transactions' | 'signer' | 'log'> {
  readonly chain: StepDeps['chain'] & Pick<SendingChain, 'nativeBalance' | 'baseFee' | 'suggestedTip'>;
  readonly head: Pick<Head, 'height' | 'polled'>;
  readonly staking: Pick<Staking, 'isFrozen' | 'staked'>;
  readonly sampler: Sampler;
  /** Used-up batches make a claim expensive. */
  readonly expireBatches: (signal: AbortSignal) => Promise<void>;
  readonly committedDepth: () => number;
  readonly isFullySynced: () => boolean;
  readonly isHealthy: () => boolean;
  /** Subsystem `redistribution`. */
  readonly state: KeyValueStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
}

export interface Player extends Redistribution {
  start(): void;
  /** The current phase resumes at the next start. */
  stop(): Promise<void>;
}

export function createPlayer(options: GameOptions, deps: GameDeps): Player {
  return new ContractPlayer(options, deps);
}

type Work = Step | 'sample';
type Progress = 'over' | 'again';

interface Running {
  readonly round: number;
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

class ContractPlayer implements Player {
  readonly #options: GameOptions;
  readonly #deps: GameDeps;
  readonly #store: GameStore;
  readonly #steps: GameSteps;
  readonly #metrics: MetricsOf<typeof GAME_METRICS>;
  readonly #onDemand: Sampler;
  readonly #stopped = new AbortController();
  readonly #running = new Map<Work, Running>();
  /** Rounds with nothing more to do, per kind of work. */
  readonly #over = new Map<Work, number>();
  #place: Place | undefined;
  #block = 0;
  #frozenKnown = false;
  #staked = false;
  #reason = '';
  #loop: Promise<void> | undefined;

  constructor(options: GameOptions, deps: GameDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#store = new GameStore(deps.state);
    this.#metrics = deps.metrics.register(GAME_METRICS);
    this.#steps = new GameSteps(options, { ...deps, store: this.#store, metrics: this.#metrics });
    this.#onDemand = samplesOnDemand(deps.sampler);
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await Promise.all(Array.from(this.#running.values(), ({ ended }) => ended));
  }

  state(): GameState {
    const { game } = this.#store;
    const { lastWonRound, lastPlayedRound, lastFrozenRound, lastSelectedRound, lastSampleMs } = game;
    return {
      phase: this.#place?.phase ?? 'unknown',
      round: this.#place?.round ?? 0,
      block: this.#block,
      isFrozen: game.isFrozen,
      isFullySynced: this.#deps.isFullySynced(),
      isHealthy: this.#deps.isHealthy(),
      lastWonRound,
      lastPlayedRound,
      lastFrozenRound,
      lastSelectedRound,
      lastSampleMs,
      reward: BigInt(game.reward),
      fees: BigInt(game.fees),
    };
  }

  funds(signal: AbortSignal): Promise<{ minimum: bigint; sufficient: boolean }> {
    return fundsToPlay(this.#deps.chain, this.#deps.signer.address, signal);
  }

  async prove(
    { depth, anchor1, anchor2 }: { depth: number; anchor1: Uint8Array; anchor2: Uint8Array },
    signal: AbortSignal,
  ): Promise<ProvenSample> {
    const { chain, clock } = this.#deps;
    const startedAt = clock.monotonic();
    const { round } = placeOf(await chain.blockNumber(signal), this.#options.roundLength);
    const { items, hash } = await this.#onDemand({ anchor: anchor1, depth, round }, signal);
    const proofs = inclusionProofs(items, { anchor1, anchor2 });
    return { hash, proofs, durationMs: clock.monotonic() - startedAt };
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      let failed = false;
      try {
        using deadline = new LazyDeadline(clock, POLL_TIMEOUT_MS, signal);
        await this.#poll(await this.#height(deadline), deadline);
      } catch (err) {
        if (signal.aborted) break;
        failed = true;
        this.#metrics.backendErrors.inc();
        log.warn({ err }, 'head of the chain could not be checked');
      }
      await this.#pause(failed, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  /**
   * Without a stake, until another part polls, so that the node is not woken twice per block. Not after a failure: other
   * polls may be frequent.
   */
  #pause(failed: boolean, signal: AbortSignal): Promise<void> {
    const { clock, head } = this.#deps;
    const { pollMs } = this.#options;
    if (this.#staked) return clock.sleep(pollMs, signal);
    return failed ? clock.sleep(IDLE_PAUSES * pollMs, signal) : head.polled(WAIT_PAUSES * pollMs, signal);
  }

  /** Only a player needs the exact block. */
  async #height(deadline: Deadline): Promise<number> {
    const { chain, head } = this.#deps;
    const known = this.#staked ? undefined : head.height(this.#options.pollMs * IDLE_PAUSES);
    if (known !== undefined) return known;
    this.#metrics.backendCalls.inc();
    return await chain.blockNumber(deadline.signal);
  }

  async #poll(block: number, deadline: Deadline): Promise<void> {
    const place = placeOf(block, this.#options.roundLength);
    const before = this.#place;
    this.#block = block;
    this.#place = place;
    if (before?.round !== place.round || before.phase !== place.phase) await this.#enter(place);
    if (!this.#frozenKnown) await this.#checkStake(block, place.round, deadline.signal);
    await this.#steps.reconcile();
    const { key, reveal } = this.#store.round(place.round);
    // Most nodes play no round, and are here for every block.
    if (place.phase === 'claim') {
      if (reveal !== undefined)
        this.#begin('claim', place.round, (ending) => this.#claim(place.round, ending));
      this.#begin('sample', place.round, (ending) => this.#sample(place.round, ending));
    } else if (place.phase === 'commit') {
      if (!this.#store.hasSample(place.round - 1)) return;
      this.#begin('commit', place.round, (ending) => this.#commit(place.round, ending));
    } else if (key !== undefined) {
      this.#begin('reveal', place.round, (ending) => this.#reveal(place.round, ending));
    }
  }

  async #enter({ phase, round }: Place): Promise<void> {
    this.#deps.log.info({ phase, round, block: this.#block }, 'new phase');
    this.#metrics.phase.set(PHASE_NUMBER[phase]);
    this.#metrics.round.set(round);
    this.#frozenKnown = false;
    for (const [work, running] of this.#running) {
      // A sample may take until commits end.
      const goesOn =
        work === 'sample'
          ? running.round === round || (running.round === round - 1 && phase === 'commit')
          : running.round === round && work === phase;
      if (!goesOn) running.controller.abort(new Error(`${phase} phase of round ${round} has begun`));
    }
    await this.#store.forgetOld(round);
  }

  async #checkStake(block: number, round: number, signal: AbortSignal): Promise<void> {
    const isFrozen = await this.#deps.staking.isFrozen(block + 1, signal);
    this.#staked = (await this.#deps.staking.staked(signal)) > 0n;
    this.#frozenKnown = true;
    const { game } = this.#store;
    if (isFrozen === game.isFrozen) return;
    await this.#store.change({ isFrozen, ...(isFrozen ? { lastFrozenRound: round } : {}) });
  }

  #begin(work: Work, round: number, task: (signal: AbortSignal) => Promise<Progress>): void {
    if (this.#running.has(work) || this.#over.get(work) === round) return;
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, this.#stopped.signal]);
    const ended = this.#attempt(work, round, () => task(signal), signal).finally(() =>
      this.#running.delete(work),
    );
    this.#running.set(work, { round, controller, ended });
  }

  async #attempt(
    work: Work,
    round: number,
    task: () => Promise<Progress>,
    signal: AbortSignal,
  ): Promise<void> {
    const { log } = this.#deps;
    try {
      if ((await task()) === 'over') this.#over.set(work, round);
    } catch (err) {
      if (signal.aborted) {
        log.debug({ work, round, err }, 'step of the round abandoned');
        return;
      }
      if (work !== 'sample') this.#metrics[`${work}Errors`].inc();
      const refused = isFinalRefusal(err);
      // The contract's refusal stands for this round.
      if (refused) this.#over.set(work, round);
      log.warn(
        { work, round, err },
        refused ? 'step of the round refused by the contract' : 'step of the round failed',
      );
    }
  }

  async #sample(round: number, signal: AbortSignal): Promise<Progress> {
    const { chain, clock, log, sampler } = this.#deps;
    if (this.#store.hasSample(round)) {
      log.info({ round }, 'sample of the round was taken before');
      return 'over';
    }
    // The poll of the head came first.
    if (this.#store.game.isFrozen) return this.#skip('stake is frozen', 'over');
    const depth = this.#deps.committedDepth();
    if (!(await this.#participates(depth, signal))) return this.#skip('not selected', 'over');
    if (this.#store.game.lastSelectedRound !== round + 1) {
      await this.#store.change({ lastSelectedRound: round + 1 });
      this.#metrics.selected.inc();
    }
    if (!this.#deps.isFullySynced()) return this.#skip('reserve is not fully synced', 'again');
    if (!this.#deps.isHealthy()) return this.#skip('storage radius differs from the network', 'again');
    if (!(await this.funds(signal)).sufficient) {
      this.#metrics.withoutFunds.inc();
      return this.#skip('not enough native coin', 'again');
    }
    const anchor = await currentRoundAnchor(chain, this.#options.game, signal);
    const startedAt = clock.monotonic();
    const { items, hash } = await sampler({ anchor, depth, round }, signal);
    if (items.length < SAMPLE_SIZE) return this.#skip('too few chunks for a sample', 'over');
    const tookMs = clock.monotonic() - startedAt;
    this.#metrics.sampleDuration.set(tookMs / 1000);
    await this.#store.putSample(round, { anchor, depth, hash, items }, tookMs);
    log.info({ round, hash: toHex(hash), depth }, 'sample taken');
    return 'over';
  }

  async #participates(depth: number, signal: AbortSignal): Promise<boolean> {
    const { chain, signer, log } = this.#deps;
    const question = { owner: signer.address, depth };
    try {
      return await isParticipating(chain, this.#options.game, question, signal);
    } catch (err) {
      this.#metrics.playingErrors.inc();
      if (!isFinalRefusal(err)) throw err;
      // No stake, or a recent one, as on most nodes.
      log.debug({ reason: err.revert?.reason }, 'not eligible for the next round');
      return false;
    }
  }

  #skip(reason: string, progress: Progress): Progress {
    if (reason !== this.#reason) this.#deps.log.info({ reason }, 'cannot play the next round');
    this.#reason = reason;
    return progress;
  }

  async #commit(round: number, signal: AbortSignal): Promise<Progress> {
    const sample = this.#store.sample(round - 1);
    if (sample === undefined) return 'again';
    if (this.#steps.sent('commit', round) === undefined && !(await this.#isCurrent(sample, signal)))
      return this.#skip('a reorganisation changed the anchor of the sample', 'again');
    const key = await this.#keyOf(round);
    const hash = obfuscated({ ...sample, overlay: this.#options.overlay, key });
    const call = { data: encodeCommit(hash, round), description: 'commit transaction' };
    return (await this.#steps.play('commit', round, call, signal)) === undefined ? 'again' : 'over';
  }

  /** Revealing another anchor's sample freezes the stake; staying away loses only the round. */
  async #isCurrent({ anchor }: RoundSample, signal: AbortSignal): Promise<boolean> {
    const current = await currentRoundAnchor(this.#deps.chain, this.#options.game, signal);
    return toHex(current) === toHex(anchor);
  }

  async #reveal(round: number, signal: AbortSignal): Promise<Progress> {
    const { key, commit } = this.#store.round(round);
    if (key === undefined || !this.#steps.mayCount(commit)) return 'again';
    const sample = this.#store.sample(round - 1);
    if (sample === undefined) return 'over';
    const { depth, hash } = sample;
    const data = encodeReveal(depth, hash, Buffer.from(key, 'hex'));
    const call = { data, description: 'reveal transaction' };
    return (await this.#steps.play('reveal', round, call, signal)) === undefined ? 'again' : 'over';
  }

  async #claim(round: number, signal: AbortSignal): Promise<Progress> {
    const { chain, log } = this.#deps;
    const { game, overlay } = this.#options;
    const { reveal, claim } = this.#store.round(round);
    if (!this.#steps.mayCount(reveal)) return 'again';
    const sample = this.#store.sample(round - 1);
    if (sample === undefined) return 'over';
    if (claim === undefined) {
      try {
        if (!(await isWinner(chain, game, overlay, signal))) return 'over';
      } catch (err) {
        this.#metrics.winErrors.inc();
        throw err;
      }
    }
    if (this.#store.game.lastWonRound !== round) {
      await this.#store.change({ lastWonRound: round });
      this.#metrics.won.inc();
      log.info({ round }, 'round won');
    }
    const receipt = await this.#proveAndClaim(round, sample, signal);
    return receipt === undefined ? 'again' : 'over';
  }

  async #proveAndClaim(
    round: number,
    sample: RoundSample,
    signal: AbortSignal,
  ): Promise<Receipt | undefined> {
    const { chain, log } = this.#deps;
    const { game } = this.#options;
    await this.#deps.expireBatches(signal).catch((err: unknown) => {
      if (signal.aborted) throw err;
      // The claim may still be cheap enough.
      log.warn({ err }, 'batches could not be expired');
    });
    const anchor2 = await currentRoundAnchor(chain, game, signal);
    const proofs = inclusionProofs(sample.items, { anchor1: sample.anchor, anchor2 });
    const call = { data: encodeClaim(proofs), description: 'claim win transaction' };
    return this.#steps.play('claim', round, call, signal);
  }

  /** Recorded before anything is sent. */
  async #keyOf(round: number): Promise<Uint8Array> {
    const { key } = this.#store.round(round);
    if (key !== undefined) return Buffer.from(key, 'hex');
    const fresh = this.#deps.random.bytes(KEY_SIZE);
    await this.#store.changeRound(round, { key: toHex(fresh) });
    return fresh;
  }
}
