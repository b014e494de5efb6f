/**
 * A player's rounds. A key is stored before its commit is sent, and a hash before its transaction, so that after a crash the
 * player continues with the same ones.
 */

import { decodeStamp, encodeStamp } from '../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../formats/chunk/validate.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import type { SampleItem } from './sample.ts';

const GAME = 'game';
const SAMPLE = 'sample/';
/** Latest rounds kept; also the age from which others are forgotten. */
const ROUNDS_KEPT = 10;

export type Step = 'commit' | 'reveal' | 'claim';

export interface StepRecord {
  readonly hash: string;
  /** Its cost is included in `fees`. */
  readonly counted?: true;
  readonly outcome?: 'success' | 'failure';
}

export interface RoundRecord {
  /** Hex. */
  readonly key?: string;
  readonly commit?: StepRecord;
  readonly reveal?: StepRecord;
  readonly claim?: StepRecord;
}

/** Amounts are decimal text. */
export interface GameRecord {
  readonly isFrozen: boolean;
  readonly lastWonRound: number;
  readonly lastPlayedRound: number;
  readonly lastFrozenRound: number;
  readonly lastSelectedRound: number;
  readonly lastSampleMs: number;
  readonly reward: string;
  readonly fees: string;
  readonly rounds: Readonly<Record<string, RoundRecord>>;
}

/** Committed to in the round after the one in which it was made. */
export interface RoundSample {
  readonly anchor: Uint8Array;
  readonly depth: number;
  readonly hash: Uint8Array;
  readonly items: readonly SampleItem[];
}

const NEW: GameRecord = {
  isFrozen: false,
  lastWonRound: 0,
  lastPlayedRound: 0,
  lastFrozenRound: 0,
  lastSelectedRound: 0,
  lastSampleMs: 0,
  reward: '0',
  fees: '0',
  rounds: {},
};

export class GameStore {
  readonly #state: KeyValueStore;
  #game: GameRecord;
  /** Asked for at every block. */
  readonly #sampled: Set<number>;

  /** @param state subsystem `redistribution` */
  constructor(state: KeyValueStore) {
    this.#state = state;
    const stored = state.get(GAME);
    this.#game = stored === undefined ? NEW : (JSON.parse(Buffer.from(stored).toString()) as GameRecord);
    this.#sampled = new Set(Array.from(state.entries(SAMPLE), ([key]) => Number(key.slice(SAMPLE.length))));
  }

  get game(): GameRecord {
    return this.#game;
  }

  round(round: number): RoundRecord {
    return this.#game.rounds[round] ?? {};
  }

  /** Takes effect at once; durable when it resolves. */
  async change(fields: Partial<GameRecord>): Promise<void> {
    await this.#write({ ...this.#game, ...fields }, []);
  }

  async changeRound(
    round: number,
    fields: Partial<RoundRecord>,
    beside: Partial<Omit<GameRecord, 'rounds'>> = {},
  ): Promise<void> {
    const rounds = { ...this.#game.rounds, [round]: { ...this.round(round), ...fields } };
    await this.#write({ ...this.#game, ...beside, rounds }, []);
  }

  sample(round: number): RoundSample | undefined {
    const stored = this.#state.get(SAMPLE + round);
    return stored === undefined ? undefined : decodeSample(stored);
  }

  hasSample(round: number): boolean {
    return this.#sampled.has(round);
  }

  async putSample(round: number, sample: RoundSample, lastSampleMs: number): Promise<void> {
    await this.#write({ ...this.#game, lastSampleMs }, [
      { put: SAMPLE + round, value: encodeSample(sample) },
    ]);
    this.#sampled.add(round);
  }

  /** Never the latest rounds: a wrong number far ahead must not cost the key of a commit. */
  async forgetOld(current: number): Promise<void> {
    const { rounds } = this.#game;
    const oldRounds = oldOf(Object.keys(rounds).map(Number), current);
    const oldSamples = oldOf([...this.#sampled], current);
    if (oldRounds.size + oldSamples.size === 0) return;
    const kept = Object.entries(rounds).filter(([round]) => !oldRounds.has(Number(round)));
    await this.#write(
      { ...this.#game, rounds: Object.fromEntries(kept) },
      Array.from(oldSamples, (round) => ({ remove: SAMPLE + round })),
    );
    for (const round of oldSamples) this.#sampled.delete(round);
  }

  #write(game: GameRecord, changes: readonly KeyValueChange[]): Promise<void> {
    this.#game = game;
    return this.#state.batch([{ put: GAME, value: Buffer.from(JSON.stringify(game)) }, ...changes]);
  }
}

function oldOf(rounds: readonly number[], current: number): ReadonlySet<number> {
  const beyondLatest = rounds.toSorted((a, b) => b - a).slice(ROUNDS_KEPT);
  return new Set(beyondLatest.filter((round) => round < current - ROUNDS_KEPT));
}

interface SampleJson {
  readonly anchor: string;
  readonly depth: number;
  readonly hash: string;
  readonly items: readonly Readonly<Record<'address' | 'data' | 'stamp' | 'transformed', string>>[];
}

function encodeSample({ anchor, depth, hash, items }: RoundSample): Uint8Array {
  const json: SampleJson = {
    anchor: toHex(anchor),
    depth,
    hash: toHex(hash),
    // With the chunks: they may leave the reserve before the claim.
    items: items.map(({ chunk, stamp, transformed }) => ({
      address: toHex(chunk.address),
      data: toHex(chunk.data),
      stamp: toHex(encodeStamp(stamp)),
      transformed: toHex(transformed),
    })),
  };
  return Buffer.from(JSON.stringify(json));
}

function decodeSample(bytes: Uint8Array): RoundSample {
  const { anchor, depth, hash, items } = JSON.parse(Buffer.from(bytes).toString()) as SampleJson;
  return {
    anchor: fromHex(anchor),
    depth,
    hash: fromHex(hash),
    items: items.map(({ address, data, stamp, transformed }) => ({
      chunk: chunkFrom(fromHex(address), fromHex(data)),
      stamp: decodeStamp(fromHex(stamp)),
      transformed: fromHex(transformed),
    })),
  };
}
