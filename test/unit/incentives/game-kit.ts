import { expect } from 'vitest';
import { createKeyedHasher } from '../../../formats/crypto/bmt/tree.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createPlayer, type Player } from '../../../node/incentives/game.ts';
import { inclusionProofs } from '../../../node/incentives/proofs.ts';
import { commitmentHash, type SampleItem, transformedAddress } from '../../../node/incentives/sample.ts';
import type { SampleRequest } from '../../../node/incentives/sampler.ts';
import { Head } from '../../../node/onchain/head.ts';
import { encodeClaim } from '../../../node/onchain/incentive-contracts.ts';
import { TOKEN } from '../onchain/addresses.ts';
import { MemoryState } from '../onchain/memory-state.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { chunkOf, stampFor } from './chunks.ts';
import { ACCOUNT, COST, FakeGame, GAME, OVERLAY, POT, ROUND_LENGTH } from './fake-game.ts';

export const POLL_MS = 100;

export const DEPTH = 3;

/** Whose claim phase the tests begin in. */
export const ROUND = 20;

export const CLAIM = ROUND_LENGTH / 2;

const CHUNKS = Array.from({ length: 16 }, (_, n) => chunkOf(`chunk ${n}`, n % 2 === 0 ? 'cac' : 'soc'));

function sampleFor(anchor: Uint8Array): SampleItem[] {
  const hasher = createKeyedHasher(anchor);
  return CHUNKS.map((chunk) => ({
    chunk,
    stamp: stampFor(chunk),
    transformed: transformedAddress(chunk, hasher),
  })).sort((a, b) => Buffer.compare(a.transformed, b.transformed));
}

export class Bench {
  readonly game = new FakeGame();
  readonly clock = new ManualClock();
  readonly disk = new Map<string, Uint8Array>();
  readonly node = { frozenUntil: 0, synced: true, healthy: true, chunks: CHUNKS.length };
  readonly samples: SampleRequest[] = [];
  /** What other parts have polled. */
  readonly head = new Head(this.clock);
  sampling: Promise<void> = Promise.resolve();
  expiry: () => Promise<void> = () => Promise.resolve();
  metrics = createMetrics({ prefix: 'svc' });
  state = new MemoryState(this.disk);
  player: Player;
  #keys = 0;

  constructor(block = ROUND * ROUND_LENGTH + CLAIM) {
    this.game.head = block;
    this.player = this.#create();
    this.player.start();
  }

  #create(): Player {
    const { game, clock, node } = this;
    return createPlayer(
      { game: GAME, token: TOKEN, overlay: OVERLAY, roundLength: ROUND_LENGTH, pollMs: POLL_MS },
      {
        chain: game,
        head: this.head,
        transactions: game,
        signer: { address: ACCOUNT },
        staking: {
          staked: async () => ((await game.blockNumber()) >= 0 && game.staked ? 10n ** 17n : 0n),
          isFrozen: async (block) => (await game.blockNumber()) < Infinity && node.frozenUntil >= block,
        },
        sampler: async (request) => {
          this.samples.push(request);
          await this.sampling;
          const items = sampleFor(request.anchor).slice(0, node.chunks);
          return { items, hash: commitmentHash(items) };
        },
        expireBatches: () => this.expiry(),
        committedDepth: () => DEPTH,
        isFullySynced: () => node.synced,
        isHealthy: () => node.healthy,
        state: this.state,
        clock,
        // A real node has other keys after every start.
        random: { bytes: (length) => new Uint8Array(length).fill(++this.#keys), below: () => 0 },
        log: silentLogger(),
        metrics: this.metrics,
      },
    );
  }

  /** With time to look at each one. */
  async to(block: number): Promise<void> {
    await this.clock.advance(2 * POLL_MS);
    while (this.game.head < block) {
      this.game.mine();
      await this.clock.advance(2 * POLL_MS);
    }
  }

  offset(round: number, offset: number): Promise<void> {
    return this.to(round * ROUND_LENGTH + offset);
  }

  async restart(): Promise<void> {
    await this.player.stop();
    this.state = new MemoryState(this.disk);
    this.metrics = createMetrics({ prefix: 'svc' });
    this.player = this.#create();
    this.player.start();
  }

  async metric(name: string): Promise<number> {
    const lines = (await this.metrics.expose()).split('\n');
    return Number(lines.find((line) => line.startsWith(`svc_storageincentives_${name} `))?.split(' ')[1]);
  }
}

export function expectWon(bench: Bench, round: number): void {
  const { game, player } = bench;
  const anchor1 = game.anchorOf(round);
  const items = sampleFor(anchor1);
  expect(game.reveals).toEqual([{ round, depth: DEPTH, hash: toHex(commitmentHash(items)) }]);
  const proofs = inclusionProofs(items, { anchor1, anchor2: game.seedOf(round) });
  expect(game.claims).toEqual([{ round, data: encodeClaim(proofs) }]);
  expect(game.sent.map(({ description, outcome }) => [description, outcome])).toEqual([
    [
      'commit transaction',
      expect.objectContaining({ receipt: expect.objectContaining({ status: 'success' }) }),
    ],
    [
      'reveal transaction',
      expect.objectContaining({ receipt: expect.objectContaining({ status: 'success' }) }),
    ],
    [
      'claim win transaction',
      expect.objectContaining({ receipt: expect.objectContaining({ status: 'success' }) }),
    ],
  ]);
  expect(player.state()).toMatchObject({
    // For the next one already.
    lastSelectedRound: round + 1,
    lastPlayedRound: round,
    lastWonRound: round,
    reward: POT,
    fees: 3n * COST,
  });
}
